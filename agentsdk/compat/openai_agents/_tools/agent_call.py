"""`AgentCall`: what a tool does that is an agent."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from agentsdk.compat.openai_agents.agent_tool_input import (
    StructuredInputSchemaInfo,
    StructuredToolInputBuilder,
    resolve_agent_tool_input,
)
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.tool import ToolErrorFunction, parse_arguments
from agentsdk.define.answer_needed import AnswerNeededError

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent
    from agentsdk.compat.openai_agents.tool_context import ToolContext


@dataclass(repr=False)
class AgentCall:
    """Runs an agent with the arguments of a call; what fails is told by `failure_error_function`, where there is one."""

    agent: Agent[Any]
    name: str
    adapter: TypeAdapter[Any]
    schema_info: StructuredInputSchemaInfo | None
    """What the agent may be told of its parameters; None where it has but its one text."""
    input_builder: StructuredToolInputBuilder | None
    failure_error_function: ToolErrorFunction | None
    options: dict[str, Any]
    """Of the nested run."""

    async def invoke(self, context: ToolContext[Any], input_json: str) -> Any:
        """The result of a call."""
        try:
            return await self._run(context, input_json)
        except AnswerNeededError:
            raise
        except Exception as error:
            if self.failure_error_function is None:
                raise
            text = self.failure_error_function(context, error)
            return await text if inspect.isawaitable(text) else text

    async def _run(self, context: ToolContext[Any], input_json: str) -> Any:
        from agentsdk.compat.openai_agents._bridge.nested import run_nested

        data = parse_arguments(context.tool_name or self.name, input_json)
        try:
            params = self.adapter.dump_python(self.adapter.validate_python(data), mode="json")
        except ValidationError as error:
            raise ModelBehaviorError(f"Invalid JSON input for tool {self.name}: {error}") from error
        given = await resolve_agent_tool_input(params=params, schema_info=self.schema_info, input_builder=self.input_builder)
        if not isinstance(cast(object, given), str | list):
            raise ModelBehaviorError(f"tool {self.name} was called with what is no input for an agent")
        tool_input = params if self.schema_info is not None else None
        return await run_nested(self.agent, given, context, tool_input=tool_input, **self.options)


def check_agent_tool(on_stream: object, most_pending: int | None, parameters: object) -> None:
    """Raises `UserError` or `TypeError` for a wrong argument of `Agent.as_tool`."""
    if on_stream is not None and not callable(on_stream):
        raise UserError("on_stream must be callable or None; give the settings of the nested run as run_config=...")
    if most_pending is not None and most_pending <= 0:
        raise UserError(f"on_stream_max_pending_events is {most_pending!r}, must be a positive integer or None")
    fits = isinstance(parameters, type) and (dataclasses.is_dataclass(parameters) or issubclass(parameters, BaseModel))
    if parameters is not None and not fits:
        raise TypeError("Agent tool parameters must be a dataclass or Pydantic model type.")
