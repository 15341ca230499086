"""The port to an interpreter: what runs the program that a model writes, up to its next calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from agentsdk.types.items import FunctionCall, FunctionCallOutput


class ProgramFunction(Protocol):
    """A tool as a function that a program may call."""

    @property
    def name(self) -> str:
        """What the program calls it by."""
        ...

    @property
    def tool(self) -> str:
        """The tool's name."""
        ...

    @property
    def text(self) -> str:
        """Its signature and what it does, as Python."""
        ...

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
        """A call's arguments as JSON text. Raises `TypeError`, in Python's words, for what cannot be arguments."""
        ...

    def result(self, text: str) -> object:
        """The value of a result."""
        ...


class ProgramStep(Struct, frozen=True):
    """How far a program has come: it waits for the results of `calls`, or it is over where there are none.

    `text` is what it has printed since the step before; of one that is over also the value that it ends with, or the error that
    it raised (`is_error`). `snapshot`, never `""`, is a text of the interpreter's own, from which the program goes on, in
    another process too. Each call has an id that no other call of the program has.
    """

    snapshot: str
    calls: tuple[FunctionCall, ...] = ()
    text: str = ""
    is_error: bool = False


class Interpreter(Protocol):
    """Runs programs step by step. It keeps nothing between two steps, and a program can reach nothing but its functions.

    What is wrong with a program, its time and its memory included, is a step that is over and says so. Both methods raise
    `ToolError` where the interpreter itself cannot run.
    """

    @property
    def about(self) -> str:
        """What a model is told of the programs that it runs."""
        ...

    async def begin(self, code: str, functions: Mapping[str, ProgramFunction]) -> ProgramStep:
        """Run a program up to its first calls. `functions` are those that it may call, by their names in it."""
        ...

    async def go_on(
        self, snapshot: str, results: Sequence[FunctionCallOutput], functions: Mapping[str, ProgramFunction]
    ) -> ProgramStep:
        """Run a program on from the snapshot of a step, with the result of each of its calls.

        Raises `StateMismatchError` for a snapshot of another interpreter or version, `StateCorruptError` for a damaged one.
        """
        ...
