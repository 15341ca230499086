"""`Call`: a step as the program has called it, and how it comes to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec

from agentsdk.core.keys import digest
from agentsdk.engine.run import Run
from agentsdk.types.events import RunEvent, StepBegan, ToolFinished, milliseconds
from agentsdk.types.spec import Effect
from agentsdk.types.text import shortened, storable_text
from agentsdk.workflow.timeouts import Timeouts

MAX_ARGUMENTS = 10_000
"""How many characters of arguments are recorded: of longer ones only the digest is."""

MAX_DETAIL = 500
"""How much of what a step's error says is recorded."""


class Failure(msgspec.Struct):
    """What is recorded of a step that failed for good."""

    error: str
    detail: str = ""


class Call:
    """A step as the program has called it: `key` says where, `name` and `arguments`, JSON text, what. See `StepBegan`."""

    __slots__ = ("arguments", "digest", "effect", "key", "name", "undo")

    def __init__(
        self, key: str, name: str, arguments: str, *more: str, effect: Effect = "none", undo: Callable[..., Any] | None = None
    ) -> None:
        """`more` must be the same, too, when it is called again. `undo` is the step that undoes it."""
        self.effect: Effect = effect
        self.undo = undo
        self.key = key
        self.name = name
        self.arguments = arguments
        self.digest = ""
        if more or len(arguments) > MAX_ARGUMENTS:
            self.digest = digest("step", arguments, *more)
            self.arguments = "" if len(arguments) > MAX_ARGUMENTS else arguments

    def began(self, now: float) -> StepBegan:
        """The event that says that it begins."""
        return StepBegan(self.key, self.name, self.arguments, now, self.effect, self.digest)

    def differs_from(self, recorded: StepBegan) -> str:
        """What is another than in the recorded call, `""` where nothing is."""
        if self.name != recorded.name:
            return f"it is a call of {self.name!r}, expected {recorded.name!r}"
        if self.arguments != recorded.arguments:
            return "its arguments are others"
        return "" if self.digest == recorded.digest else "its arguments, or what guards it, are others"

    async def refusal(self, program: Program) -> ToolFinished | None:
        """Why it is not to begin, recorded as its result; None where it may."""
        return None

    async def come_to_result(self, program: Program) -> ToolFinished | None:
        """Its result; None while it waits for a person, an answer or a time. Called again once something has been decided."""
        raise NotImplementedError

    def read(self, result: ToolFinished) -> object:
        """The value of a recorded result. Raises `ValueError` where it does not fit."""
        raise NotImplementedError

    def failed(self, error: BaseException, started_at: float, at: float) -> ToolFinished:
        """What is recorded where it failed for good."""
        detail = shortened(storable_text(str(error)), MAX_DETAIL)
        return failure(self.key, type(error).__name__, detail, started_at, at)


class Program(Protocol):
    """The program of a run in motion, as its calls know it. `news` counts how often something was decided meanwhile."""

    run: Run
    loop: asyncio.AbstractEventLoop
    news: int
    timeouts: Timeouts

    async def perform(self, call: Call) -> Any:
        """The value of a call's result. Raises `StepFailedError` where it has failed for good."""
        ...

    async def record(self, *events: RunEvent) -> None:
        """Make `events` the run's next ones."""
        ...

    def wake_at(self, key: str, at: float) -> None:
        """Look again at a call that waits once it is `at`, a Unix timestamp."""
        ...

    def adopt(self, task: asyncio.Task[Any] | None) -> None:
        """Take a task for one of the program's: it ends with that."""
        ...


Rehearsal = Callable[[Program, Call], Awaitable[ToolFinished | None]]
"""Called in place of a call's own `come_to_result`."""

REHEARSAL: ContextVar[Rehearsal | None] = ContextVar("agentsdk rehearsal", default=None)
"""What stands in for all bodies of the programs that begin here: for tests of these."""


def failure(key: str, error: str, detail: str = "", started_at: float = 0.0, at: float = 0.0) -> ToolFinished:
    """The recorded result of a step that failed for good."""
    text = msgspec.json.encode(Failure(error, detail)).decode()
    return ToolFinished(key, text, True, took_ms=milliseconds(started_at, at), at=at)


def failure_of(result: ToolFinished) -> Failure:
    """What a recorded failure says. Words of a person, who said so of a step in doubt, are its detail."""
    text = result.output if isinstance(result.output, str) else ""
    try:
        return msgspec.json.decode(text, type=Failure)
    except msgspec.MsgspecError:
        return Failure("MarkedFailed", text)
