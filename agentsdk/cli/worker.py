"""`python -m agentsdk worker`: a worker as a process of its own.

SIGTERM and SIGINT have it hand its runs back and exit; a second one cancels what has not come to the end of its turn.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Any, cast

from agentsdk.cli.given import STORES, load_config, load_object, open_store, until_signalled
from agentsdk.cli.probe import probe
from agentsdk.models.shared_client import aclose
from agentsdk.types.errors import UserError
from agentsdk.worker import Worker


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("agents", help="module:name of an agent, of a list of agents, of a dict of them, or of a Worker")
    parser.add_argument("--store", help=f"where the runs are: {STORES}; not for a Worker, which has its own")
    parser.add_argument("--concurrency", type=int, default=16, help="how many runs at once (default: %(default)s)")
    parser.add_argument("--grace", type=float, default=20.0, help="seconds for turns to end (default: %(default)s)")
    parser.add_argument("--lease", type=float, help="seconds until others may take the runs of a worker that died")
    parser.add_argument("--config", help="module:name of a RunConfig")
    parser.add_argument("--probe", metavar="HOST:PORT", help="answer there how the worker and its queue stand, over HTTP")
    parser.add_argument("--verbose", action="store_true", help="log more than warnings")


def run(given: argparse.Namespace) -> None:
    """Work until told to stop. Raises `UserError` for arguments that fit nothing, `StoreError` for no store at the start."""
    level = logging.INFO if given.verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(_work(given))


async def _work(given: argparse.Namespace) -> None:
    found = load_object(given.agents)
    if isinstance(found, Worker):
        worker, store = found, None
    else:
        if given.store is None:
            raise UserError(f"no --store was given, expected where the runs are; pass one like {STORES}")
        store = open_store(given.store)
        config = load_config(given.config, given.lease)
        worker = Worker(store, agents=cast(Any, found), concurrency=given.concurrency, grace=given.grace, config=config)
    try:
        await worker.queue()  # a store that cannot be opened is no store that is away for a while: the command ends here
        async with AsyncExitStack() as stack:
            if given.probe:
                host, port = await stack.enter_async_context(probe(worker, given.probe))
                print(f"probe at http://{host}:{port}", flush=True)
            await until_signalled(asyncio.ensure_future(_announced(worker)), worker.stop)
    finally:
        if store is not None:
            await store.aclose()
        await aclose()


async def _announced(worker: Worker) -> None:
    print(f"{worker!r} is at work", flush=True)
    await worker.run()
