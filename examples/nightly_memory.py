"""A memory that is put in order at night: what guests say by day is noted, and a worker has it remembered while they sleep.

    python examples/nightly_memory.py

By day each conversation is only written down, which asks no model. At night one workflow goes over the guests: a small agent
takes in what each has said and changes what is out of date. In the morning it is in the instructions. The models follow a
script.
"""

import asyncio
import tempfile
from pathlib import Path

from agentsdk import Agent, ModelRequest, RunConfig, Runner, SQLiteRunStore, Worker
from agentsdk.patterns import Memory, MemoryChange
from agentsdk.testing import ScriptedModel, call
from agentsdk.workflow import Workflow, flow, workflow


def keeper(*edits: tuple[str, str]) -> ScriptedModel:
    """A model that edits the file, and says so."""
    return ScriptedModel([[call("edit_memory", old_text=old, new_text=new) for old, new in edits], "Noted."])


def memories_in(folder: Path) -> dict[str, Memory]:
    """The memories of all guests. They dream at night only."""
    models = {
        "ada": keeper(("- 2026-05-02: Takes milk in her tea.", "- 2027-01-15: Takes oat milk in her tea.")),
        "ben": keeper(("", "- ! 2027-01-15: Is allergic to nuts.")),
        "eve": keeper(),
    }
    return {user: Memory(folder, user=user, model=model, after_runs=None, after_seconds=None) for user, model in models.items()}


def nightly(memories: dict[str, Memory]) -> Workflow[list[str], dict[str, str]]:
    """The night's work, as a workflow: what has changed in each memory."""

    async def dream(user: str) -> MemoryChange | None:
        return await memories[user].dream()  # its steps are the workflow's, and so is what it spends

    @workflow
    async def nightly(users: list[str]) -> dict[str, str]:
        changes = await flow.each(dream, users, limit=2)
        return {user: change.diff for user, change in zip(users, changes, strict=True) if change is not None}

    return nightly


async def conversation(user: str, memory: Memory, says: str) -> None:
    """One conversation of the day."""

    def answer(request: ModelRequest) -> str:
        return "No nuts, of course." if "allergic to nuts" in request.instructions else "Gladly."

    instructions = memory.instructions("You are a waiter.")
    waiter = Agent[None, str](name="Waiter", instructions=instructions, model=ScriptedModel([answer]))
    result = await Runner.run(waiter, says)
    await memory.remember(result)
    print(f"{user}: {says}\nwaiter: {result.final_output}")


async def main() -> None:
    """A day, a night, and the next morning."""
    with tempfile.TemporaryDirectory() as place:
        memories, store = memories_in(Path(place, "memories")), SQLiteRunStore(Path(place, "runs.db"))
        memories["ada"].path.parent.mkdir()
        memories["ada"].path.write_text("- 2026-05-02: Takes milk in her tea.\n")
        await conversation("ada", memories["ada"], "A tea, with oat milk from now on.")
        await conversation("ben", memories["ben"], "What cakes are there? I am allergic to nuts.")
        print()

        config, night = RunConfig(store=store), nightly(memories)
        # at=: when the work is due. A process of its own has the worker: python -m agentsdk worker app:agents --store ...
        await night.submit(["ada", "ben", "eve"], run_id="night-1", at=0, run_config=config)
        worker = Worker(store, agents=[night])
        working = asyncio.create_task(worker.run())
        while (summary := await store.summary("night-1")) is None or summary.status != "finished":
            await store.wait("night-1", 0 if summary is None else summary.rev, timeout=10)
        worker.stop()
        await working
        result = await night.resume("night-1", run_config=config)
        for user, diff in result.final_output.items():
            print(f"{user}'s memory:\n{diff}\n")
        print(f"{result.usage.requests} requests: of eve nothing is new\n")

        await conversation("ben", memories["ben"], "A cake, please.")
        for memory in memories.values():
            await memory.aclose()
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
