"""The command line: `python -m agentsdk --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from agentsdk.cli import mcp, ui, worker
from agentsdk.types.errors import AgentsException

COMMANDS = {"mcp": mcp, "ui": ui, "worker": worker}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code: 0, or 2 for what the caller got wrong."""
    parser = argparse.ArgumentParser(prog="python -m agentsdk", description="Operate agents and their runs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, module in COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=module.HELP, description=module.HELP))
    given = parser.parse_args(arguments)
    try:
        COMMANDS[given.command].run(given)
    except AgentsException as error:
        print(f"agentsdk: {error}", file=sys.stderr)
        return 2
    return 0
