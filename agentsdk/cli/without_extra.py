"""The commands that need nothing but the package: they read their options by argparse."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from agentsdk.cli.codes import OK

WITHOUT_EXTRA = {
    "init": "Make a small project: an agent with its tools, a test, and a run that is kept.",
    "mcp": "Serve an agent, tools or a toolset to MCP clients, over stdio or HTTP.",
    "ui": "Show the runs of a store on a page, and act on them where agents are given.",
    "worker": "Take the runs of a store that are due, and drive them until SIGTERM or SIGINT.",
}
"""The commands that need no extra."""


def run_without_extra(name: str, arguments: Sequence[str]) -> int:
    """Run a command of `WITHOUT_EXTRA`. Raises `AgentsException`s."""
    module = import_module(f"agentsdk.cli.{name}")
    parser = argparse.ArgumentParser(prog=f"agentsdk {name}", description=WITHOUT_EXTRA[name])
    module.add_arguments(parser)
    module.run(parser.parse_args(arguments))
    return OK
