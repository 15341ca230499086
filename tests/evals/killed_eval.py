"""An eval whose process kills itself at its third case: `python -m tests.evals.killed_eval RUNS ASKED`.

Each question is written to the file ASKED when the model is asked it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from agentsdk import Agent, Message, ModelRequest, RunConfig, SQLiteRunStore
from agentsdk.evals import EvalReport, equals, evaluate
from tests.evals.agents import CAPITALS, GOOD, PRICES, StillClock, model_of


class Later(StillClock):
    """The leases of those that lived at `StillClock`'s time have passed."""

    def time(self) -> float:
        return 1_000_000.0


async def evaluated(runs: Path, asked: Path, *, dies: bool) -> EvalReport:
    """The report, where the process lives to make it."""

    def reply(request: ModelRequest) -> object:
        first = request.items[0]
        assert isinstance(first, Message)
        with asked.open("a", encoding="utf-8") as file:
            file.write(f"{first.text}\n")
        if dies and first.text == CAPITALS[-1].input:
            os.kill(os.getpid(), signal.SIGKILL)
        return GOOD[first.text]

    agent, store = Agent[None, str](name="Geo", model=model_of(reply)), SQLiteRunStore(runs)
    config = RunConfig(store=store, prices=PRICES, clock=StillClock() if dies else Later())
    try:
        return await evaluate("capitals", CAPITALS, agent, [equals()], concurrency=1, run_config=config)
    finally:
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(evaluated(Path(sys.argv[1]), Path(sys.argv[2]), dies=True))
