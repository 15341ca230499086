"""Tools that the provider runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

from msgspec import structs

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import field_of, plain
from agentsdk.compat.openai_agents.models.openai_responses import OpenAIResponsesModel
from agentsdk.ports.model import ModelRequest
from agentsdk.types import hosted_tools as own_hosted
from agentsdk.types.base import JsonObject
from agentsdk.types.hosted_tool import HostedTool


def hosted_tool(tool: theirs.Tool) -> HostedTool:
    """A tool that the provider runs. Raises `UserError` for one that agentsdk has nothing for."""
    match tool:
        case theirs.WebSearchTool():
            place = plain(tool.user_location) if tool.user_location is not None else None
            location = None
            if place:
                fields = {name: place.get(name) or "" for name in ("city", "region", "country", "timezone")}
                location = own_hosted.UserLocation(**fields)
            domains = field_of(tool.filters, "allowed_domains") if tool.filters is not None else None
            return own_hosted.WebSearchTool(
                allowed_domains=tuple(domains or ()),
                user_location=location,
                search_context_size=None if tool.search_context_size == "medium" else tool.search_context_size,
            )
        case theirs.FileSearchTool():
            threshold = field_of(tool.ranking_options, "score_threshold") if tool.ranking_options is not None else None
            return own_hosted.FileSearchTool(
                vector_store_ids=tool.vector_store_ids,
                max_num_results=tool.max_num_results,
                filters=None if tool.filters is None else plain(tool.filters),
                score_threshold=threshold,
                include_search_results=tool.include_search_results,
            )
        case theirs.CodeInterpreterTool():
            container = field_of(tool.tool_config, "container")
            if isinstance(container, str):
                return own_hosted.CodeInterpreterTool(container=container)
            files = field_of(container, "file_ids") if container is not None else None
            return own_hosted.CodeInterpreterTool(file_ids=tuple(files or ()))
        case theirs.ImageGenerationTool():
            config = dict(plain(tool.tool_config))
            known = {field for field in own_hosted.ImageGenerationTool.__dataclass_fields__ if field != "permission"}
            return own_hosted.ImageGenerationTool(**{name: value for name, value in config.items() if name in known})
        case theirs.HostedMCPTool():
            return _hosted_mcp(tool)
        case theirs.ToolSearchTool():
            return own_hosted.ToolSearchTool()
        case _:
            raise UserError(
                f"an agent has a {type(tool).__name__} among its tools, expected what @function_tool makes, agent.as_tool() "
                f"or a tool class of {theirs.__name__!r}"
            )


def _hosted_mcp(tool: theirs.HostedMCPTool) -> HostedTool:
    config = dict(plain(tool.tool_config))
    config.pop("type", None)
    approval = config.get("require_approval", "always")
    given: dict[str, Any] = {"server_label": config.get("server_label", ""), "server_url": config.get("server_url", "")}
    fields = own_hosted.HostedMCPTool.__dataclass_fields__
    if "connector_id" in fields and config.get("connector_id"):
        given["connector_id"] = config["connector_id"]
    if "authorization" in fields and config.get("authorization"):
        given["authorization"] = config["authorization"]
    if "headers" in fields and config.get("headers"):
        given["headers"] = config["headers"]
    allowed = config.get("allowed_tools")
    if "allowed_tools" in fields and isinstance(allowed, list):
        given["allowed_tools"] = tuple(cast("list[str]", allowed))
    if "require_approval" in fields and approval in ("always", "never"):
        given["require_approval"] = approval
    return own_hosted.HostedMCPTool(**{name: value for name, value in given.items() if name in fields})


def is_in_container(tool: theirs.Tool) -> bool:
    """Whether a tool is a shell in a container of the provider's."""
    return isinstance(tool, theirs.ShellTool) and tool.executor is None


def with_tools_of_provider(request: ModelRequest, tools: Sequence[theirs.Tool], model: Any) -> ModelRequest:
    """The request with tools that agentsdk has no declaration of: shells in containers, which the Responses API has. Raises
    `UserError` for another tool, or for a model of another API."""
    for tool in tools:
        if not is_in_container(tool):
            raise UserError(
                f"agentsdk's models take no {type(tool).__name__}; give the agent function tools, or a Model of your own"
            )
        if not isinstance(model, OpenAIResponsesModel):
            raise UserError(
                f"{type(model).__name__} has no ShellTool that the provider runs in its containers; "
                "give ShellTool an executor, or use a model of the Responses API"
            )
    entries: list[JsonObject] = [
        {"type": "shell", "environment": plain(cast("theirs.ShellTool", tool).environment)} for tool in tools
    ]
    body = dict(request.settings.extra_body or {})
    body["tools"] = [*cast("list[object]", body.get("tools") or []), *entries]
    return structs.replace(request, settings=dataclasses.replace(request.settings, extra_body=body))
