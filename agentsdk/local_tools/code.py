"""`CodeTool`: the tool with which a model writes a program that calls the other tools."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Unpack

from agentsdk.define.agent import TOOLS, TOOLSETS, Agent
from agentsdk.define.program_tool import ProgramTool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_options import CallOptions
from agentsdk.define.toolset import Toolset
from agentsdk.local_tools.findable import FindableToolset
from agentsdk.local_tools.monty import MontyInterpreter, ProgramLimits
from agentsdk.types.declared import Fields, a_tool_name, number, whole
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext

MIB = 1 << 20


class CodeTool(ProgramTool[TContext]):
    """Runs a program in Python that the model writes, in which each of `tools` is a function to `await`.

    Every call in it is a call of the run like any other: with its effect, approval, guardrails, permission, limits and
    idempotency key. Where the run is cut or waits, the program goes on at that call, and none that has its result runs again.
    What the program prints comes back, and the value of its last line, at most `max_output_chars` of both.

    The tools of `toolsets` (MCP servers, say) are functions too. The model is not told of each: it finds them by the function
    `find_functions`.

    The program may take `max_seconds` from one call to the next, `max_memory` bytes, and `max_calls` in all; between two calls
    what it holds may take `max_snapshot_chars`, compressed. It ends in an error that the model reads where it takes more. It
    reaches no file, no network and no variable of the environment.

    `options` are those of every tool. Raises `UserError` for a wrong one, and where `pydantic-monty` (`agentsdk[code]`) is not
    installed.
    """

    def __init__(
        self,
        tools: Sequence[FunctionTool[TContext]] = (),
        *,
        toolsets: Sequence[Toolset[TContext]] = (),
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
            toolsets=toolsets,
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
        found = FindableToolset(toolsets, tools) if toolsets else None
        agent = Agent[TContext, str](name, tools=[*tools], toolsets=[] if found is None else [found])
        interpreter = MontyInterpreter(ProgramLimits(max_seconds, max_memory, max_calls, max_snapshot_chars))
        about = "" if found is None else found.about
        super().__init__(agent, interpreter, about=about, max_output_chars=max_output_chars, **options)


_FIELDS = Fields(
    "CodeTool",
    tools=TOOLS,
    toolsets=TOOLSETS,
    name=a_tool_name("a tool's name"),
    max_seconds=number("seconds above 0 that a program may take between two calls", above=0),
    max_memory=whole("bytes, 1 MiB at least", MIB),
    max_calls=whole("a whole number above 0", 1),
    max_output_chars=whole("a whole number above 0", 1),
    max_snapshot_chars=whole("a whole number above 0", 1),
)
