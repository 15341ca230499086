"""Models of a rerun: a reply that the record has to an equal request is taken from there, and for the rest a model is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, cast

from agentsdk.core.diff import Divergence, describe_reply
from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.strategies import Summarize
from agentsdk.define.agent import Agent, ModelSelector
from agentsdk.define.context import TurnContext
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_config import ModelHandler, RunConfig
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.input_filter import filtered
from agentsdk.engine.model_choice import call_selector
from agentsdk.engine.prepare import with_read_result
from agentsdk.engine.recorded_run import RecordedReply, RecordedRun
from agentsdk.engine.toolsets import recorded_declaration
from agentsdk.ports.model import Model, ModelProvider, ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ContextTooLongError
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.usage import Usage

FindModel = Callable[[str | Model | None, ModelProvider | None], Model]


class RecordedModels:
    """The models of a rerun, `model` in place of all where it is given; and what has been taken from the record.

    `divergence` is the first request that is not the recorded one. `reused` replies are the record's, `asked` were asked for
    and took `spent`.
    """

    def __init__(self, record: RecordedRun, model: str | Model | None, config: RunConfig, find_model: FindModel) -> None:
        self.divergence: Divergence | None = None
        self.reused = 0
        self.asked = 0
        self.spent = Usage()
        self._record = record
        self._model = model
        self._config = config
        self._find_model = find_model
        self._originals: dict[int, Agent[Any, Any]] = {}
        """The agents, by the models of their copies."""
        self._wrapped: set[str] = set()
        """The ids of the requests that `wrap_model_call` is asked about."""

    def fields(self, agent: Agent[Any, Any]) -> dict[str, Any]:
        """What is changed in an agent."""
        given, recorded = self.given_model(agent), partial(self.reply_to, agent)
        if given is None or isinstance(given, str) or hasattr(given, "stream"):
            fixed = cast("str | Model | None", given)
            model = RecordedModel(_name(fixed), recorded, partial(self.live_reply, fixed, None))
            self._originals[id(model)] = agent
            return {"model": model, "hooks": None}

        def chosen(context: TurnContext[Any], twin: Agent[Any, Any]) -> Model:
            choose = partial(call_selector, f"model of agent {agent.name!r}", given, context, agent)
            return RecordedModel(self._record.model_asked(context), recorded, partial(self.live_reply, None, choose))

        self._originals[id(chosen)] = agent
        return {"model": chosen, "hooks": None}

    def reply_to(self, agent: Agent[Any, Any], request: ModelRequest) -> ResponseCompleted | None:
        """The recorded reply, if the request is what was sent in this place. The first that is not is the divergence."""
        reply = self._record.replies.get(request.request_id)
        if reply is None:
            return self.summary_for(request)
        others = self._differences(reply, agent, request)
        if not (others or request.request_id in self._wrapped):
            self.reused += 1
            if reply.is_refused:
                raise ContextTooLongError("the recorded request was refused as too long, expected so here as well")
            return ResponseCompleted(reply.response, reply.attempts)
        if self.divergence is None:
            at = reply.position
            now = f"another request: other {', '.join(others)}"
            self.divergence = Divergence(at.revision, at.state.turns + 1, at.state.agent, describe_reply(reply.response), now)
        return None

    async def wrapped_reply(
        self, context: TurnContext[Any], twin: Agent[Any, Any], request: ModelRequest, handler: ModelHandler
    ) -> ModelResponse:
        """What `wrap_model_call` returned for a recorded request; for another one it is asked."""
        wrap, change = self._config.wrap_model_call, self._config.call_model_input_filter
        agent, reply = self._originals[id(twin.model)], self._record.replies.get(request.request_id)
        if wrap is None or (reply is not None and not self._differences(reply, agent, request)):
            return await handler(request)
        self._wrapped.add(request.request_id)
        self.reply_to(agent, request)  # which notes that the runs part here
        if change is not None:
            request = await filtered(change, request)
        return await call_user("wrap_model_call", wrap, context, agent, request, handler)

    def summary_for(self, request: ModelRequest) -> ResponseCompleted | None:
        """The recorded summary that was asked for in this place, as long as the runs have not parted."""
        summary = self._record.summaries.get(request.request_id)
        if summary is None or self.divergence is not None:
            return None
        self.reused += 1
        text = (Message("assistant", summary.partial),) if summary.partial else ()
        return ResponseCompleted(ModelResponse(text, summary.usage, model=summary.model))

    def window(self, window: ContextWindow | None) -> ContextWindow | None:
        """A window whose summaries are the record's."""
        if window is None:
            return None
        strategies = [
            dataclasses.replace(strategy, model=self._summaries_of(cast("str | Model", strategy.model)))
            if isinstance(strategy, Summarize) and strategy.model is not None
            else strategy
            for strategy in window.strategies
        ]
        return dataclasses.replace(window, strategies=strategies)

    def _summaries_of(self, given: str | Model) -> Model:
        return RecordedModel(_name(given), self.summary_for, partial(self.ask, given))

    def given_model(self, agent: Agent[Any, Any]) -> str | Model | ModelSelector[Any] | None:
        """The model of an agent, its name or what chooses it, as it is now."""
        return self._model or self._config.model or agent.model

    async def live_reply(
        self, given: str | Model | None, choose: Callable[[], Awaitable[str | Model]] | None, request: ModelRequest
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for what the record has not: the model given, or what is chosen now."""
        change = self._config.call_model_input_filter
        if change is not None and self._config.wrap_model_call is None:  # else it is changed already
            request = await filtered(change, request)
        model = given if choose is None else await choose()
        async with aclosing(self.ask(model, request)) as events:
            async for event in events:
                yield event

    async def ask(self, given: str | Model | None, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask a model, and count what that took."""
        model = self._find_model(given, self._config.model_provider)
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                if isinstance(event, ResponseCompleted):
                    self.asked += 1
                    self.spent += sum((attempt.usage for attempt in event.attempts), event.response.usage)
                yield event

    def _differences(self, reply: RecordedReply, after: Agent[Any, Any], request: ModelRequest) -> list[str]:
        """In what a request is another one than was sent."""
        state, before = reply.position.state, reply.position.agent
        if before is None or before.name != after.name:
            return ["agent"]
        declared, told = recorded_declaration(state, before, self._config, is_nested=bool(reply.position.path))
        told = "\n\n".join(filter(None, [told, declared.output_prompt]))
        declared = with_read_result(declared, self._config, state)
        spec, offered = declared.without(reply.disabled)
        model, now = self._config.model or before.model, self.given_model(after)
        same = {
            "model": now is model or (isinstance(now, str) and now == model),
            "instructions": before.instructions == after.instructions and request.instructions.endswith(told),
            "prompt": before.prompt == after.prompt,
            "tools": list(map(_shown, offered)) == list(map(_shown, request.tools)) and spec.hosted == request.hosted,
            "output type": declared.spec.output == Declaration.of(after).spec.output,
            "settings": (before.model_settings, before.reset_tool_choice) == (after.model_settings, after.reset_tool_choice),
            "items": request.items == state.view,
        }
        return [name for name, is_same in same.items() if not is_same]


class RecordedModel:
    """Gives what is `recorded` for a request, or, where that is None, what comes `live`. A stand-in for the model `name`."""

    def __init__(
        self,
        name: str,
        recorded: Callable[[ModelRequest], ResponseCompleted | None],
        live: Callable[[ModelRequest], AsyncGenerator[ModelStreamEvent, None]],
    ) -> None:
        self.name = name
        self._recorded = recorded
        self._live = live

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply."""
        completed = self._recorded(request)
        if completed is not None:
            yield completed
            return
        async with aclosing(self._live(request)) as events:
            async for event in events:
                yield event


def _name(given: str | Model | None) -> str:
    return given.name if given is not None and not isinstance(given, str) else given or "default"


def _shown(spec: ToolSpec | HandoffSpec) -> tuple[object, ...]:
    """What the model is shown of a tool or handoff."""
    return spec.name, spec.description, spec.parameters, spec.strict
