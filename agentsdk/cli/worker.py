"""`python -m agentsdk worker`: a worker as a process of its own.

SIGTERM and SIGINT have it hand its runs back and exit; a second one cancels what has not come to the end of its turn.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from dataclasses import replace
from typing import Any, cast

from agentsdk.cli.given import STORES, load_object, open_store
from agentsdk.define.run_config import RunConfig
from agentsdk.models.shared_client import aclose
from agentsdk.types.errors import UserError
from agentsdk.worker import Worker

HELP = "Take the runs of a store that are due, and drive them until SIGTERM or SIGINT."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("agents", help="module:name of an agent, of a list of agents, of a dict of them, or of a Worker")
    parser.add_argument("--store", help=f"where the runs are: {STORES}; not for a Worker, which has its own")
    parser.add_argument("--concurrency", type=int, default=16, help="how many runs at once (default: %(default)s)")
    parser.add_argument("--grace", type=float, default=20.0, help="seconds for turns to end (default: %(default)s)")
    parser.add_argument("--lease", type=float, help="seconds until others may take the runs of a worker that died")
    parser.add_argument("--config", help="module:name of a RunConfig")
    parser.add_argument("--verbose", action="store_true", help="log more than warnings")


def run(given: argparse.Namespace) -> None:
    """Work until told to stop. Raises `UserError` for arguments that fit nothing."""
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
        config = load_object(given.config) if given.config else RunConfig()
        if not isinstance(config, RunConfig):
            raise UserError(f"--config {given.config!r} is a {type(config).__name__!r}, expected a RunConfig; make it one")
        if given.lease is not None:
            config = replace(config, lease=given.lease)
        worker = Worker(store, agents=cast(Any, found), concurrency=given.concurrency, grace=given.grace, config=config)
    try:
        await _until_signalled(worker)
    finally:
        if store is not None:
            await store.aclose()
        await aclose()


async def _until_signalled(worker: Worker) -> None:
    working = asyncio.ensure_future(worker.run())
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if stopped:
            working.cancel()
        stopped = True
        worker.stop()

    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop)
    print(f"{worker!r} is at work", flush=True)
    try:
        await working
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(one)
