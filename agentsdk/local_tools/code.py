"""`CodeTool`: the tool with which a model writes a program that calls the other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Generic, Unpack

from agentsdk.define.agent import TOOLS, Agent
from agentsdk.define.program_tool import ProgramTool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import CallOptions
from agentsdk.local_tools.monty import MontyInterpreter, ProgramLimits
from agentsdk.local_tools.stubs import Stub, stubs_of
from agentsdk.types.declared import Fields, a_tool_name, number, whole
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext

MIB = 1 << 20


class CodeTool(ProgramTool[TContext]):
    """Runs a program in Python that the model writes, in which each of `tools` is a function to `await`.

    Every call in it is a call of the run like any other: with its effect, approval, guardrails, permission, limits and
    idempotency key. Where the run is cut or waits, the program goes on at that call, and none that has its result runs again.
    What the program prints comes back, and the value of its last line, at most `max_output_chars` of both.

    The program may take `max_seconds` from one call to the next, `max_memory` bytes, and `max_calls` in all; between two calls
    what it holds may take `max_snapshot_chars`, compressed. It ends in an error that the model reads where it takes more. It
    reaches no file, no network and no variable of the environment.

    `options` are those of every tool. Raises `UserError` for a wrong one, and where `pydantic-monty` (`agentsdk[code]`) is not
    installed.
    """

    def __init__(
        self,
        tools: Sequence[FunctionTool[TContext]],
        *,
        name: str = "run_code",
        max_seconds: float = 5.0,
        max_memory: int = 64 * MIB,
        max_calls: int = 200,
        max_output_chars: int = 20_000,
        max_snapshot_chars: int = 1_000_000,
        **options: Unpack[CallOptions[TContext]],
    ) -> None:
        _FIELDS.check_given(
            tools=tools,
            name=name,
            max_seconds=max_seconds,
            max_memory=max_memory,
            max_calls=max_calls,
            max_output_chars=max_output_chars,
            max_snapshot_chars=max_snapshot_chars,
        )
        if find_spec("pydantic_monty") is None:
            raise UserError("CodeTool needs pydantic-monty, which is not installed, expected it; pip install 'agentsdk[code]'")
        if nested := [tool.name for tool in tools if isinstance(tool, ProgramTool)]:
            raise UserError(
                f"CodeTool(tools=...) has a CodeTool, {nested[0]!r}, expected tools that are no programs; leave it out"
            )
        functions = _Functions(tools)
        limits = ProgramLimits(max_seconds, max_memory, max_calls, max_snapshot_chars)
        interpreter = MontyInterpreter(lambda: functions.description, lambda: functions.stubs, limits)
        agent = Agent[TContext, str](name, tools=tools)
        super().__init__(agent, name, interpreter, max_output_chars=max_output_chars, **options)


class _Functions(Generic[TContext]):
    """The tools as functions, read when they are first needed: types may be declared further down."""

    def __init__(self, tools: Sequence[FunctionTool[TContext]]) -> None:
        self._tools = tools

    @cached_property
    def stubs(self) -> Mapping[str, Stub]:
        return stubs_of(self._tools)

    @cached_property
    def description(self) -> str:
        return "\n\n".join([_ABOUT, *[stub.text for stub in self.stubs.values()]])


_ABOUT = """\
Run a Python program that calls the functions below. One program that loops, filters and adds up takes the place of many calls.
Only what it prints and the value of its last line come back: print what you need, no more.
Await each call; await asyncio.gather(f(1), f(2)) runs calls side by side. A call that fails raises RuntimeError.
No files, network, packages, yield or gather(return_exceptions=...). asyncio, json, re, math, datetime are there."""

_FIELDS = Fields(
    "CodeTool",
    tools=TOOLS,
    name=a_tool_name("a tool's name"),
    max_seconds=number("seconds above 0 that a program may take between two calls", above=0),
    max_memory=whole("bytes, 1 MiB at least", MIB),
    max_calls=whole("a whole number above 0", 1),
    max_output_chars=whole("a whole number above 0", 1),
    max_snapshot_chars=whole("a whole number above 0", 1),
)
