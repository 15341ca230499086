"""A todo list: an agent writes down what is to be done, and the program shows it while it works, and after it was stopped.

python examples/todo.py    # its model follows a script
"""

import asyncio
import tempfile
from pathlib import Path

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore, function_tool
from agentsdk.events import ToolProgressStreamEvent
from agentsdk.patterns import Todo, todo_tool, todos_of
from agentsdk.testing import ScriptedModel, call

MARKS = {"pending": " ", "in_progress": ">", "done": "x"}


@function_tool(effect="none")
def look_up(subject: str) -> str:
    """Look something up in the lease."""
    return {"pets": "Pets need consent.", "noise": "Quiet after ten."}[subject]


@function_tool(needs_approval=True)
def send_letter(text: str) -> str:
    """Send a letter to the landlord."""
    return "sent"


def todos(pets: str, noise: str, letter: str) -> list[dict[str, str]]:
    """The list, as a model writes it."""
    texts = ("look up pets", "look up noise", "write to the landlord")
    return [{"text": text, "status": status} for text, status in zip(texts, (pets, noise, letter), strict=True)]


def shown(items: list[Todo]) -> str:
    return " | ".join(f"[{MARKS[one.status]}] {one.text}" for one in items)


agent = Agent(
    name="Tenant",
    instructions="Keep your list up to date.",
    tools=[todo_tool(), look_up, send_letter],
    model=ScriptedModel(
        [
            [call("todo", items=todos("in_progress", "pending", "pending")), call("look_up", subject="pets")],
            [call("todo", items=todos("done", "in_progress", "pending")), call("look_up", subject="noise")],
            [call("todo", items=todos("done", "done", "in_progress")), call("send_letter", text="May I keep a dog?")],
            call("todo", items=todos("done", "done", "done")),
            "The landlord is asked for consent; a dog must be quiet after ten.",
        ]
    ),
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteRunStore(Path(folder) / "runs.db")
        config = RunConfig(store=store, run_id="lease")
        async with Runner.run_streamed(agent, "May I keep a dog?", run_config=config) as run:
            async for event in run.stream_events():
                if isinstance(event, ToolProgressStreamEvent):
                    print(shown(list(event.data)))

        # Any process that has the store can say how far it is: here it waits for a person.
        state = await Runner.load("lease", run_config=config)
        print(f"waits at: {next(one.text for one in todos_of(state) if one.status == 'in_progress')}")
        state.approve(state.interruptions[0])
        await Runner.decide(state, run_config=config)
        result = await Runner.resume(agent, "lease", run_config=config)
        print(shown(todos_of(result)))
        print(f"answer: {result.final_output}")
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(main())
