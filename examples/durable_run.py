"""A durable run: begun by one process that is killed, approved by a second, finished by a third; then forked and replayed.

python examples/durable_run.py                      # plays the three processes, one after the other
python examples/durable_run.py begin|approve|finish runs.db    # what each of them does
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, Runner, RunQuery, RunStore, SQLiteRunStore, function_tool
from agentsdk.testing import ScriptedModel, call

RUN_ID = "order-1815"


@function_tool(needs_approval=True)
def cancel_order(number: int) -> str:
    """Cancel an order."""
    return f"Order {number} is cancelled."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[cancel_order],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="cancel_order", temperature=0, max_tokens=60),
)


async def begin(store: RunStore) -> None:
    """Run until the call waits, and die without a word."""
    await Runner.run(clerk, "Please cancel order 1815.", run_config=RunConfig(store=store, run_id=RUN_ID))
    print("begin:   the run waits; this process is killed", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


async def approve(store: RunStore) -> None:
    """A web handler, say: it needs neither the agent nor a model."""
    config = RunConfig(store=store)
    for run in await store.list(RunQuery(status="waiting")):
        state = await Runner.load(run.run_id, run_config=config)
        for item in state.interruptions:
            state.approve(item, by="ann", reason="the customer called")
            print(f"approve: {run.run_id} may run {item.tool_name}")
        await Runner.decide(state, run_config=config)


async def finish(store: RunStore) -> None:
    """Go on from the store; then look at what else could have been."""
    config = RunConfig(store=store)
    result = await Runner.resume(clerk, RUN_ID, run_config=config)
    print(f"finish:  {result.final_output}")

    fork = await Runner.fork(RUN_ID, at=3, run_config=config)
    waiting = await Runner.resume(clerk, fork, run_config=config)
    print(f"fork:    at revision 3 {waiting.interruptions[0].tool_name} waits again")
    print(f"replay:  {await Runner.replay(clerk, RUN_ID, run_config=config)}")
    other = ScriptedModel([call("cancel_order", number=1816)])  # stands for the model you would like to try
    rerun = await Runner.replay(clerk, RUN_ID, model=other, run_config=config)
    print(f"another model parts at {rerun.divergence}")
    print(f"         and waits for approval of {rerun.state.interruptions[0].arguments}")


def main() -> None:
    if len(sys.argv) > 2:
        asyncio.run(play(sys.argv[1], sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for part in ("begin", "approve", "finish"):
            done = subprocess.run([sys.executable, __file__, part, Path(folder) / "runs.db"], check=False)
            assert done.returncode == (-signal.SIGKILL if part == "begin" else 0)


async def play(part: str, path: str) -> None:
    store = SQLiteRunStore(path)
    await {"begin": begin, "approve": approve, "finish": finish}[part](store)
    await store.aclose()
    await agentsdk.aclose()


if __name__ == "__main__":
    main()
