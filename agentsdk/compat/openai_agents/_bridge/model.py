"""Models: the program's own behind the port of agentsdk, and agentsdk's where the program names one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, ClassVar, cast

from msgspec import structs

from agentsdk.compat.openai_agents._bridge.hosted import with_tools_of_provider
from agentsdk.compat.openai_agents._bridge.scope import RunScope, current, current_scope
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.exceptions import ModelBehaviorError, ModelTimeoutError, UserError
from agentsdk.compat.openai_agents.items import ModelResponse, field_of
from agentsdk.compat.openai_agents.models.interface import ModelTracing
from agentsdk.compat.openai_agents.run_config import provider_of
from agentsdk.compat.openai_agents.usage import Usage, spent_of, usage_from
from agentsdk.engine.run import Run
from agentsdk.ports.model import Model as OwnModel
from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import Delta, ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import MaxTurnsExceeded as OwnMaxTurns
from agentsdk.types.errors import ModelError
from agentsdk.types.hosted import ServerConversation
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import Finish
from agentsdk.types.response import ModelResponse as OwnResponse


class RawDelta(Delta):
    """An event of the program's own model, as it came."""

    raw: Any
    type: ClassVar[Any] = "raw"


class BridgedError(ModelError):
    """The program's own model raised; the cause is what it raised."""


class FoundModel:
    """A model of the program, and agentsdk's where it is one. `given` is what the program named it by."""

    __slots__ = ("given", "is_object", "model", "name", "native")

    def __init__(self, given: Any, model: Any) -> None:
        self.given = given
        self.is_object = given is model
        self.model = model
        self.native: OwnModel | None = getattr(model, "native", None)
        name = getattr(self.native or model, "name", None) or getattr(model, "model", None)
        self.name = name if isinstance(name, str) and name else type(model).__name__


def find_model(scope: RunScope, agent: Agent[Any]) -> FoundModel:
    """The model of an agent in this run: the one that the run, the agent or the run's provider names."""
    given: Any = agent.model if scope.config.model is None else scope.config.model
    if given is not None and not isinstance(given, str):
        return FoundModel(given, given)
    found = scope.models.get(agent)
    if found is None or found.given is not given:
        found = scope.models[agent] = FoundModel(given, provider_of(scope.config).get_model(given))
    return found


class _Whole:
    """A reply that nobody reads the deltas of, as a stream of one event.

    An async generator would be the same, but asyncio keeps account of each, which takes longer than all that is done here.
    """

    __slots__ = ("_asked",)

    def __init__(self, asked: Coroutine[Any, Any, ResponseCompleted]) -> None:
        self._asked: Coroutine[Any, Any, ResponseCompleted] | None = asked

    def __aiter__(self) -> _Whole:
        return self

    def __anext__(self) -> Coroutine[Any, Any, ResponseCompleted]:
        asked, self._asked = self._asked, None
        if asked is None:
            raise StopAsyncIteration
        return asked

    async def aclose(self) -> None:
        """Ask no more."""
        if self._asked is not None:
            self._asked.close()


def _whole(asked: Coroutine[Any, Any, ResponseCompleted]) -> AsyncGenerator[ModelStreamEvent, None]:
    return cast(Any, _Whole(asked))


class AgentModel:
    """The model of one agent, whichever it is in the run that goes on."""

    def __init__(self, agent: Agent[Any]) -> None:
        self._agent = agent
        self._last: FoundModel | None = None
        # Tools and handoffs, by those of the request.
        self._offered: tuple[object, list[Any], list[Any]] | None = None

    @property
    def name(self) -> str:
        """Its name, in the run that goes on."""
        scope = current.get()
        if scope is None:
            return str(self._agent.model)
        try:
            return self._found(scope).name
        except Exception:  # a provider of the program's own: what it raises is raised when the model is asked
            return str(self._agent.model)

    def _found(self, scope: RunScope) -> FoundModel:
        """The model that this run names: the one that was asked last, where that is an object, and it names it too."""
        given, last = scope.config.model, self._last
        if given is None:
            given = self._agent.model
        if last is None or last.given is not given or not last.is_object:
            last = self._last = find_model(scope, self._agent)
        return last

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply."""
        scope, agent = current_scope(), self._agent
        if scope.max_turns is not None and scope.max_turns <= 0:
            raise OwnMaxTurns("the run may take no turn", kind="turns", used=0, limit=0)
        scope.translation.refresh(agent)
        try:
            found = self._found(scope)
        except Exception as error:
            raise BridgedError(f"the model provider raised {type(error).__name__}") from error
        if (scope.auto_previous_response_id or scope.conversation_id) and request.conversation is None:
            request = _continued(scope, request)
        of_run, seconds = scope.config.model_settings, agent.model_settings.timeout
        if of_run is not None and of_run.timeout is not None:
            seconds = of_run.timeout
        if found.native is None:
            events = (
                self._given_streamed(scope, found, request) if scope.is_streamed else _whole(self._given(scope, found, request))
            )
            return events if seconds is None else _timed(events, seconds)
        if at_provider := scope.translation.at_provider(agent):
            try:
                request = with_tools_of_provider(request, at_provider, found.model)
            except UserError as error:
                raise BridgedError(str(error)) from error
        events = found.native.stream(request)
        return events if seconds is None else _timed(events, seconds)

    async def _given(self, scope: RunScope, found: FoundModel, request: ModelRequest) -> ResponseCompleted:
        """Ask the program's own model for a whole reply."""
        try:
            reply = await found.model.get_response(**self._arguments(scope, request))
        except Exception as error:
            raise _bridged(found, error) from error
        return ResponseCompleted(_own_reply(scope, reply, found.name))

    async def _given_streamed(
        self, scope: RunScope, found: FoundModel, request: ModelRequest
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask the program's own model, event by event."""
        shown: Any = RawDelta
        reply: ModelResponse | None = None
        try:
            async for event in found.model.stream_response(**self._arguments(scope, request)):
                yield shown(event)
                if (getattr(event, "type", None) or field_of(event, "type")) in _ENDS:
                    reply = _streamed(field_of(event, "response"))
            if reply is None:
                raise ModelBehaviorError("the model's stream ended without a final response")
        except Exception as error:
            raise _bridged(found, error) from error
        yield ResponseCompleted(_own_reply(scope, reply, found.name))

    def _arguments(self, scope: RunScope, request: ModelRequest) -> dict[str, Any]:
        agent, translation, settings = self._agent, scope.translation, self._agent.model_settings
        if scope.config.model_settings is not None:
            settings = settings.resolve(scope.config.model_settings)
        if settings.tool_choice is not None and request.settings.tool_choice != settings.tool_choice:
            settings = dataclasses.replace(settings, tool_choice=None)
        conversation, prompt = request.conversation, request.prompt
        held = conversation.held if conversation is not None else 0
        items = [*request.items, *request.tail] if request.tail else list(request.items)
        scope.wrapper.turn_input = entries = scope.originals.entries(items[held:] if held else items)
        if scope.config.reasoning_item_id_policy == "omit":
            for one in entries:
                if one.get("type") == "reasoning":
                    one.pop("id", None)
        offered = self._offered
        if offered is None or offered[0] is not request.tools or agent.mcp_servers:  # whose tools are each turn's own
            offered = self._offered = (request.tools, *_offered(scope, agent, request))
        return {
            "system_instructions": request.instructions or ("" if isinstance(agent.instructions, str) else None),
            "input": entries,
            "model_settings": settings,
            "tools": offered[1].copy(),
            "output_schema": translation.output_schema(agent),
            "handoffs": offered[2].copy(),
            "tracing": ModelTracing.DISABLED if scope.config.tracing_disabled else ModelTracing.ENABLED,
            "previous_response_id": (conversation.previous_response_id or None) if conversation is not None else None,
            "conversation_id": (conversation.conversation_id or None) if conversation is not None else None,
            "prompt": None if prompt is None else {"id": prompt.id, "version": prompt.version, "variables": prompt.variables},
        }


def take_note(run: Run, request: ModelRequest, reply: OwnResponse) -> None:
    """A reply has come. A call of a tool that there is not ends the run, unless the model is to be told of it."""
    scope: RunScope = run.context.context
    given = scope.given_usage
    if given is None:
        scope.wrapper.spend(reply.usage)
    else:
        scope.given_usage = None
        scope.wrapper.usage.add(given)
    if scope.config.tool_not_found_behavior != "return_error_to_model":
        for item in reply.output:
            if type(item) is FunctionCall and item.kind != "mcp_approval" and not _has_tool(request, item.name):
                error = ModelBehaviorError(f"Tool {item.name} not found in agent {scope.translation.given(run.agent).name}")
                raise BridgedError(str(error)) from error
    scope.last = request, reply


def _has_tool(request: ModelRequest, name: str) -> bool:
    return any(tool.name == name for tool in request.tools)


def _bridged(found: FoundModel, error: Exception) -> BridgedError:
    return BridgedError(f"model {found.name!r} raised {type(error).__name__}")


def _offered(scope: RunScope, agent: Agent[Any], request: ModelRequest) -> tuple[list[Any], list[Any]]:
    """The program's tools and handoffs that the model is told of."""
    names = {tool.name for tool in request.tools}
    translation = scope.translation
    tools = [tool for tool in scope.tools_of(agent) if translation.is_offered(tool, names)]
    return tools, [one for one in translation.handoffs(agent) if one.tool_name in names]


async def _timed(events: AsyncGenerator[ModelStreamEvent, None], seconds: float) -> AsyncGenerator[ModelStreamEvent, None]:
    """A reply that has to be there within `seconds`; what asks for it is cancelled, and has wound up when this raises."""
    end = asyncio.get_running_loop().time() + seconds
    try:
        while True:
            limit = asyncio.timeout_at(end)
            try:
                async with limit:
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                if not limit.expired():
                    raise
                late = ModelTimeoutError(seconds)
                raise BridgedError(str(late)) from late.with_traceback(error.__traceback__)
            yield event
    finally:
        await events.aclose()


def _continued(scope: RunScope, request: ModelRequest) -> ModelRequest:
    """The request as one that goes on from the last reply: what the provider has of it is not sent again.

    Where the history was changed since, all of it is sent.
    """
    last, items = scope.last_reply, request.items
    if last is None:
        return request
    output = list(last.output)
    if not output or not (last.response_id or scope.conversation_id):
        return request
    for end in range(len(items), len(output) - 1, -1):
        if items[end - len(output) : end] == output:
            if scope.conversation_id:
                conversation = ServerConversation(conversation_id=scope.conversation_id, held=end)
            else:
                conversation = ServerConversation(previous_response_id=last.response_id, held=end)
            return structs.replace(request, conversation=conversation)
    return request


_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))
"""The events that carry a whole reply."""


def _own_reply(scope: RunScope, reply: ModelResponse, name: str) -> OwnResponse:
    """The reply of the program's own model as the run beneath has it."""
    usage: Any = reply.usage
    if not isinstance(usage, Usage):
        usage = Usage()
    spent = spent_of(usage)
    if usage.request_usage_entries or usage.total_tokens != spent.total_tokens:
        scope.given_usage = usage
    make = scope.originals.item
    output: Any = tuple([make(raw, "an item of the model's reply") for raw in reply.output])
    finish: Finish = "tool_calls" if any(type(item) is FunctionCall for item in output) else "stop"
    return OwnResponse(output, spent, finish, reply.response_id or "", name)


def _streamed(response: Any) -> ModelResponse:
    """The reply that the last event of a stream carries."""
    spent = field_of(response, "usage")
    usage = Usage() if spent is None else usage_from(spent)
    return ModelResponse(list(field_of(response, "output") or []), usage, field_of(response, "id"))
