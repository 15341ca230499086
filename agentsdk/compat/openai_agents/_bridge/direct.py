"""Asking a model without a run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents._bridge.hosted import hosted_tool, is_in_container, with_tools_of_provider
from agentsdk.compat.openai_agents._bridge.output import BridgedOutput
from agentsdk.compat.openai_agents._bridge.raw import built_of, to_item
from agentsdk.compat.openai_agents._bridge.settings import own_settings
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
    model: Any,
    stream: bool,
) -> ModelRequest:
    """The request that these arguments mean, for a model of this package."""
    contained = [tool for tool in tools if is_in_container(tool)]
    specs: list[ToolSpec | HandoffSpec] = []
    hosted: list[HostedTool] = []
    for tool in tools:
        if isinstance(tool, theirs.FunctionTool):
            specs.append(ToolSpec(tool.name, tool.description, tool.params_json_schema, tool.strict_json_schema))
        elif tool not in contained:
            hosted.append(hosted_tool(tool))
    specs += [
        HandoffSpec(one.tool_name, one.tool_description, one.input_json_schema, one.agent_name, one.strict_json_schema)
        for one in handoffs
    ]
    is_text = output_schema is None or output_schema.is_plain_text()
    request = ModelRequest(
        Tape([to_item(entry) for entry in ItemHelpers.input_to_new_input_list(input)]),
        system_instructions or "",
        tools=tuple(specs),
        output=None if is_text else BridgedOutput(cast(Any, output_schema)).spec,
        settings=own_settings(settings),
        stream=stream,
        prompt=None if prompt is None else Prompt(prompt["id"], prompt.get("version"), prompt.get("variables")),
        hosted=tuple(hosted),
    )
    return with_tools_of_provider(request, contained, model) if contained else request


async def reply_of(events: AsyncGenerator[ModelStreamEvent]) -> ModelResponse:
    """The reply that a stream ends with."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, ResponseCompleted):
                reply = event.response
                output = [built_of(item) for item in reply.output]
                return ModelResponse(output, usage_of(reply.usage), reply.response_id or None)
    raise ModelBehaviorError("the model gave no reply")
