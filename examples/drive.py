"""One call for every step of a stored run: `Runner.drive` begins it, goes on with it after a kill, and gives its end.

python examples/drive.py                    # a job that is delivered four times, once to a process that is killed
python examples/drive.py deliver runs.db    # what each delivery does
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelSettings, RunConfig, RunConflictError, Runner, RunStore, SQLiteRunStore, function_tool

JOB = "invoice-7"
LEASE = 1.0  # seconds until the run of a process that died may be taken over


@function_tool(needs_approval=True)
def send_invoice(number: int) -> str:
    """Send an invoice."""
    return f"Invoice {number} is sent."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[send_invoice],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="send_invoice", temperature=0, max_tokens=60),
)


async def deliver(store: RunStore) -> None:
    """A queue's handler: the same call whether the job is new, came before, waits for a person, or is done."""
    config = RunConfig(store=store, lease=LEASE)
    while True:
        try:
            result = await Runner.drive([clerk], JOB, "Please send invoice 7.", run_config=config)
        except RunConflictError:
            await asyncio.sleep(LEASE / 4)  # a process that died still holds it
            continue
        break
    if result.is_finished:
        print(f"delivered: {result.final_output}", flush=True)
        return
    for item in result.interruptions:
        print(f"delivered: {item.tool_name} waits for approval", flush=True)
    if "--die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)


async def approve(store: RunStore) -> None:
    """A web handler, say: it needs neither the agent nor a model."""
    config = RunConfig(store=store)
    state = await Runner.load(JOB, run_config=config)
    for item in state.interruptions:
        state.approve(item, by="ann")
        print(f"approved:  {item.tool_name}", flush=True)
    await Runner.decide(state, run_config=config)


async def step(name: str, path: str) -> None:
    """One of the processes."""
    store = SQLiteRunStore(path)
    try:
        await {"deliver": deliver, "approve": approve}[name](store)
    finally:
        await store.aclose()
        await agentsdk.aclose()


def main() -> None:
    """Play all processes on a file of their own."""
    if len(sys.argv) > 1:
        asyncio.run(step(sys.argv[1], sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "runs.db")
        for command in (["deliver", path, "--die"], ["deliver", path], ["approve", path], ["deliver", path], ["deliver", path]):
            subprocess.run([sys.executable, __file__, *command], check="--die" not in command)


if __name__ == "__main__":
    main()
