"""A memory of files: what a guest says in one conversation is known in the next one.

    python examples/memory.py

Each guest has a folder of notes, which the model reads and writes with `MemoryTool`. The model follows a script.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from agentsdk import Agent, FunctionCall, FunctionCallOutput, Runner
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import ScriptedModel
from agentsdk.tools import MemoryTool


def memory(command: str, path: str, **arguments: object) -> FunctionCall:
    """A call as Anthropic's models make them."""
    given = {"command": command, "path": path, **arguments}
    return FunctionCall("", "memory", json.dumps(given), kind="memory")


def as_noted(request: ModelRequest) -> str:
    """An answer that repeats what the model has read in its memory."""
    read = request.items[-1]
    assert isinstance(read, FunctionCallOutput)
    return f"Tea is coming. I know: {str(read.output).strip()}"


async def conversation(model: ScriptedModel, notes: Path, says: str) -> None:
    """One conversation, in an agent that knows nothing but its notes."""
    waiter = Agent[None, str](
        name="Waiter",
        instructions="Look at your notes before you answer. Note what the guest will want the next time too.",
        model=model,
        tools=[MemoryTool(notes)],
    )
    result = await Runner.run(waiter, says)
    print(f"guest:  {says}\nwaiter: {result.final_output}")


async def main() -> None:
    """Monday, and Tuesday."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "ada")
        notes.mkdir()
        writes = memory("create", "/memories/tea.md", file_text="Ada takes oat milk in her tea.\n")
        monday = ScriptedModel([memory("view", "/memories"), writes, "With oat milk, gladly."])
        await conversation(monday, notes, "A tea, please. Always with oat milk.")
        print("notes: ", *[f"{file.name}: {file.read_text().strip()}" for file in notes.iterdir()])
        tuesday = ScriptedModel([memory("view", "/memories"), memory("view", "/memories/tea.md"), as_noted])
        await conversation(tuesday, notes, "A tea, please.")


if __name__ == "__main__":
    asyncio.run(main())
