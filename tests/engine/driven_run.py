"""A process that drives the same runs as its siblings: `python -m tests.engine.driven_run RUNS EFFECTS ROUNDS`."""

from __future__ import annotations

import asyncio
import os
import sys

from agentsdk import Agent, RunConfig, RunConflictError, Runner, SQLiteRunStore, function_tool
from agentsdk.testing import ScriptedModel, call


async def main(path: str, effects: str, rounds: int) -> None:
    @function_tool(effect="once")
    async def pay(x: int) -> str:
        written = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(written, f"{x}\n".encode())
        os.close(written)
        return "paid"

    store = SQLiteRunStore(path)
    for number in range(rounds):
        agent = Agent("payer", tools=[pay], model=ScriptedModel([call("pay", x=number), f"paid {number}"]))
        run_id, rev = f"job-{number}", 0
        while True:
            try:
                result = await Runner.drive(agent, run_id, "pay", run_config=RunConfig(store=store))
            except RunConflictError:
                rev = await store.wait(run_id, rev, timeout=1.0)  # a sibling is at it: until it has come further
                continue
            print(result.final_output, flush=True)
            break
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
