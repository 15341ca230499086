"""The tally: however a log is fed to it, at every moment it says what counting the whole log says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk.core.limits.budget import Amount
from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.core.limits.usage_tracker import UsageTracker
from agentsdk.core.state import fold
from agentsdk.types.errors import LimitKind
from agentsdk.types.events import (
    ApprovalDecided,
    AttemptSpent,
    CallRetried,
    CallsInDoubt,
    GuardrailJudged,
    HandedOff,
    InputReplaced,
    ModelReplied,
    Nested,
    RunEnded,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    unnested,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage
from tests.core.histories import logs

WATCHFUL = RunLimits(consecutive_errors=1, repeated_rounds=2, no_progress=1)
STARTED = RunStarted("run", "first", (), 0, 1.0)
ENDED = TurnEnded()


def price(usage: Usage, model: str, asked: str = "") -> Decimal | None:
    return None if model == "odd" else Decimal(usage.input_tokens + 2 * usage.output_tokens)


def replied(*output: FunctionCall | Message, usage: Usage = Usage(1, 10, 5), model: str = "") -> ModelReplied:
    return ModelReplied(ModelResponse(output, usage, model=model), 2.0)


def said(text: str) -> list[RunEvent]:
    return [replied(Message("assistant", text)), TurnEnded()]


def called(*names: str, result: str = "nothing", failed: Sequence[bool] = (False,), end: RunEvent = ENDED) -> list[RunEvent]:
    ids = [f"{number}" for number in range(len(names))]
    calls = [FunctionCall(call_id, name, "{}") for call_id, name in zip(ids, names, strict=True)]
    results = [ToolFinished(call_id, result, failed[int(call_id) % len(failed)]) for call_id in ids]
    return [replied(*calls), ToolsIntended(tuple(ids)), *results, end]


def fed(*turns: Sequence[RunEvent], limits: RunLimits = WATCHFUL) -> UsageTracker:
    tally = UsageTracker(limits, price)
    for events in turns:
        tally.feed(events)
    return tally


def kind(tally: UsageTracker, polling: Sequence[str] = ()) -> LimitKind | None:
    reached = tally.stuck(polling)
    return None if reached is None else reached.kind


def recount(log: Sequence[RunEvent]) -> tuple[Amount, int]:
    """What was spent and the failed turns at the end, each counted on its own over the whole log."""
    state = fold(log)
    events = [unnested(event) for event in log]
    usages = [
        event.response.usage if isinstance(event, ModelReplied) else event.usage for _, event in events if _is_paid(event)
    ]
    cost = Decimal(0)
    for at, (path, event) in enumerate(events):
        if _is_paid(event):
            replies = [later.response for where, later in events[at:] if where == path and isinstance(later, ModelReplied)]
            if replies:
                usage = event.response.usage if isinstance(event, ModelReplied) else event.usage
                cost += price(usage, replies[0].model) or 0
    names = {
        (path, item.call_id): item.name
        for path, event in events
        if isinstance(event, ModelReplied)
        for item in event.response.output
        if isinstance(item, FunctionCall)
    }
    calls = Counter(
        names[path, call_id]
        for path, event in events
        if isinstance(event, ToolsIntended)
        for call_id in event.call_ids
        if (path, call_id) in names  # a step of a workflow is no call of a model's
    )
    failed_turns = 0
    results: dict[str, bool] = {}
    for event in log:
        if isinstance(event, ToolFinished):
            results[event.call_id] = event.is_error
        elif isinstance(event, GuardrailJudged):
            if event.kind == "tool_output" and event.behavior == "reject_content" and event.call_id in results:
                results[event.call_id] = False
        elif isinstance(unnested(event)[1], ApprovalDecided):
            failed_turns = 0
        elif isinstance(event, InputReplaced):
            failed_turns, results = 0, {}
        elif isinstance(event, TurnEnded | HandedOff | RunEnded) and results:
            failed_turns = failed_turns + 1 if all(results.values()) else 0
            results = {}
    spent = Amount(
        state.all_turns,
        sum(usage.requests or 1 for usage in usages),
        state.usage.input_tokens,
        state.usage.output_tokens,
        cost,
        dict(calls),
    )
    return spent, failed_turns


def _is_paid(event: Any) -> bool:
    return isinstance(event, AttemptSpent) or (isinstance(event, ModelReplied) and not event.snapshot)


@settings(max_examples=40)
@given(logs(), st.data())
def test_it_is_the_recount_of_the_log_at_every_prefix(log: list[RunEvent], data: st.DataObject) -> None:
    stepwise, lazy = UsageTracker(WATCHFUL, price), UsageTracker(WATCHFUL, price)
    done = 0
    for at in range(1, len(log) + 1):
        stepwise.feed(log[at - 1 : at])
        assert (stepwise.spent, stepwise.failed_turns) == recount(log[:at])
        if at == len(log) or data.draw(st.booleans()):
            lazy.feed(log[done:at])
            done = at
            assert lazy.failed_turns == stepwise.failed_turns
            assert lazy.stuck() == stepwise.stuck() == fed(log[:at]).stuck()
    assert lazy.spent == stepwise.spent
    assert lazy.unpriced == stepwise.unpriced


def test_limits_that_are_not_set_are_not_reached() -> None:
    turns = [called("pay", failed=[True])] * 9
    limits = RunLimits(consecutive_errors=None, repeated_rounds=None)
    assert fed(*turns, *[said("Hm.")] * 9, limits=limits).stuck() is None
    assert kind(fed(*turns, limits=RunLimits())) == "consecutive_errors"


def test_turns_in_which_every_call_failed_are_counted() -> None:
    failed = called("pay", "read", failed=[True])
    some = called("pay", "read", failed=[True, False])
    tally = fed(failed, failed, limits=RunLimits())
    assert (tally.failed_turns, kind(tally)) == (2, None)
    tally.feed(said("Let me try again."))
    assert tally.failed_turns == 2, "a turn without calls is neither"
    tally.feed(failed)
    reached = tally.stuck()
    assert reached is not None
    assert (reached.kind, reached.used, reached.limit, reached.limits) == ("consecutive_errors", 3, 3, RunLimits())
    tally.feed(some)
    assert (tally.failed_turns, kind(tally)) == (0, None)


LOOPING = called("pay", result="no")


def test_rounds_are_counted_and_what_is_said_in_between_does_not_end_them() -> None:
    tally = fed(LOOPING, LOOPING, said("Once more."), limits=RunLimits())
    assert kind(tally) is None
    tally.feed(LOOPING)
    reached = tally.stuck()
    assert reached is not None
    assert (reached.kind, reached.used, reached.limit, reached.what) == ("repeated_rounds", 3, 3, "'pay'")


def test_handing_over_in_a_circle_is_a_loop() -> None:
    there = called("to_second", end=HandedOff("second"))
    back = called("to_first", end=HandedOff("first"))
    assert kind(fed(there, back, there, back, there, limits=RunLimits())) is None
    reached = fed(*[there, back] * 3, limits=RunLimits()).stuck()
    assert reached is not None
    assert (reached.kind, reached.what) == ("repeated_rounds", "'to_second', then 'to_first'")


def test_a_polling_tool_is_there_to_be_called_again() -> None:
    tally = fed(*[LOOPING] * 4, limits=RunLimits(no_progress=2))
    assert kind(tally) == "repeated_rounds"
    assert kind(tally, ["read"]) == "repeated_rounds"
    assert kind(tally, ["pay"]) is None


def test_turns_that_bring_nothing_new_are_counted() -> None:
    limits = RunLimits(repeated_rounds=None, no_progress=2)
    tally = fed(called("pay"), called("pay"), limits=limits)
    assert kind(tally) is None
    tally.feed(called("pay"))
    reached = tally.stuck()
    assert reached is not None
    assert (reached.kind, reached.used, reached.limit) == ("no_progress", 2, 2)
    assert kind(fed(said("Hm."), said("Hm."), said("Hm."), limits=limits)) == "no_progress"


@pytest.mark.parametrize(
    "event",
    [
        InputReplaced((Message("user", "now this"),)),
        ApprovalDecided("0", "pay", "", True),
        Nested("0", Nested("1", ApprovalDecided("0", "pay", "", True))),
    ],
    ids=["input", "decision", "nested decision"],
)
def test_another_input_and_a_persons_decision_begin_anew(event: RunEvent) -> None:
    limits = RunLimits(no_progress=2)
    tally = fed(*[called("pay", failed=[True])] * 3, limits=limits)
    assert kind(tally) is not None
    tally.feed([event])
    assert (kind(tally), tally.failed_turns) == (None, 0)
    tally.feed([event, *said("Hm.")])
    unwatched = fed([event], limits=RunLimits(repeated_rounds=None))
    assert unwatched.stuck() is None


def test_another_input_voids_the_open_turn() -> None:
    begun = called("pay", failed=[True])[:-1]
    tally = fed([*begun, InputReplaced(()), *said("Hm.")], limits=RunLimits(consecutive_errors=1))
    assert tally.stuck() is None


def test_a_nested_runs_turns_are_its_own() -> None:
    inner = [Nested("0", event) for event in called("dig", failed=[True]) * 5]
    outer: list[RunEvent] = [replied(FunctionCall("0", "helper", "{}")), ToolsIntended(("0",)), *inner]
    tally = fed(outer)
    assert (tally.stuck(), tally.failed_turns) == (None, 0)
    assert tally.spent.calls == {"helper": 1, "dig": 5}
    assert tally.spent.tool_calls == 6


BEGUN: list[RunEvent] = [
    STARTED,
    replied(FunctionCall("a", "pay", "{}"), FunctionCall("b", "pay", "{}")),
    ToolsIntended(("a", "b")),
]


def test_a_call_whose_body_never_began_is_taken_back() -> None:
    assert fed(BEGUN).spent.calls == {"pay": 2}
    assert fed([*BEGUN, CallRetried("a")]).spent.calls == {"pay": 1}
    assert fed([*BEGUN, CallRetried("a"), ToolsIntended(("a",))]).spent.calls == {"pay": 2}


def test_a_call_in_doubt_that_is_run_again_counts_twice() -> None:
    doubted = [*BEGUN, CallsInDoubt(("a",)), CallRetried("a")]
    assert fed(doubted).spent.calls == {"pay": 2}
    again = [*doubted, ToolsIntended(("a",))]
    assert fed(again).spent.calls == {"pay": 3}
    assert fed([*again, CallRetried("a")]).spent.calls == {"pay": 2}, "not in doubt the second time"


def test_a_step_that_runs_again_is_no_call_of_a_model() -> None:
    assert fed([STARTED, CallRetried("step"), ToolsIntended(("step",))]).spent.calls == {}


def test_a_reply_is_one_request_at_least() -> None:
    assert fed([STARTED, replied(usage=Usage()), AttemptSpent(Usage(3))]).spent.requests == 4


def test_an_attempt_costs_what_the_reply_it_led_to_costs() -> None:
    tally = fed([STARTED, AttemptSpent(Usage(1, 7, 1)), Nested("a", replied()), AttemptSpent(Usage(1, 1, 0))])
    assert tally.spent.cost == 20
    tally.feed([replied()])
    assert tally.spent.cost == 20 + 20 + 9 + 1


def test_models_without_a_price_are_noted() -> None:
    tally = fed([STARTED, AttemptSpent(Usage(1, 1)), replied(model="odd"), replied(model="known")])
    assert (tally.spent.cost, tally.unpriced) == (Decimal(20), {"odd"})


def test_without_a_price_nothing_costs() -> None:
    tally = UsageTracker(RunLimits())
    tally.feed([STARTED, replied(model="odd")])
    assert (tally.spent, tally.unpriced) == (Amount(1, 1, 10, 5), frozenset())


def test_an_attempt_that_names_its_model_is_paid_for_by_that() -> None:
    tally = UsageTracker(WATCHFUL, price)
    tally.feed([AttemptSpent(Usage(1, 10, 5), "", "summary", "odd"), replied(Message("assistant", "x"), model="odd")])
    assert "odd" in tally.unpriced
