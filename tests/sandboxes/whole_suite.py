"""`python -m tests.sandboxes.whole_suite NAME`: the suite on a sandbox, for a test that starts it as another user."""

from __future__ import annotations

import asyncio
import sys

from agentsdk.testing.sandbox_conformance import try_checks
from tests.sandboxes.sandboxes import SANDBOXES, missing

UNAVAILABLE = 77


async def _main(name: str) -> int:
    outcomes = await try_checks(SANDBOXES[name], progress=lambda line: print(line, flush=True))
    counted = {result: sum(outcome.result == result for outcome in outcomes) for result in ("passed", "failed", "skipped")}
    print(", ".join(f"{number} {result}" for result, number in counted.items()))
    return 1 if counted["failed"] else 0


if __name__ == "__main__":
    if reason := missing(sys.argv[1]):
        print(reason)
        sys.exit(UNAVAILABLE)
    sys.exit(asyncio.run(_main(sys.argv[1])))
