"""Models: the program's own behind the port of agentsdk, and agentsdk's where the program names one."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator
from typing import Any, ClassVar, cast

from agentsdk.compat.openai_agents._bridge.scope import RunScope
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, UserError
from agentsdk.compat.openai_agents.items import ModelResponse, field_of
from agentsdk.compat.openai_agents.models.interface import ModelTracing
from agentsdk.compat.openai_agents.tool import ProgrammaticToolCallingTool, ShellTool
from agentsdk.compat.openai_agents.usage import Usage, count, spent_of
from agentsdk.ports.model import Model as OwnModel
from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import Delta, ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import MaxTurnsExceeded as OwnMaxTurns
from agentsdk.types.errors import ModelError
from agentsdk.types.items import FunctionCall, Item
from agentsdk.types.response import ModelResponse as OwnResponse
from agentsdk.types.response import OutputItem


class RawDelta(Delta):
    """An event of the program's own model, as it came."""

    raw: Any
    type: ClassVar[Any] = "raw"


class BridgedError(ModelError):
    """The program's own model raised; the cause is what it raised."""


def find_model(scope: RunScope, agent: Agent[Any]) -> Any:
    """The model of an agent in this run, as the program has it."""
    given: Any = scope.config.model if scope.config.model is not None else agent.model
    if given is None or isinstance(given, str):
        key = given or ""
        if key not in scope.models:
            scope.models[key] = scope.config.model_provider.get_model(given)
        return scope.models[key]
    return given


class ScopedModel:
    """The model of one agent in one run. `turn` is counted here, once a reply has come."""

    def __init__(self, scope: RunScope, agent: Agent[Any], model: Any) -> None:
        self._scope = scope
        self._agent = agent
        self._model = model
        self._native: OwnModel | None = getattr(model, "native", None)
        name = getattr(self._native or model, "name", None) or getattr(model, "model", None)
        self.name = name if isinstance(name, str) and name else type(model).__name__

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply."""
        scope = self._scope
        if not scope.may_ask:
            raise OwnMaxTurns("the run may take no turn", kind="turns", used=0, limit=0)
        if self._native is not None:
            self._check_tools()
        scope.shows_raw = self._native is None and scope.is_streamed
        events = self._native.stream(request) if self._native is not None else self._given(request)
        async for event in events:
            if isinstance(event, ResponseCompleted):
                self._check_calls(event.response, request)
                scope.turns += 1
                scope.last_response_id = event.response.response_id or None
                if self._native is not None:
                    count(scope.wrapper.usage, event.response.usage)
            yield event

    def _check_tools(self) -> None:
        """Raises for a tool that the provider runs in containers of its own: agentsdk's models know none of them."""
        for tool in self._agent.tools:
            if isinstance(tool, ProgrammaticToolCallingTool) or (isinstance(tool, ShellTool) and tool.executor is None):
                error = UserError(
                    f"agentsdk has no {type(tool).__name__} that the provider runs in its containers; give ShellTool an "
                    "executor, or use the tools of agentsdk.local_tools and agentsdk.sandboxes"
                )
                raise BridgedError(str(error)) from error

    def _check_calls(self, response: OwnResponse, request: ModelRequest) -> None:
        """A call of a tool that there is not ends the run, unless the program has it told to the model."""
        if self._scope.config.tool_not_found_behavior == "return_error_to_model":
            return
        known = {tool.name for tool in request.tools}
        for item in response.output:
            if type(item) is FunctionCall and item.kind != "mcp_approval" and item.name not in known:
                error = ModelBehaviorError(f"Tool {item.name} not found in agent {self._agent.name}")
                raise BridgedError(str(error)) from error

    async def _given(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask the program's own model."""
        try:
            if self._scope.is_streamed:
                reply: ModelResponse | None = None
                async for event in self._model.stream_response(**self._arguments(request)):
                    yield cast(ModelStreamEvent, RawDelta(event))
                    if field_of(event, "type") in ("response.completed", "response.incomplete", "response.failed"):
                        reply = _streamed(field_of(event, "response"))
                if reply is None:
                    raise ModelBehaviorError("the model's stream ended without a final response")
            else:
                reply = await self._model.get_response(**self._arguments(request))
        except Exception as error:
            raise BridgedError(f"model {self.name!r} raised {type(error).__name__}") from error
        yield ResponseCompleted(self._own(cast(Any, reply)))

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        scope, agent = self._scope, self._agent
        settings = agent.model_settings.resolve(scope.config.model_settings)
        if settings.tool_choice is not None and request.settings.tool_choice != settings.tool_choice:
            settings = dataclasses.replace(settings, tool_choice=None)
        names = {tool.name for tool in request.tools}
        translation = scope.translation
        conversation = request.conversation
        held = conversation.held if conversation is not None else 0
        entries = [scope.originals.entry(item) for item in [*request.items, *request.tail][held:]]
        scope.wrapper.turn_input = entries
        prompt = request.prompt
        return {
            "system_instructions": request.instructions or (None if agent.instructions is None else ""),
            "input": entries,
            "model_settings": settings,
            "tools": [tool for tool in scope.tools_of(agent) if translation.is_offered(tool, names)],
            "output_schema": translation.output_schema(agent),
            "handoffs": [one for one in translation.handoffs(agent) if one.tool_name in names],
            "tracing": ModelTracing.DISABLED if scope.config.tracing_disabled else ModelTracing.ENABLED,
            "previous_response_id": (conversation.previous_response_id or None) if conversation is not None else None,
            "conversation_id": (conversation.conversation_id or None) if conversation is not None else None,
            "prompt": None if prompt is None else {"id": prompt.id, "version": prompt.version, "variables": prompt.variables},
        }

    def _own(self, reply: ModelResponse) -> OwnResponse:
        """The reply as the run beneath has it."""
        scope = self._scope
        usage: Any = reply.usage
        if isinstance(usage, Usage):
            scope.wrapper.usage.add(usage)
        output: list[Item] = [scope.originals.item(raw, "an item of the model's reply") for raw in reply.output]
        has_calls = any(type(item) is FunctionCall for item in output)
        return OwnResponse(
            tuple(cast("list[OutputItem]", output)),
            spent_of(usage if isinstance(usage, Usage) else Usage()),
            "tool_calls" if has_calls else "stop",
            reply.response_id or "",
            self.name,
        )


def _streamed(response: Any) -> ModelResponse:
    """The reply that the last event of a stream carries."""
    spent = field_of(response, "usage")
    usage = Usage()
    if spent is not None:
        counted = ("input_tokens", "output_tokens", "total_tokens")
        given: dict[str, Any] = {name: field_of(spent, name) or 0 for name in counted}
        given |= {name: field_of(spent, name) or {} for name in ("input_tokens_details", "output_tokens_details")}
        usage = Usage(requests=1, **given)
    return ModelResponse(list(field_of(response, "output") or []), usage, field_of(response, "id"))


def event_of(delta: ModelStreamEvent) -> Any:
    """A raw event as the program sees it."""
    from agentsdk.compat.openai_agents._bridge.events import built_event

    return delta.raw if isinstance(delta, RawDelta) else built_event(delta)
