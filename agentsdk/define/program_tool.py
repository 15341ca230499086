"""`ProgramTool`: a tool that runs a program which calls an agent's tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast

from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.agent_input import AgentInput
from agentsdk.define.declaration import Declaration
from agentsdk.define.stubs import Stub, stubs_of
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_body import BoundArguments
from agentsdk.define.tool_options import CallOptions
from agentsdk.ports.interpreter import Interpreter
from agentsdk.types.base import JsonObject
from agentsdk.types.generics import TContext


class ProgramInput(AgentInput[TContext]):
    """What a call of a program takes, its code, and what it may be."""

    __slots__ = ("_about", "_agent", "_functions", "interpreter")

    def __init__(self, agent: Agent[TContext, str], interpreter: Interpreter, about: str) -> None:
        super().__init__(None, None)
        self.interpreter = interpreter
        self._agent = agent
        self._about = about
        self._functions: tuple[tuple[FunctionTool[Any], ...], Mapping[str, Stub]] = ((), {})

    @property
    def description(self) -> str:
        stubs = self.functions([*Declaration.of(self._agent).tools.values()])
        return "\n\n".join(filter(None, [self.interpreter.about, *[stub.text for stub in stubs.values()], self._about]))

    @property
    def params_json_schema(self) -> JsonObject:
        return _CODE

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        from agentsdk.core.json_schema import check_arguments

        check_arguments(_CODE, arguments)
        return (arguments["code"],), {}

    def functions(self, tools: Sequence[FunctionTool[Any]]) -> Mapping[str, Stub]:
        """The tools as functions. Kept while they are the same ones: each step of a program asks."""
        known, stubs = self._functions
        if known != (given := tuple(tools)):
            stubs = stubs_of(given)
            self._functions = (given, stubs)
        return stubs


class ProgramTool(AgentTool[TContext]):
    """A tool whose calls are nested runs in which a program, not a model, asks for the calls.

    So each of them is recorded, and waits for a person, as any other call of a run. `agent` has the tools; its model is never
    asked. A call's description says what programs the interpreter runs, shows the agent's tools as functions, and ends with
    `about`. A result of more than `max_output_chars` is cut.
    """

    max_output_chars: int

    def __init__(
        self,
        agent: Agent[TContext, str],
        interpreter: Interpreter,
        *,
        about: str,
        max_output_chars: int,
        **options: Unpack[CallOptions[TContext]],
    ) -> None:
        super().__init__(agent, agent.name, "", None, max_turns=None, **options)
        body = ProgramInput(agent, interpreter, about)
        vars(self).update(_body=body, _description=None, max_output_chars=max_output_chars)

    @property
    def program(self) -> ProgramInput[TContext]:
        """What runs its programs, and what these may call."""
        return cast("ProgramInput[TContext]", self._body)


_CODE: JsonObject = {
    "type": "object",
    "properties": {"code": {"type": "string"}},
    "required": ["code"],
    "additionalProperties": False,
}
