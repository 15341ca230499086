"""The port to an interpreter: what runs the program that a model writes, up to its next calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from agentsdk.types.declared import having
from agentsdk.types.items import FunctionCall, FunctionCallOutput


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
    """Runs programs step by step. It keeps nothing between two steps, and the program can reach nothing but its calls.

    What is wrong with a program, its time and its memory included, is a step that is over and says so. Both methods raise
    `ToolError` where the interpreter itself cannot run.
    """

    def describe(self) -> str:
        """What a model is told: what its program may be, and the functions that it may call."""
        ...

    async def begin(self, code: str) -> ProgramStep:
        """Run a program up to its first calls."""
        ...

    async def go_on(self, snapshot: str, results: Sequence[FunctionCallOutput]) -> ProgramStep:
        """Run a program on from the snapshot of a step, with the result of each of its calls.

        Raises `StateMismatchError` for a snapshot of another interpreter or version, `StateCorruptError` for a damaged one.
        """
        ...


INTERPRETER = having(("describe", "begin", "go_on"), "an Interpreter; leave it out for the one of agentsdk[code]")
