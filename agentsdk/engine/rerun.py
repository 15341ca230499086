"""Replay with changes: a recorded run again, with something changed; what the change does not touch is taken from the record.

A request that is what the recorded run sent in the same place gets the recorded reply; a call equal to a recorded one, of a
tool that has not changed, gets its result; approvals are given as they were. For the rest the model is asked, and a tool is run
only if it has no effect. So a run in which nothing was changed comes out the same and asks nobody.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from agentsdk.core.arguments import canonical_arguments, parse_arguments
from agentsdk.core.codec import decode_value
from agentsdk.core.diff import Divergence, RunDiff, describe_reply, diff
from agentsdk.core.limits.totals import Price
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State
from agentsdk.core.window.context_window import ContextWindow
from agentsdk.core.window.strategies import Summarize
from agentsdk.define.agent import Agent, AgentTool, HandoffDeclaration, ModelSelector
from agentsdk.define.context import ToolContext, TurnContext
from agentsdk.define.declaration import Declaration
from agentsdk.define.guardrail import places
from agentsdk.define.guardrail_output import ToolGuardrailFunctionOutput
from agentsdk.define.hooks import RunHooks
from agentsdk.define.run_config import RunConfig
from agentsdk.define.tool import FunctionTool, known_by_spec, stand_in
from agentsdk.define.tool_guardrail import ToolOutputGuardrail, ToolOutputGuardrailData
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.copies import copied
from agentsdk.engine.input_filter import filtered
from agentsdk.engine.model_choice import call_selector
from agentsdk.engine.prepare import with_read_result
from agentsdk.engine.recorded_model import RecordedModel
from agentsdk.engine.recorded_run import RecordedCall, RecordedReply, RecordedRun
from agentsdk.engine.toolsets import recorded_declaration
from agentsdk.ports.model import Model, ModelProvider, ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import AgentsException, ContextTooLongError
from agentsdk.types.events import CallRetried, GuardrailPlace, Nested, RunEvent
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    from agentsdk.define.toolset import Toolset


class ReplayWithChanges(Struct, frozen=True):
    """What came of running a recorded run again with something changed.

    `state` is where it came to; `final_output` is None where it has none: because a person is to approve a call, because of
    `error`, or because it stopped before the calls `held`, which the record knows nothing of and which would have an effect.
    `divergence` is the first request that was another one, or else the first thing that happened otherwise; None if the run
    came out the same. `diff` compares it with the recorded run, which is its `a`. `reused` replies are the record's, `asked`
    were asked for and took `spent`.
    """

    state: RunState
    final_output: object
    divergence: Divergence | None
    diff: RunDiff
    reused: int
    asked: int
    spent: Usage
    held: tuple[PendingCall, ...] = ()
    error: AgentsException | None = None

    def __str__(self) -> str:
        parted = "came out the same" if self.divergence is None else f"parts at {self.divergence}"
        lines = [f"{parted} ({self.reused} replies reused, {self.asked} asked for)", str(self.diff)]
        lines += [f"held: call {item.call_id!r} of tool {item.tool_name!r}" for item in self.held]
        if self.error is not None:
            lines.append(f"stopped by {type(self.error).__name__}")
        return "\n".join(lines)


Play = Callable[[Agent[Any, Any], RunState, RunConfig, RunHooks[Any]], Awaitable[tuple[RunState, object]]]
"""Goes on with a run until it ends or pauses; its state then, and its final output."""

FindModel = Callable[[str | Model | None, ModelProvider | None], Model]


class Change(Struct, frozen=True):
    """What is changed: agent `after` runs in place of `before`, with `model` in place of all models.

    `live_effects`: calls that the record knows nothing of run whatever their effect.
    """

    before: Agent[Any, Any]
    after: Agent[Any, Any]
    model: str | Model | None = None
    live_effects: bool = False


async def rerun(
    recorded: State,
    begin: int,
    start: State,
    change: Change,
    config: RunConfig,
    *,
    play: Play,
    find_model: FindModel,
    price: Price,
) -> ReplayWithChanges:
    """Go on from `start`, a fork of the run at revision `begin`, with what is changed."""
    current = _Rerun(RecordedRun(recorded, change.before, begin, start.run_id), change, config, find_model)
    agent = copied(change.after, current.fields, current.tool, current.handoff, current.toolset, change.before)
    window = current.window(config.window)
    config = dataclasses.replace(
        config,
        run_id=None,
        model=None,
        call_model_input_filter=None,
        window=window,
        tools=list(map(current.tool, config.tools)),
        toolsets=list(map(current.toolset, config.toolsets)),
    )
    hooks = _Gate(current)
    state, output, failure = RunState(start, _unbegun(start), config.state_key), cast(object, None), None
    while True:
        try:
            state, output = await play(agent, state, config, hooks)
        except AgentsException as error:
            if not isinstance(error.state, RunState):
                raise
            state = error.state
            if current.goes_on_after(error, state):
                continue
            failure = None if current.held else error
            break
        if not current.decide(state):
            break
    compared = diff(recorded, state.value, price)
    return ReplayWithChanges(
        state,
        output,
        current.divergence or compared.divergence,
        compared,
        current.reused,
        current.asked,
        current.spent,
        tuple(current.held),
        failure,
    )


class EffectHeld(AgentsException):
    """A rerun came to a call that would have an effect which the recorded run did not have."""


class _Rerun:
    """One rerun: the copies of agents and models that take their answers from the record, and what they have taken."""

    def __init__(self, record: RecordedRun, change: Change, config: RunConfig, find_model: FindModel) -> None:
        self.held: list[PendingCall] = []
        self.divergence: Divergence | None = None
        self.reused = 0
        self.asked = 0
        self.spent = Usage()
        self._record = record
        self._change = change
        self._config = config
        self._find_model = find_model

    # What the copies of the changed agents are made of.

    def fields(self, agent: Agent[Any, Any]) -> dict[str, Any]:
        """What is changed in an agent."""
        given, recorded = self.given_model(agent), partial(self.reply_to, agent)
        if given is None or isinstance(given, str) or hasattr(given, "stream"):
            model = cast("str | Model | None", given)
            return {"model": RecordedModel(_name(model), recorded, partial(self.live_reply, model, None)), "hooks": None}

        def chosen(context: TurnContext[Any], twin: Agent[Any, Any]) -> Model:
            choose = partial(call_selector, f"model of agent {agent.name!r}", given, context, agent)
            return RecordedModel(self._record.model_asked(context), recorded, partial(self.live_reply, None, choose))

        return {"model": chosen, "hooks": None}

    def handoff(self, declared: HandoffDeclaration[Any]) -> HandoffDeclaration[Any]:
        """A handoff whose callback, an effect too, is called only if effects are wanted."""
        return declared if self._change.live_effects else replace(declared, on_handoff=None)

    def tool(self, tool: FunctionTool[Any]) -> FunctionTool[Any]:
        """A tool that has its recorded results."""
        judged = [self._recalled(tool, placed) for placed in places(tool.tool_output_guardrails)]
        if tool.external or isinstance(tool, AgentTool):
            return stand_in(tool, tool_output_guardrails=judged)

        async def body(context: ToolContext[Any], arguments: str) -> object:
            call = self.call_of(context, tool.fingerprint)
            if call is not None and call.has_result:
                return call.result
            return await tool.invoke(context, parse_arguments(arguments))

        async def refused(context: ToolContext[Any], arguments: object) -> Any:
            call = self.call_of(context, tool.fingerprint)
            result = None if call is None else call.result
            return result if result is not None and result.failure == "circuit" else None

        checks = [tool.check] if callable(tool.check) else tool.check
        return stand_in(tool, body, tool_output_guardrails=judged, check=[refused, *checks])

    def toolset(self, toolset: Toolset[Any]) -> Toolset[Any]:
        """A toolset whose tools have their recorded results. It is asked: what it offers may have changed."""
        from agentsdk.define.toolset import MappedToolset

        return MappedToolset(toolset, lambda tool: self.tool(known_by_spec(tool)))

    # What the rerun asks on its way.

    def call_of(self, context: ToolContext[Any], fingerprint: str) -> RecordedCall | None:
        """The recorded call that one of the rerun is equal to."""
        place = (*context.path, context.tool_call_id)
        return self._record.claim(place, (context.tool_name, fingerprint, canonical_arguments(context.tool_arguments)))

    def may_run(self, context: ToolContext[Any], tool: FunctionTool[Any]) -> bool:
        """Whether a call has its result in the record, or is free to run."""
        call = self.call_of(context, tool.fingerprint)
        is_known = call is not None and call.has_result
        return is_known or tool.effect == "none" or tool.external or self._change.live_effects

    def reply_to(self, agent: Agent[Any, Any], request: ModelRequest) -> ModelResponse | None:
        """The recorded reply, if the request is what was sent in this place. The first that is not is the divergence."""
        reply = self._record.replies.get(request.request_id)
        if reply is None:
            return self.summary_for(request)
        others = self._differences(reply, agent, request)
        if not others:
            self.reused += 1
            if reply.is_refused:
                raise ContextTooLongError("the recorded request was refused as too long, expected so here as well")
            return reply.response
        if self.divergence is None:
            at = reply.position
            now = f"another request: other {', '.join(others)}"
            self.divergence = Divergence(at.revision, at.state.turns + 1, at.state.agent, describe_reply(reply.response), now)
        return None

    def summary_for(self, request: ModelRequest) -> ModelResponse | None:
        """The recorded summary that was asked for in this place, as long as the runs have not parted."""
        summary = self._record.summaries.get(request.request_id)
        if summary is None or self.divergence is not None:
            return None
        self.reused += 1
        text = (Message("assistant", summary.partial),) if summary.partial else ()
        return ModelResponse(text, summary.usage, model=summary.model)

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
        return self._change.model or self._config.model or agent.model

    async def live_reply(
        self, given: str | Model | None, choose: Callable[[], Awaitable[str | Model]] | None, request: ModelRequest
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for what the record has not: the model given, or what is chosen now."""
        change = self._config.call_model_input_filter
        if change is not None:
            request = await filtered(change, request)
        model = given if choose is None else await choose()
        async with contextlib.aclosing(self.ask(model, request)) as events:
            async for event in events:
                yield event

    async def ask(self, given: str | Model | None, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask a model, and count what that took."""
        model = self._find_model(given, self._config.model_provider)
        async with contextlib.aclosing(model.stream(request)) as events:
            async for event in events:
                if isinstance(event, ResponseCompleted):
                    self.asked += 1
                    self.spent += sum((attempt.usage for attempt in event.attempts), event.response.usage)
                yield event

    def decide(self, state: RunState) -> bool:
        """Decide on the calls that wait as it was decided on those they are equal to; whether there were any."""
        any_decided = False
        for item in state.interruptions:
            if isinstance(item, ToolAnswerItem):
                any_decided |= self._record.answer(state, item)
                continue
            turn = state.value.turn
            for call_id in item.path:
                assert turn is not None
                turn = turn.children[call_id].turn
            if turn is None or not isinstance(item, ToolApprovalItem):
                continue
            kind = (item.tool_name, turn.asked[item.call_id].fingerprint, canonical_arguments(item.arguments))
            call = self._record.claim_to_decide((*item.path, item.call_id), kind)
            live = self._change.live_effects
            if call is None or not (call.ran or call.decided) or (live and call.result is None):
                continue  # live, an approval that the recorded run may yet act on would let the call run twice
            any_decided = True
            decided = call.decided
            if decided is None:
                state.approve(item)
            elif decided.approved:
                edited = None if call.edited is None else parse_arguments(call.edited.arguments)
                state.approve(item, decided.always and not live, arguments=edited, reason=decided.reason, by=decided.by)
            else:
                state.reject(item, decided.always, reason=decided.reason, by=decided.by)
        return any_decided

    def goes_on_after(self, error: AgentsException, state: RunState) -> bool:
        """Whether the recorded run was gone on with after this error. If with another input, so is the rerun."""
        given = None if self.held else self._record.take_stop(type(error).__name__)
        if given:
            state.replace_input(given)
        return given is not None

    def _recalled(
        self, tool: FunctionTool[Any], placed: tuple[GuardrailPlace, ToolOutputGuardrail[Any]]
    ) -> ToolOutputGuardrail[Any]:
        """A guardrail that says of a recorded result what it said then."""
        guardrail_place, guardrail = placed

        async def function(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
            call = self.call_of(data.context, tool.fingerprint)
            verdict = call.verdicts.get(guardrail_place) if call is not None and call.has_result else None
            if verdict is not None:
                info = decode_value(verdict.info)
                return ToolGuardrailFunctionOutput(info, verdict.behavior, verdict.message)
            return await call_user(f"tool output guardrail {guardrail.name!r}", guardrail.guardrail_function, data)

        return ToolOutputGuardrail(function, guardrail.name)

    def _differences(self, reply: RecordedReply, after: Agent[Any, Any], request: ModelRequest) -> list[str]:
        """In what a request is another one than was sent."""
        state, before = reply.position.state, reply.position.agent
        if before is None or before.name != after.name:
            return ["agent"]
        declared, told = recorded_declaration(state, before, self._config, is_nested=bool(reply.position.path))
        told = "\n\n".join(filter(None, [told, declared.output_prompt]))
        declared = with_read_result(declared, self._config, state)
        offered = declared.enabled(declared.tools.keys() - reply.disabled, declared.handoffs.keys() - reply.disabled)[1]
        model, now = self._config.model or before.model, self.given_model(after)
        same = {
            "model": now is model or (isinstance(now, str) and now == model),
            "instructions": before.instructions == after.instructions and request.instructions.endswith(told),
            "prompt": before.prompt == after.prompt,
            "tools": list(map(_shown, offered)) == list(map(_shown, request.tools)),
            "output type": declared.spec.output == Declaration.of(after).spec.output,
            "settings": (before.model_settings, before.reset_tool_choice) == (after.model_settings, after.reset_tool_choice),
            "items": request.items == state.view,
        }
        return [name for name, is_same in same.items() if not is_same]


class _Gate(RunHooks[Any]):
    """Stops a run before a call that must not run: the intent is taken back, so that the call has not begun."""

    def __init__(self, rerun: _Rerun) -> None:
        self._rerun = rerun

    async def on_tool_start(self, context: ToolContext[Any], agent: Agent[Any, Any], tool: FunctionTool[Any]) -> None:
        if isinstance(tool, AgentTool) or self._rerun.may_run(context, tool):
            return
        call = FunctionCall(context.tool_call_id, context.tool_name, context.tool_arguments)
        self._rerun.held.append(PendingCall(call, agent.name, context.path))
        raise EffectHeld(
            f"call {context.tool_call_id!r} of tool {context.tool_name!r} is not in the record and its effect is "
            f"{tool.effect!r}, expected 'none'; to run it replay with live_effects=True"
        )


def _name(given: str | Model | None) -> str:
    return given.name if given is not None and not isinstance(given, str) else given or "default"


def _unbegun(state: State) -> list[RunEvent]:
    """Takes back the calls in flight: a fork has not run them, and what became of them is in the record."""
    turn = state.turn
    if turn is None:
        return []
    events: list[RunEvent] = [
        CallRetried(call_id) for call_id in turn.intended if call_id not in turn.results and call_id not in turn.children
    ]
    for call_id, child in turn.children.items():
        if call_id not in turn.results:
            events += [Nested(call_id, event) for event in _unbegun(child)]
    return events


def _shown(spec: ToolSpec | HandoffSpec) -> tuple[object, ...]:
    """What the model is shown of a tool or handoff."""
    return spec.name, spec.description, spec.parameters, spec.strict
