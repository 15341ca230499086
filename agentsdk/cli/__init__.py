"""The command line: `agentsdk --help`, or `python -m agentsdk --help`.

The commands of a deployment (`worker`, `mcp`, `ui`) need nothing but the package; the rest are in `app.py` and need the extra
`cli`. docs/cli.md lists commands, exit codes, and the keys of what `--json` prints.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from agentsdk.cli.codes import FAILED, INTERRUPTED, OK, PIPE_CLOSED, WRONG
from agentsdk.cli.without_extra import WITHOUT_EXTRA, run_without_extra
from agentsdk.types.errors import AgentsException, RunConflictError, RunNotFoundError, UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks is no reason to fail
    try:
        if given[:1] and given[0] in WITHOUT_EXTRA:
            return run_without_extra(given[0], given[1:])
        if find_spec("typer") is None or find_spec("rich") is None:
            return _without_extra(given)
        from agentsdk.cli.app import run_app

        return run_app(given)
    except AgentsException as error:
        from agentsdk.cli.shown import plain

        print(f"agentsdk: {plain(str(error))}", file=sys.stderr)
        return WRONG if isinstance(error, UserError | RunNotFoundError | RunConflictError) else FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter would write there once more
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _without_extra(given: Sequence[str]) -> int:
    names = "".join(f"\n  {name:8} {about}" for name, about in WITHOUT_EXTRA.items())
    print(f"Usage: agentsdk COMMAND ...\n{names}\n\nThe other commands need the extra: pip install 'agentsdk[cli]'")
    return OK if given in ([], ["--help"], ["-h"]) else WRONG
