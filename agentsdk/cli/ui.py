"""`python -m agentsdk ui`: the page of a store's runs, on this machine."""

from __future__ import annotations

import argparse
import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from agentsdk.cli.given import STORES, load_config, load_object, open_store
from agentsdk.models.shared_client import aclose
from agentsdk.types.errors import UserError

if TYPE_CHECKING:
    from agentsdk.evals import EvalReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("store", help=f"where the runs are: {STORES}")
    parser.add_argument("--agents", help="module:name of an agent, of a list of agents, or of a dict of them, to act with")
    parser.add_argument("--config", help="module:name of a RunConfig")
    parser.add_argument("--evals", action="append", default=[], metavar="FILE", help="a saved report to show; more than once")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="the port (default: a free one)")


def run(given: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT. Raises `UserError` for arguments that fit nothing."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(_serve(given))


async def _serve(given: argparse.Namespace) -> None:
    from agentsdk.ui import serve

    agents = load_object(given.agents) if given.agents else None
    store = open_store(given.store)
    try:
        await serve(
            store,
            agents=cast(Any, agents),
            config=load_config(given.config, None),
            evals=[_report(file) for file in given.evals],
            host=given.host,
            port=given.port,
            say=lambda url: print(url, flush=True),
        )
    finally:
        await store.aclose()
        await aclose()


def _report(file: str) -> EvalReport:
    from agentsdk.evals import EvalReport

    try:
        return EvalReport.load(file)
    except OSError as error:
        raise UserError(f"the report {file!r} cannot be read ({error.strerror}), expected a file of EvalReport.save") from None
