"""The process that measures one contestant, run by the Python of that contestant's environment.

`python -m benchmarks.worker NAME` says `{"ready": NAME}`, then reads one JSON object per line from standard input,
`{"scenario": ..., "url": ..., "budget_ms": ..., "at_once": ...}`, and answers each with one line: `{"figures": {...}}`,
`{"absent": reason}` or `{"error": reason}`. Whatever a package itself prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from typing import Any

from benchmarks.contestants import Contestant, load
from benchmarks.scenarios import IN_PROCESS, OVER_HTTP, NotSupported, Setting, protocol_of


def main() -> None:
    """Answer requests until standard input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    contestant = load(sys.argv[1])
    print(json.dumps({"ready": sys.argv[1]}), file=out, flush=True)
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            print(json.dumps(answer(runner, contestant, json.loads(line))), file=out, flush=True)


def answer(runner: asyncio.Runner, contestant: Contestant, request: dict[str, Any]) -> dict[str, Any]:
    """Run one scenario."""
    scenario = {**IN_PROCESS, **OVER_HTTP}[request["scenario"]]
    setting = Setting(request["url"], request["budget_ms"], request["at_once"], protocol_of(request["scenario"]))
    try:
        return {"figures": runner.run(scenario(contestant, setting))}
    except NotSupported as reason:
        return {"absent": str(reason)}
    except BaseException as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:300]}


if __name__ == "__main__":
    main()
