"""Limits: what can be given, how one is raised, what is said when one is reached; and when the turn limit is."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_args

import pytest

from agentsdk.core.limits.run_limits import Reached, RunLimits, allowed_number, limit_error, turns_reached, with_raised
from agentsdk.core.state import State, fold
from agentsdk.types.errors import (
    ConsecutiveErrorsExceededError,
    CostLimitExceededError,
    DeadlineExceededError,
    LimitExceededError,
    LimitKind,
    MaxTurnsExceeded,
    NoProgressError,
    RepeatedCallsError,
    RequestLimitExceededError,
    TokenLimitExceededError,
    ToolCallLimitExceededError,
    UserError,
)
from agentsdk.types.events import AttemptSpent, LimitRaised, ModelReplied, Nested, RunEvent, RunStarted, TurnEnded
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

STARTED = RunStarted("run", "first", (), 0, 1.0)


def after(turns: int, nested: int = 0) -> State:
    """A run after some turns, and some more of a nested run."""
    reply = ModelReplied(ModelResponse((Message("assistant", "x"),)), 2.0)
    log: list[RunEvent] = [STARTED, AttemptSpent(Usage(1))]
    if nested:
        turns -= 1
        log += [ModelReplied(ModelResponse((FunctionCall("a", "agent", "{}"),)), 2.0), Nested("a", STARTED)]
        log += [Nested("a", event) for _ in range(nested) for event in (reply, TurnEnded())]
        log.append(TurnEnded())
    return fold([*log, *(event for _ in range(turns) for event in (reply, TurnEnded()))])


@pytest.mark.parametrize(("turns", "nested"), [(1, 0), (2, 0), (5, 0), (1, 1), (2, 3)])
def test_reached_exactly_when_the_turns_are_spent(turns: int, nested: int) -> None:
    state = after(turns, nested)
    assert turns_reached(RunLimits(turns=turns + nested + 1), state) is None
    assert turns_reached(RunLimits(turns=None), state) is None
    assert turns_reached(RunLimits(turns=turns + nested + 1), state, 1) is not None
    for limit in {1, turns + nested}:
        reached = turns_reached(RunLimits(turns=limit), state)
        assert reached is not None
        error = limit_error(reached, "first")
        assert isinstance(error, MaxTurnsExceeded)
        assert f"'first' took {turns + nested} turns" in str(error)
        assert f"at most {limit}" in str(error)


def test_an_attempt_that_gave_no_reply_is_no_turn() -> None:
    assert turns_reached(RunLimits(turns=1), fold([STARTED, AttemptSpent(Usage(1)), AttemptSpent(Usage(1), "cut")])) is None


def test_twenty_turns_three_failed_ones_and_three_rounds_by_default() -> None:
    assert RunLimits() == RunLimits(turns=20, consecutive_errors=3, repeated_rounds=3)


@pytest.mark.parametrize("cost", [Decimal("2.50"), "2.50", " 2.5 "])
def test_a_cost_is_kept_as_a_decimal(cost: Decimal | str) -> None:
    assert RunLimits(cost=cost) == RunLimits(cost=Decimal("2.5"))
    assert isinstance(RunLimits(cost=2).cost, Decimal)


COUNTS = ["turns", "requests", "input_tokens", "output_tokens", "tokens", "tool_calls", "consecutive_errors", "no_progress"]
NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        *((field, value, "at least 1 or None") for field in COUNTS for value in (0, -1, True, 2.0, "3")),
        *(("repeated_rounds", value, "at least 2 or None") for value in (1, 0, True)),
        *(
            (field, value, "at least 1;")
            for field in ("output_tokens_per_request", "reserved_output_tokens")
            for value in (0, None, False)
        ),
        *(
            (field, value, "seconds above 0")
            for field in ("deadline", "active_time")
            for value in (0, -1.5, NAN, INFINITE, True, "1")
        ),
        *(("warn_at", value, "a fraction above 0") for value in (0, 1.01, NAN, True, None)),
        *(("cost", value, "US dollars above 0") for value in (0, "-1", "much", "nan", "Infinity", Decimal("sNaN"), False, [])),
        ("cost", 2.5, "a float is not exact; write cost='2.5'"),
        ("calls_per_tool", 3, "a mapping of tool names to counts"),
        ("calls_per_tool", None, "a mapping of tool names to counts"),
    ],
    ids=repr,
)
def test_what_is_no_limit_is_refused(field: str, value: Any, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        RunLimits(**{field: value})
    assert str(caught.value).startswith(f"RunLimits({field}={value!r}), expected ")
    assert expected in str(caught.value)


def test_the_tools_of_calls_per_tool_are_named() -> None:
    with pytest.raises(UserError, match=r"calls_per_tool=.*expected a mapping of tool names to counts"):
        RunLimits(calls_per_tool={5: 1})  # type: ignore[dict-item]


@pytest.mark.parametrize("count", [0, -1, True, None, 1.5])
def test_each_tool_of_calls_per_tool_has_a_count(count: Any) -> None:
    with pytest.raises(UserError, match=r"calls_per_tool\['search'\]=.* expected at least 1;"):
        RunLimits(calls_per_tool={"pay": 1, "search": count})


def test_a_deadline_may_be_any_finite_time() -> None:
    assert RunLimits(deadline=0.5, active_time=10**400) == RunLimits(deadline=0.5, active_time=10**400)


def test_counts_per_tool_are_the_limits_own() -> None:
    counts = {"search": 2}
    limits = RunLimits(calls_per_tool=counts)
    counts["search"] = 5
    assert limits.calls_per_tool == {"search": 2}


def test_a_limit_is_raised_or_lifted_and_the_others_stay() -> None:
    limits = RunLimits(tokens=1000, cost="1", deadline=60)
    assert limits.raised("tokens", 2000) == RunLimits(tokens=2000, cost="1", deadline=60)
    assert limits.raised("cost", "1.50") == RunLimits(tokens=1000, cost="1.5", deadline=60)
    assert limits.raised("turns", None) == RunLimits(turns=None, tokens=1000, cost="1", deadline=60)
    per_tool = RunLimits(calls_per_tool={"search": 2, "pay": 1})
    assert per_tool.raised("calls_per_tool", {"search": 3}).calls_per_tool == {"search": 3, "pay": 1}
    assert per_tool.raised("calls_per_tool", None).calls_per_tool == {}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("tokens", 1000, "'tokens' was to be raised to 1000, expected more than 1000"),
        ("tokens", 10, "expected more than 1000"),
        ("cost", "0.5", "raised to '0.5', expected more than Decimal"),
        ("requests", 5, "expected more than None"),
        ("tokens", 0, "expected at least 1 or None"),
        ("calls_per_tool", {"search": 1}, "'calls_per_tool' was to be raised"),
        ("calls_per_tool", 7, "expected a mapping of tool names to counts"),
        ("output_tokens_per_request", 7, "there is no limit 'output_tokens_per_request', expected one of"),
    ],
)
def test_a_limit_that_is_not_raised_is_refused(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        RunLimits(tokens=1000, cost="1", calls_per_tool={"search": 2}).raised(kind, value)


ERRORS: dict[LimitKind, tuple[type[LimitExceededError], str]] = {
    "turns": (MaxTurnsExceeded, "took 2 turns without a final output, expected at most 7; resume error.state with a higher"),
    "requests": (RequestLimitExceededError, "made 2 requests, expected at most 7"),
    "input_tokens": (TokenLimitExceededError, "used 2 input tokens and needs 6 more, expected at most 7"),
    "output_tokens": (TokenLimitExceededError, "used 2 output tokens and needs 6 more, expected at most 7"),
    "tokens": (TokenLimitExceededError, "used 2 tokens and needs 6 more, expected at most 7"),
    "cost": (CostLimitExceededError, "cost 2 US dollars and needs 6 more, expected at most 7"),
    "deadline": (DeadlineExceededError, "ran for 2 seconds"),
    "active_time": (DeadlineExceededError, "worked for 2 seconds, waits for rate limits aside"),
    "tool_calls": (ToolCallLimitExceededError, "made 2 tool calls and needs 6 more, expected at most 7"),
    "calls_per_tool": (ToolCallLimitExceededError, "called tool 'pay' 2 times and needs 6 more, expected at most 7"),
    "consecutive_errors": (
        ConsecutiveErrorsExceededError,
        "took 2 turns running in which every call failed, expected fewer than 7",
    ),
    "repeated_rounds": (RepeatedCallsError, "called pay 2 times running with the same results, expected fewer than 7"),
    "no_progress": (NoProgressError, "took 2 turns running that brought nothing new, expected fewer than 7"),
}


@pytest.mark.parametrize("kind", get_args(LimitKind))
def test_each_limit_has_its_error(kind: LimitKind) -> None:
    asked = 0 if kind in ("deadline", "active_time", "consecutive_errors", "repeated_rounds", "no_progress") else 6
    error = limit_error(Reached(kind, 2, 7, RunLimits(), asked, "pay"), "clerk")
    expected, words = ERRORS[kind]
    assert type(error) is expected
    assert (error.kind, error.used, error.limit) == (kind, 2, 7)
    assert str(error).startswith("run of agent 'clerk' ")
    assert words in str(error)
    assert "; resume error.state with " in str(error)
    assert ("polling=True" in str(error)) == (kind == "repeated_rounds")


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [("turns", "40", 40), ("cost", "2.50", Decimal("2.50")), ("deadline", "1.5", 1.5), ("tokens", None, None)],
)
def test_a_limit_is_read_from_its_text(kind: str, text: str | None, number: object) -> None:
    assert allowed_number(kind, text) == number


@pytest.mark.parametrize(
    ("kind", "text"),
    [("turns", "many"), ("turns", "0"), ("turns", "1.5"), ("cost", "x"), ("cost", "-1"), ("deadline", "inf"), ("", "1")],
)
def test_what_is_no_limit_is_not_read(kind: str, text: str) -> None:
    with pytest.raises(UserError):
        allowed_number(kind, text)


def test_counts_per_tool_are_no_one_number() -> None:
    with pytest.raises(UserError, match="expected a limit that is one number"):
        allowed_number("calls_per_tool", "3")


def test_what_a_person_allowed_counts_where_it_is_more() -> None:
    raised = [LimitRaised("turns", "30"), LimitRaised("turns", "25"), LimitRaised("cost", "3"), LimitRaised("tokens", None)]
    limits = with_raised(RunLimits(turns=20, cost="2.50", tokens=100, requests=7), raised)
    assert (limits.turns, limits.cost, limits.tokens, limits.requests) == (30, Decimal(3), None, 7)
    higher = RunLimits(turns=50, cost=5, tokens=None)
    assert with_raised(higher, raised) == higher
    assert with_raised(higher, []) is higher
