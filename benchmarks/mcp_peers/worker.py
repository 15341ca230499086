"""`python -m benchmarks.mcp_peers.worker CONTESTANT NUMBER...`: plays rows by their numbers, one line of JSON each."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import sys
import traceback
import warnings

from benchmarks.mcp_peers.plays import PLAYS
from tests.mcp.misbehaving.clock import JumpingLoop
from tests.mcp.misbehaving.play import SECRET

ROW_SECONDS = 120
"""By a clock that jumps where a server is silent; `HANGS_AFTER` is the limit by the machine's."""


def main(name: str, numbers: list[int]) -> None:
    os.environ["API_KEY"] = SECRET
    logging.disable()
    warnings.simplefilter("ignore")
    module = importlib.import_module("tests.mcp.misbehaving.ours" if name == "agentsdk" else f"benchmarks.mcp_peers.{name}")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a contestant may print
    for number in numbers:
        out.write(json.dumps({"begins": number}) + "\n")
        out.flush()
        try:
            played = PLAYS[number].run(module.Contestant(), name == "agentsdk")
            with asyncio.Runner(loop_factory=JumpingLoop) as runner:
                runner.run(asyncio.wait_for(played, ROW_SECONDS))
            verdict = ""
        except AssertionError as error:
            verdict = str(error) or traceback.format_exc()[-300:]
        except TimeoutError:
            verdict = f"takes longer than {ROW_SECONDS} seconds"
        except BaseException as error:
            verdict = f"{type(error).__name__}: {str(error)[:300]}"
        out.write(json.dumps({"number": number, "verdict": verdict}) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1], [int(number) for number in sys.argv[2:]])
