"""Pairing: whatever is done to a run, every history it gives has one result per call, after the call, and no orphan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import structs

from agentsdk.core.pairing import joined, paired
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
    assert [item for item in result if not is_call_or_result(item)] == [
        item for item in given_items if not is_call_or_result(item)
    ]
    said = [(item.name, item.arguments) for item in given_items if isinstance(item, FunctionCall)]
    kept = [(item.name, item.arguments) for item in result if isinstance(item, FunctionCall)]
    assert set(kept) == set(said)
    assert is_subsequence(kept, said)


@st.composite
def rounds(draw: st.DrawFn) -> list[list[Item]]:
    """What a server that counts its call ids anew in every reply gives: each round's calls, and all their results."""
    given_rounds: list[list[Item]] = []
    for number in range(draw(st.integers(1, 5))):
        called = draw(st.lists(st.sampled_from(["call_0", "call_1", "call_0-2"]), min_size=1, max_size=3, unique=True))
        answers = draw(st.permutations([output(call_id, f"{number}/{call_id}") for call_id in called]))
        given_rounds.append([USER, *(FunctionCall(call_id, "pay", f'{{"n":{number}}}') for call_id in called), *answers])
    return given_rounds


@given(rounds())
def test_ids_that_repeat_from_round_to_round_lose_neither_call_nor_result(given_rounds: list[list[Item]]) -> None:
    given_items = [item for one in given_rounds for item in one]
    result = paired(given_items)
    assert unpaired(result) == []
    assert [without_id(item) for item in result] == [without_id(item) for item in given_items]
    number = {item.call_id: item.arguments for item in result if isinstance(item, FunctionCall)}
    for item in result:
        if isinstance(item, FunctionCallOutput):
            assert number[item.call_id] == f'{{"n":{str(item.output).split("/")[0]}}}', "each call has its own result"


@given(rounds(), st.data())
def test_what_is_made_of_a_beginning_stands_whatever_follows(given_rounds: list[list[Item]], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(given_rounds)))
    beginning = [item for one in given_rounds[:cut] for item in one]
    result = paired([item for one in given_rounds for item in one])
    assert result[: len(beginning)] == paired(beginning)


@given(rounds(), rounds())
def test_a_history_and_an_input_share_no_id(old: list[list[Item]], new: list[list[Item]]) -> None:
    history, added = ([item for one in given_rounds for item in one] for given_rounds in (old, new))
    result, count = joined(history, added)
    assert unpaired(result) == []
    known = len(added) > len(history) and added[: len(history)] == history
    assert count == len(history)
    assert len(result) == (len(added) if known else len(history) + len(added))


@given(rounds())
def test_a_callers_own_copy_of_the_history_is_not_sent_twice(given_rounds: list[list[Item]]) -> None:
    history = [item for one in given_rounds for item in one]
    for copy in (history, list(paired(history))):
        assert joined(history, [*copy, USER]) == ((*paired(history), USER), len(history))


def test_an_open_call_of_the_history_is_closed_before_what_follows() -> None:
    assert joined([call("a")], [USER]) == ((call("a"), unknown("a"), USER), 2)
    assert joined([call("a")], []) == ((call("a"), unknown("a")), 2)
    assert joined([], [call("a")]) == ((call("a"), unknown("a")), 0)
    assert joined([call("a")], [output("a", "late"), USER]) == ((call("a"), output("a", "late"), USER), 1)


def is_call_or_result(item: Item) -> bool:
    return isinstance(item, FunctionCall | FunctionCallOutput)


def is_subsequence(short: Sequence[object], long: Sequence[object]) -> bool:
    rest = iter(long)
    return all(one in rest for one in short)


def without_id(item: Item) -> Item:
    return structs.replace(item, call_id="") if isinstance(item, FunctionCall | FunctionCallOutput) else item


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
        (
            [call("a"), call("a"), output("a", "1"), output("a", "2")],
            [call("a"), call("a-2"), output("a", "1"), output("a-2", "2")],
        ),
        ([call("a"), USER, call("a"), output("a")], [call("a"), unknown("a"), USER, call("a-2"), output("a-2")]),
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
        given_items, from_session = joined(history, new)
        self.record(RunStarted("run", "first", given_items, from_session, 1.0))
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
        view = paired((*kept, *more))
        self.used |= ids(view)
        self.record(HandedOff("second"), ViewReplaced(view))

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
        run_state = RunState(self.state)
        run_state.replace_input(given_items)
        self.record(*run_state.pieces()[1])
        self.used |= ids(transcript(self.state))

    @rule(approved=st.booleans())
    def decide(self, approved: bool) -> None:
        run_state = RunState(self.state)
        for item in run_state.interruptions:
            try:
                run_state.approve(item) if approved else run_state.reject(item)
            except Exception:
                run_state.retry(item) if approved else run_state.mark_failed(item, "lost")
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
