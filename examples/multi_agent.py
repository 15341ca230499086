"""Agents that work together: a lead starts tasks in the background, goes on, and is told as they end. Cut off, it goes on.

python examples/multi_agent.py    # its models follow a script
"""

import asyncio
import tempfile
from pathlib import Path

from agentsdk import Agent, RunConfig, RunLimits, SQLiteRunStore
from agentsdk.errors import ProviderUnavailableError
from agentsdk.patterns import Supervised, supervisor
from agentsdk.testing import ScriptedModel
from agentsdk.testing.scripted import ScriptedReply
from agentsdk.workflow import Workflow

READ_BOTH = (
    '{"start": [{"worker": "Reader", "input": "What does the lease say of pets?"},'
    ' {"worker": "Reader", "input": "What does the lease say of noise?"}],'
    ' "cancel": [], "note": "They ask about a dog.", "then": "wait"}'
)
WAIT = '{"start": [], "cancel": [], "note": "", "then": "wait"}'
FINISH = '{"start": [], "cancel": [], "note": "", "then": "finish"}'


def team(lead_says: list[ScriptedReply], reader_says: list[ScriptedReply]) -> Workflow[str, Supervised[str]]:
    reader = Agent[None, str](name="Reader", handoff_description="Reads the lease.", model=ScriptedModel(reader_says))
    lead = Agent[None, str](name="Lead", instructions="You advise tenants.", model=ScriptedModel(lead_says))
    return supervisor(lead, [reader], turns=6, max_tasks=4)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteRunStore(Path(folder) / "runs.db")
        config = RunConfig(store=store, run_id="advice-1", limits=RunLimits(turns=20, tokens=50_000))
        away = ProviderUnavailableError("the lead's model is away", retryable=True)
        first = team([READ_BOTH, WAIT, away], ["Pets need consent.", "Quiet after ten."])
        try:
            await first.run("May I keep a dog?", run_config=config)
        except ProviderUnavailableError as error:
            print(f"stopped: {error}")

        # In another process, say: it needs the store alone, and asks no reader again.
        second = team([FINISH, "Yes, with consent; and barking is noise."], [])
        result = await second.resume("advice-1", run_config=config)
        for task in result.final_output.tasks:
            print(f"{task.id} {task.status}: {task.input} {task.result}")
        print(f"answer: {result.final_output.answer}")
        print(f"[{result.usage.requests} requests in all]")
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
