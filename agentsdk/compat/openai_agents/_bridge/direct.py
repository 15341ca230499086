"""Asking a model without a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents._bridge.output import BridgedOutput
from agentsdk.compat.openai_agents._bridge.raw import built_of, to_item
from agentsdk.compat.openai_agents._bridge.settings import own_settings
from agentsdk.compat.openai_agents._bridge.tools import hosted_tool
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError
from agentsdk.compat.openai_agents.items import ItemHelpers, ModelResponse
from agentsdk.compat.openai_agents.usage import usage_of
from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.hosted import Prompt
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape


def direct_request(
    system_instructions: str | None,
    input: str | list[Any],
    settings: Any,
    tools: list[Any],
    output_schema: Any,
    handoffs: list[Any],
    prompt: Any,
    *,
    stream: bool,
) -> ModelRequest:
    """The request that these arguments mean."""
    specs: list[ToolSpec | HandoffSpec] = []
    hosted: list[HostedTool] = []
    for tool in tools:
        if isinstance(tool, theirs.FunctionTool):
            specs.append(ToolSpec(tool.name, tool.description, tool.params_json_schema, tool.strict_json_schema))
        else:
            hosted.append(hosted_tool(tool))
    specs += [
        HandoffSpec(one.tool_name, one.tool_description, one.input_json_schema, one.agent_name, one.strict_json_schema)
        for one in handoffs
    ]
    is_text = output_schema is None or output_schema.is_plain_text()
    return ModelRequest(
        Tape([to_item(entry) for entry in ItemHelpers.input_to_new_input_list(input)]),
        system_instructions or "",
        tools=tuple(specs),
        output=None if is_text else BridgedOutput(cast(Any, output_schema)).spec,
        settings=own_settings(settings),
        stream=stream,
        prompt=None if prompt is None else Prompt(prompt["id"], prompt.get("version"), prompt.get("variables")),
        hosted=tuple(hosted),
    )


async def reply_of(events: AsyncIterator[ModelStreamEvent]) -> ModelResponse:
    """The reply that a stream ends with."""
    async for event in events:
        if isinstance(event, ResponseCompleted):
            reply = event.response
            output = [built_of(item) for item in reply.output]
            return ModelResponse(output, usage_of(reply.usage), reply.response_id or None)
    raise ModelBehaviorError("the model gave no reply")
