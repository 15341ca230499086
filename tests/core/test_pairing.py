"""Pairing: whatever is done to a run, every history it gives has one result per call, after the call, and no orphan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentsdk.core.pairing import paired
from agentsdk.core.process import with_unique_calls
from agentsdk.core.run_state import RunState
from agentsdk.core.state import UNKNOWN_OUTCOME, State, apply, committed, new_state, transcript
from agentsdk.types.errors import ModelBehaviorError
from agentsdk.types.events import (
    ApprovalJudged,
    AttemptSpent,
    CallsInDoubt,
    HandedOff,
    ModelReplied,
    Nested,
    RunEnded,
    RunEvent,
    RunStarted,
    Stopped,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    ViewReplaced,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, items_from_input
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage
from tests.core.histories import calls, contents, few_ids, items, plain_items, unpaired

histories = st.lists(items, max_size=10)
USER = Message("user", "hi")


def call(call_id: str) -> FunctionCall:
    return FunctionCall(call_id, "pay", "{}")


def output(call_id: str, text: str = "1") -> FunctionCallOutput:
    return FunctionCallOutput(call_id, text)


def unknown(call_id: str) -> FunctionCallOutput:
    return FunctionCallOutput(call_id, UNKNOWN_OUTCOME, True)


@given(histories)
def test_any_items_become_valid(given_items: list[Item]) -> None:
    result = paired(given_items)
    assert unpaired(result) == []
    assert paired(result) == result
    if unpaired(given_items) == []:
        assert list(result) == given_items


@given(histories)
def test_nothing_is_lost_that_need_not_be(given_items: list[Item]) -> None:
    result = paired(given_items)
    assert [item for item in result if not isinstance(item, FunctionCallOutput)] == first_calls_and_plain(given_items)
    for position, item in enumerate(given_items):
        if isinstance(item, FunctionCall) and item not in given_items[:position]:
            later = [other for other in given_items[position:] if isinstance(other, FunctionCallOutput)]
            answers = [other for other in later if other.call_id == item.call_id]
            if item.call_id not in {c.call_id for c in given_items[:position] if isinstance(c, FunctionCall)}:
                assert (answers[0] if answers else unknown(item.call_id)) in result


def first_calls_and_plain(given_items: Sequence[Item]) -> list[Item]:
    kept: list[Item] = []
    seen: set[str] = set()
    for item in given_items:
        if isinstance(item, FunctionCall):
            if item.call_id in seen:
                continue
            seen.add(item.call_id)
        if not isinstance(item, FunctionCallOutput):
            kept.append(item)
    return kept


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        ([output("a")], []),
        ([output("a"), call("a")], [call("a"), unknown("a")]),
        ([output("a"), call("a"), USER], [call("a"), unknown("a"), USER]),
        ([output("a", "0"), call("a"), output("a", "1")], [call("a"), output("a", "1")]),
        ([call("a"), output("a", "1"), output("a", "2")], [call("a"), output("a", "1")]),
        ([call("a"), call("a"), output("a")], [call("a"), output("a")]),
        ([call("a"), call("b"), output("b"), USER], [call("a"), call("b"), output("b"), unknown("a"), USER]),
        ([call("a"), USER, output("a")], [call("a"), USER, output("a")]),
        ([call("a"), USER, call("b")], [call("a"), unknown("a"), USER, call("b"), unknown("b")]),
    ],
)
def test_where_a_missing_result_is_put(before: list[Item], after: list[Item]) -> None:
    assert list(paired(before)) == after


class Agent:
    name = "first"


class Conversation(RuleBasedStateMachine):
    """A run, and what may be done to it and its histories. Call ids are drawn from a few, as careless providers send them."""

    def __init__(self) -> None:
        super().__init__()
        self.state: State = new_state()
        self.used: set[str] = set()

    def record(self, *events: RunEvent) -> None:
        for event in events:
            self.state = apply(self.state, event)

    def open_calls(self) -> list[str]:
        turn = self.state.turn
        return [] if turn is None else [called.call_id for called in turn.calls if called.call_id not in turn.results]

    @initialize(history=histories, new=histories)
    def start(self, history: list[Item], new: list[Item]) -> None:
        from_session = paired(history)
        given_items = (*from_session, *paired(new)) if not ids(from_session) & ids(new) else from_session
        self.record(RunStarted("run", "first", given_items, len(from_session), 1.0))
        self.used = ids(given_items)

    @precondition(lambda self: self.state.turn is None or self.state.turn.response is None)
    @rule(output=st.lists(plain_items | calls(few_ids), max_size=5))
    def reply(self, output: list[Any]) -> None:
        try:
            response = with_unique_calls(ModelResponse(tuple(output), Usage(1)), self.used)
        except ModelBehaviorError:
            return
        self.used |= ids(response.output)
        self.record(ModelReplied(response, 2.0))

    @precondition(lambda self: self.state.turn is None or self.state.turn.response is None)
    @rule(partial=st.sampled_from(["", "text"]))
    def spend_an_attempt(self, partial: str) -> None:
        self.record(AttemptSpent(Usage(1), partial))

    @precondition(lambda self: self.open_calls())
    @rule(data=st.data(), content=contents, is_error=st.booleans())
    def finish_a_call(self, data: st.DataObject, content: Any, is_error: bool) -> None:
        call_id = data.draw(st.sampled_from(self.open_calls()))
        self.record(ToolsIntended((call_id,)), ToolFinished(call_id, content, is_error))

    @precondition(lambda self: self.open_calls())
    @rule(data=st.data())
    def ask_a_person(self, data: st.DataObject) -> None:
        self.record(ApprovalJudged(data.draw(st.sampled_from(self.open_calls())), True))

    @precondition(lambda self: self.open_calls())
    @rule(data=st.data())
    def lose_sight_of_a_call(self, data: st.DataObject) -> None:
        call_id = data.draw(st.sampled_from(self.open_calls()))
        self.record(ToolsIntended((call_id,)), CallsInDoubt((call_id,)))

    @precondition(lambda self: self.open_calls())
    @rule(data=st.data(), inner=st.lists(calls(few_ids), max_size=2, unique_by=lambda called: called.call_id))
    def nest_a_run(self, data: st.DataObject, inner: list[FunctionCall]) -> None:
        call_id = data.draw(st.sampled_from(self.open_calls()))
        assert self.state.turn is not None
        if call_id not in self.state.turn.children:
            reply = ModelReplied(ModelResponse(tuple(inner)), 2.0)
            asked = [ApprovalJudged(called.call_id, True) for called in inner]
            events: list[RunEvent] = [RunStarted("", "inner", (USER,), 0, 1.0), reply, *asked]
            self.record(ToolsIntended((call_id,)), *(Nested(call_id, event) for event in events))

    @precondition(lambda self: self.state.turn is not None)
    @rule(added=st.lists(st.builds(Message, st.just("user"), contents), max_size=1))
    def end_the_turn(self, added: list[Item]) -> None:
        self.record(TurnEnded(tuple(added)))

    @precondition(lambda self: self.state.turn is not None)
    @rule(data=st.data())
    def hand_off(self, data: st.DataObject) -> None:
        """With a filter that keeps any items of the view, in any order, and adds its own."""
        seen = (*self.state.view, *committed(self.state.turn))  # type: ignore[arg-type]
        kept = data.draw(st.lists(st.sampled_from(seen), max_size=6)) if seen else []
        more = data.draw(histories)
        if ids(more) & self.used:
            more = []
        self.used |= ids(more)
        self.record(HandedOff("second"), ViewReplaced(paired((*kept, *more))))

    @rule(keep=st.integers(0, 5))
    def shorten_the_view(self, keep: int) -> None:
        """As compaction does, in the middle of a turn too."""
        self.record(ViewReplaced(paired(self.state.view[keep:])))

    @rule()
    def stop(self) -> None:
        self.record(Stopped("cancelled"))

    @rule()
    def end(self) -> None:
        self.record(RunEnded("done"))

    @rule(given_items=histories)
    def replace_the_input(self, given_items: list[Item]) -> None:
        kept = ids(self.state.transcript[: self.state.history])
        run_state = RunState(self.state)
        run_state.replace_input([item for item in given_items if getattr(item, "call_id", "x") not in kept])
        self.record(*run_state.pieces()[1])
        self.used |= ids(transcript(self.state))

    @rule(approved=st.booleans())
    def decide(self, approved: bool) -> None:
        run_state = RunState(self.state)
        for item in run_state.interruptions:
            try:
                run_state.approve(item) if approved else run_state.reject(item)
            except Exception:
                run_state.retry(item) if approved else run_state.fail(item, "lost")
        assert unpaired(run_state.items()) == []
        self.record(*run_state.pieces()[1])

    @rule()
    def save_and_load(self) -> None:
        self.state = RunState.from_string(Agent(), RunState(self.state).to_string()).value
        self.used = ids(transcript(self.state)) | ids(self.state.view)

    @rule()
    def go_on_in_another_run(self) -> None:
        """What `to_input_list()` gives begins a new run."""
        given_items = items_from_input(RunState(self.state).to_input_list())
        assert paired(given_items) == given_items
        self.state = new_state()
        self.record(RunStarted("next", "first", given_items, 0, 1.0))
        self.used = ids(given_items)

    @invariant()
    def every_history_is_paired(self) -> None:
        state = self.state
        if not state.log:
            return
        assert unpaired(transcript(state)) == []
        assert unpaired(list(state.transcript)) == []
        assert unpaired(list(state.view)) == [], "what the next request holds"
        if state.turn is not None:
            assert unpaired([*state.view, *committed(state.turn)]) == [], "what the request after this turn holds"
            for child in state.turn.children.values():
                assert unpaired(transcript(child)) == []
        assert unpaired(items_from_input(RunState(state).to_input_list())) == []


def ids(history: Sequence[Item]) -> set[str]:
    return {item.call_id for item in history if isinstance(item, FunctionCall)}


TestConversation = Conversation.TestCase
TestConversation.settings = settings(stateful_step_count=25)
