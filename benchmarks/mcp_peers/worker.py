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

from tests.mcp.misbehaving import rows
from tests.mcp.misbehaving.play import judge, play

PLAYS = [(row, over, era) for row in rows.ROWS for over, era in row.over]
ROW_SECONDS = 30


def main(name: str, numbers: list[int]) -> None:
    os.environ["API_KEY"] = rows.SECRET
    logging.disable()
    warnings.simplefilter("ignore")
    module = importlib.import_module("tests.mcp.misbehaving.ours" if name == "agentsdk" else f"benchmarks.mcp_peers.{name}")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a contestant may print
    for number in numbers:
        row, over, era = PLAYS[number]
        out.write(json.dumps({"begins": number}) + "\n")
        out.flush()
        try:
            seen = asyncio.run(asyncio.wait_for(play(module.Contestant(), row, over, era), ROW_SECONDS))
            judge(row, seen, is_told=name == "agentsdk")
            verdict = ""
        except AssertionError as error:
            verdict = str(error) or traceback.format_exc()[-300:]
        except BaseException as error:
            verdict = f"{type(error).__name__}: {str(error)[:300]}"
        out.write(json.dumps({"number": number, "verdict": verdict}) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1], [int(number) for number in sys.argv[2:]])
