"""`ProgramTool`: a tool that runs a program which calls an agent's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, cast

from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.agent_input import AgentInput
from agentsdk.define.tool_body import BoundArguments
from agentsdk.define.tool_options import CallOptions
from agentsdk.ports.interpreter import Interpreter
from agentsdk.types.base import JsonObject
from agentsdk.types.generics import TContext


class ProgramInput(AgentInput[TContext]):
    """What a call of a program takes: its code."""

    __slots__ = ("interpreter",)

    def __init__(self, interpreter: Interpreter) -> None:
        super().__init__(None, None)
        self.interpreter = interpreter

    @property
    def description(self) -> str:
        return self.interpreter.describe()

    @property
    def params_json_schema(self) -> JsonObject:
        return _CODE

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        from agentsdk.core.json_schema import check_arguments

        check_arguments(_CODE, arguments)
        return (arguments["code"],), {}


class ProgramTool(AgentTool[TContext]):
    """A tool whose calls are nested runs in which a program, not a model, asks for the calls.

    So each of them is recorded, and waits for a person, as any other call of a run. `agent` has the tools; its model is never
    asked. A result of more than `max_output_chars` is cut.
    """

    max_output_chars: int

    def __init__(
        self,
        agent: Agent[TContext, str],
        name: str,
        interpreter: Interpreter,
        *,
        max_output_chars: int,
        **options: Unpack[CallOptions[TContext]],
    ) -> None:
        super().__init__(agent, name, "", None, max_turns=None, **options)
        vars(self).update(_body=ProgramInput[TContext](interpreter), _description=None, max_output_chars=max_output_chars)

    @property
    def interpreter(self) -> Interpreter:
        """What runs the programs."""
        return cast("ProgramInput[TContext]", self._body).interpreter


_CODE: JsonObject = {
    "type": "object",
    "properties": {"code": {"type": "string"}},
    "required": ["code"],
    "additionalProperties": False,
}
