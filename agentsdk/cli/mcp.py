"""`python -m agentsdk mcp`: agents and tools as an MCP server, a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import logging
from typing import Any, cast

from agentsdk.cli.given import STORES, load_config, load_object, open_store, until_signalled
from agentsdk.mcp.serving.serve import serve
from agentsdk.models.shared_client import aclose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("thing", help="module:name of an Agent, a FunctionTool, a list of these, or a Toolset")
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over streamable HTTP there, not over stdin and stdout")
    parser.add_argument("--store", help=f"make the runs behind the calls durable: {STORES}")
    parser.add_argument("--name", help="the server's name (default: that of what is served)")
    parser.add_argument("--config", help="module:name of a RunConfig")
    parser.add_argument("--context", help="module:name of a callable that gives a run's context object from an MCPRequest")
    parser.add_argument("--lease", type=float, help="seconds until a run can go on whose server died")
    parser.add_argument("--verbose", action="store_true", help="log more than warnings")


def run(given: argparse.Namespace) -> None:
    """Serve until stdin ends, or until SIGTERM or SIGINT. Raises `UserError` for arguments that fit nothing."""
    level = logging.INFO if given.verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")  # to stderr: stdout is the protocol's
    asyncio.run(_serve(given))


async def _serve(given: argparse.Namespace) -> None:
    thing = load_object(given.thing)
    config = load_config(given.config, given.lease)
    context = load_object(given.context) if given.context else None
    store = open_store(given.store) if given.store else None
    serving = asyncio.ensure_future(
        serve(
            cast(Any, thing),
            http=given.http,
            name=given.name,
            store=store,
            config=config,
            context=cast(Any, context),
        )
    )
    try:
        # Over stdio calls in work are cancelled, and their runs wind down. Over HTTP uvicorn sees to it.
        await (serving if given.http else until_signalled(serving, serving.cancel))
    finally:
        if store is not None:
            await store.aclose()
        await aclose()
