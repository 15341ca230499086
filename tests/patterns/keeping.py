"""What the tests of memories share: conversations, a clock, and keepers that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentsdk import Agent, FunctionCallOutput, Message, ModelRequest, Runner, RunResult
from agentsdk.testing import ScriptedModel, call


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let them pass."""
        self.now += seconds


async def conversation(says: str, answer: str = "I see.", **options: Any) -> RunResult[str]:
    """A run in which a user has said something."""
    return await Runner.run(Agent[Any, str](name="Guide", model=ScriptedModel([answer])), says, **options)


def asked(request: ModelRequest) -> str:
    """What a keeper is shown of the file and the conversations."""
    first = request.items[0]
    assert isinstance(first, Message)
    return first.text


def noting(*lines: str) -> list[Any]:
    """The replies of a keeper that adds lines at the end."""
    return [call("edit_memory", old_text="", new_text="\n".join(lines)), "Noted."]


def replacing(old: str, new: str) -> list[Any]:
    """The replies of a keeper that edits the file once."""
    return [call("edit_memory", old_text=old, new_text=new), "Edited."]


class Keeper(ScriptedModel):
    """A model that makes its edits by a function of what it is shown, whenever it is asked, and then says so."""

    def __init__(self, edits: Callable[[str], Sequence[tuple[str, str]]]) -> None:
        def reply(request: ModelRequest) -> object:
            if isinstance(request.items[-1], FunctionCallOutput):
                return "Done."
            calls = [call("edit_memory", old_text=old, new_text=new) for old, new in edits(asked(request))]
            return calls or "Nothing to do."

        super().__init__([reply] * 1_000, name="keeper")
