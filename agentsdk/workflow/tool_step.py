"""An agent's tool as a step: a nested run whose one reply is that call, so that all options of the tool hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentsdk.core.overflow import output_text
from agentsdk.define.agent import Agent
from agentsdk.define.program_tool import ProgramInput
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.run import Run
from agentsdk.ports.interpreter import ProgramFunction, ProgramStep
from agentsdk.types.items import FunctionCall, FunctionCallOutput
from agentsdk.workflow.agent_step import AgentCall
from agentsdk.workflow.codec import Codec


def call_of_tool(key: str, run: Run, tool: FunctionTool[Any], arguments: str, codec: Codec) -> AgentCall:
    """A call of `tool` with these arguments, JSON text, whose result is of `codec`'s type."""
    agent = Agent[Any, str](name=tool.name, tools=[tool])

    def read(output: str, version: str) -> object:
        return output if codec.is_text else codec.read(output)

    return AgentCall(key, run, agent, arguments, None, read, replies=ProgramInput(agent, _OneCall(tool), about=""))


class _OneCall:
    """Gives the replies of the nested run: the call, and the end once it has its result."""

    about = ""

    def __init__(self, tool: FunctionTool[Any]) -> None:
        self._tool = tool

    async def begin(self, code: str, functions: Mapping[str, ProgramFunction]) -> ProgramStep:
        """The call, whose arguments are the input of the run."""
        return ProgramStep("call", (FunctionCall("call", self._tool.name, code, kind=self._tool.kind),))

    async def go_on(
        self, snapshot: str, results: Sequence[FunctionCallOutput], functions: Mapping[str, ProgramFunction]
    ) -> ProgramStep:
        """The end, with the call's result."""
        (result,) = results
        return ProgramStep("over", text=output_text(result.output), is_error=result.is_error)
