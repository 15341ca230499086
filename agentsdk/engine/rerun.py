"""Replay with changes: a recorded run again, with something changed; what the change does not touch is taken from the record.

A request that is what the recorded run sent in the same place gets the recorded reply; a call equal to a recorded one, of a
tool that has not changed, gets its result; approvals are given as they were. For the rest the model is asked, and a tool is run
only if it has no effect. So a run in which nothing was changed comes out the same and asks nobody.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agentsdk.core.arguments import canonical_arguments, parse_arguments
from agentsdk.core.codec import decode_value
from agentsdk.core.diff import Divergence, RunDiff, diff
from agentsdk.core.limits.totals import Price
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State
from agentsdk.define.agent import Agent, AgentTool, HandoffDeclaration, RunHooks
from agentsdk.define.context import ToolContext
from agentsdk.define.guardrail import places
from agentsdk.define.guardrail_output import ToolGuardrailFunctionOutput
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.run_config import RunConfig, ToolHandler
from agentsdk.define.tool import FunctionTool, known_by_spec, stand_in
from agentsdk.define.tool_guardrail import ToolOutputGuardrail, ToolOutputGuardrailData
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.copies import copied
from agentsdk.engine.recorded_models import FindModel, RecordedModels
from agentsdk.engine.recorded_run import CallPlace, RecordedCall, RecordedRun
from agentsdk.ports.model import Model
from agentsdk.types.errors import AgentsException
from agentsdk.types.events import CallRetried, GuardrailPlace, Nested, RunEvent
from agentsdk.types.items import FunctionCall, InputItem, Item
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
    record = RecordedRun(recorded, change.before, begin, start.run_id)
    models, current = RecordedModels(record, change.model, config, find_model), _Rerun(record, change, config)

    def fields(agent: Agent[Any, Any]) -> dict[str, Any]:
        return {**models.fields(agent), "output_type": current.output_type(agent)}

    agent = copied(change.after, fields, current.tool, current.handoff, current.toolset, change.before)
    config = dataclasses.replace(
        config,
        run_id=None,
        model=None,
        call_model_input_filter=None,
        wrap_model_call=None if config.wrap_model_call is None else models.wrapped_reply,
        wrap_tool_call=None if config.wrap_tool_call is None else current.wrapped_result,
        window=models.window(config.window),
        tools=list(map(current.tool, config.tools)),
        toolsets=list(map(current.toolset, config.toolsets)),
    )
    hooks, begun = _Gate(current), RunState(start, _unbegun(start), config.state_key)
    state, output, failure = await _played(lambda state: play(agent, state, config, hooks), begun, current)
    compared = diff(recorded, state.value, price)
    return ReplayWithChanges(
        state,
        output,
        models.divergence or compared.divergence,
        compared,
        models.reused,
        models.asked,
        models.spent,
        tuple(current.held),
        failure,
    )


async def _played(
    play: Callable[[RunState], Awaitable[tuple[RunState, object]]], state: RunState, current: _Rerun
) -> tuple[RunState, object, AgentsException | None]:
    """Go on for as long as the record says how: the state then, the final output, and what stopped it."""
    while True:
        try:
            state, output = await play(state)
        except AgentsException as error:
            if not isinstance(error.state, RunState):
                raise
            state = error.state
            if not current.goes_on_after(error, state):
                return state, None, None if current.held else error
        else:
            if not current.decide(state):
                return state, output, None


class EffectHeld(AgentsException):
    """A rerun came to a call that would have an effect which the recorded run did not have."""


class _Rerun:
    """One rerun: the copies of tools that take their answers from the record, and the decisions that are made as they were."""

    def __init__(self, record: RecordedRun, change: Change, config: RunConfig) -> None:
        self.held: list[PendingCall] = []
        self._answered: set[CallPlace] = set()
        """The calls whose results are in the record."""
        self._record = record
        self._change = change
        self._config = config

    # What the copies of the changed agents are made of.

    def output_type(self, agent: Agent[Any, Any]) -> Any:
        """The output type of an agent; a function has its recorded results, if it has not changed."""
        if not isinstance(agent.output_type, OutputFunction):
            return agent.output_type
        function = agent.output_type

        async def body(context: ToolContext[Any], arguments: str) -> object:
            recorded = self._record.outputs.get((context.path, function.tool.fingerprint, canonical_arguments(arguments)))
            if recorded is not None:
                return function.validate_json(recorded)
            return await function.tool.invoke(context, parse_arguments(arguments))

        return function.stand_in(stand_in(function.tool, body))

    def handoff(self, declared: HandoffDeclaration[Any]) -> HandoffDeclaration[Any]:
        """A handoff whose callback, an effect too, is called only if effects are wanted."""
        return declared if self._change.live_effects else replace(declared, on_handoff=None)

    def tool(self, tool: FunctionTool[Any]) -> FunctionTool[Any]:
        """A tool that has its recorded results."""
        judged = [self._recalled(tool, placed) for placed in places(tool.tool_output_guardrails)]
        if isinstance(tool, AgentTool) and tool.session is not None:
            tool = tool.clone(session=partial(self._session, tool.fingerprint))
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
        if is_known:
            self._answered.add((*context.path, context.tool_call_id))
        return is_known or tool.effect == "none" or tool.external or self._change.live_effects

    def wrapped_result(self, context: ToolContext[Any], arguments: dict[str, Any], handler: ToolHandler) -> object:
        """What `wrap_tool_call` returned for a recorded call; for another one it is asked."""
        wrap = self._config.wrap_tool_call
        is_answered = wrap is None or (*context.path, context.tool_call_id) in self._answered
        return handler(arguments) if wrap is None or is_answered else wrap(context, arguments, handler)

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
                state.reject(item, decided.always, reason=decided.reason, by=decided.by, message=decided.message)
        return any_decided

    def goes_on_after(self, error: AgentsException, state: RunState) -> bool:
        """Whether the recorded run was gone on with after this error. If with another input, so is the rerun."""
        given = None if self.held else self._record.take_stop(type(error).__name__)
        if given:
            state.replace_input(given)
        return given is not None

    def _session(self, fingerprint: str, context: ToolContext[Any]) -> _RecordedSession:
        """The session of an agent used as a tool as the recorded call found it."""
        call = self.call_of(context, fingerprint)
        return _RecordedSession(() if call is None else call.history)

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


class _RecordedSession:
    """What a session held, to which nothing is added."""

    session_id = "recorded"

    def __init__(self, history: Sequence[Item]) -> None:
        self._history = history

    async def get_items(self, limit: int | None = None) -> list[Item]:
        return [*self._history]

    async def add_items(self, items: Sequence[InputItem]) -> None:
        pass

    async def pop_item(self) -> Item | None:
        return None

    async def clear_session(self) -> None:
        pass


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
