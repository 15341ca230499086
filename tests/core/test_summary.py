"""What a store is told of a run: the row that says where it stands."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec import structs

from agentsdk.core.limits.totals import follow
from agentsdk.core.state import apply, fold
from agentsdk.core.summary import status_of, summarize
from agentsdk.types.events import (
    AnswerAwaited,
    ApprovalDecided,
    ApprovalJudged,
    AttemptSpent,
    CallAnswered,
    LimitReachedEvent,
    ModelReplied,
    Nested,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    RunUnpaused,
    SignalsTaken,
    StepBegan,
    Stopped,
    TimeSpent,
    ToolFinished,
    TurnEnded,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.summary import Phase, RunStatus, RunSummary
from agentsdk.types.usage import Usage

STARTED = RunStarted("run-1", "clerk", (Message("user", "go"),), 0, 5.0, "f", "run-0")
CALLED = ModelReplied(ModelResponse((FunctionCall("c1", "pay", "{}"),), Usage(1, 10, 4), "tool_calls"), 6.0)
SAID = ModelReplied(ModelResponse((Message("assistant", "so far"),), Usage(1, 10, 4)), 6.0)
LAST = structs.replace(SAID, is_last=True)
ASKED = ApprovalJudged("c1", True)
DECIDED = ApprovalDecided("c1", "pay", "digest", True)
IN_HELPER = [Nested("c1", event) for event in (RunStarted("", "helper", (), 0, 5.5), CALLED, ASKED)]


@pytest.mark.parametrize(
    ("events", "status", "reason"),
    [
        ([], "ready", ""),
        ([CALLED, ASKED], "waiting", ""),
        ([CALLED, ASKED, DECIDED], "ready", ""),
        ([CALLED, ASKED, Stopped("ModelError", "no")], "waiting", "ModelError"),
        ([CALLED, ASKED, Stopped("ModelError", "no"), DECIDED], "ready", ""),
        ([CALLED, *IN_HELPER, Stopped("ModelError", "no")], "waiting", "ModelError"),
        ([CALLED, *IN_HELPER, Stopped("ModelError", "no"), Nested("c1", DECIDED)], "ready", ""),
        ([CALLED, ASKED, Stopped("CancelledError")], "ready", "CancelledError"),
        ([CALLED, Stopped("CancelledError", by="ada")], "cancelled", "CancelledError"),
        ([CALLED, Stopped("CancelledError", by="ada"), ToolFinished("c1", "late")], "cancelled", "CancelledError"),
        ([CALLED, *IN_HELPER[:1], Stopped("CancelledError", by="ada"), *IN_HELPER[1:]], "cancelled", "CancelledError"),
        ([CALLED, Stopped("CancelledError", by="ada"), RunResumed("o", 7.0)], "ready", ""),
        ([RunPaused("ada")], "waiting", ""),
        ([RunPaused("ada"), RunUnpaused("bob")], "ready", ""),
        ([LimitReachedEvent("turns")], "ready", "turns"),
        ([LimitReachedEvent("turns"), Stopped("MaxTurnsExceeded")], "failed", "MaxTurnsExceeded"),
        ([LimitReachedEvent("turns"), LAST, RunEnded("so far")], "finished", "turns"),
        ([LimitReachedEvent("turns"), RunEnded("handled", True, True)], "finished", "turns"),
        ([LimitReachedEvent("turns"), CALLED], "ready", ""),
        ([LimitReachedEvent("turns"), SAID, RunEnded("went on")], "finished", ""),
        ([SAID, LimitReachedEvent("deadline"), RunEnded("in the same turn")], "finished", ""),
        ([LimitReachedEvent("turns", "1", "1", True)], "waiting", "turns"),
        ([Stopped("CancelledError"), RunResumed("o", 7.0)], "ready", ""),
        ([Stopped("CancelledError"), RunEnded("done")], "finished", ""),
    ],
)
def test_a_run_that_stopped_says_why(events: list[RunEvent], status: RunStatus, reason: str) -> None:
    state = fold([STARTED, *events])
    summary = summarize(state, now=9.0, owner="me", held_until=9.0)
    assert (summary.status, summary.reason, summary.rev) == (status, reason, 1 + len(events))
    assert status_of(state) == status
    held = summarize(fold([STARTED, *events]), now=9.0, owner="me", held_until=9.5)
    assert held.status == "running"


def test_the_summary_counts_what_the_run_has_spent() -> None:
    assert summarize(fold([STARTED, CALLED, ASKED]), now=9.0, owner="me", held_until=39.0) == RunSummary(
        run_id="run-1",
        rev=3,
        status="running",
        agent="clerk",
        started_at=5.0,
        updated_at=9.0,
        turns=1,
        requests=1,
        input_tokens=10,
        output_tokens=4,
        waiting=1,
        forked_from="run-0",
        owner="me",
        held_until=39.0,
        first_agent="clerk",
        phase="act",
        due_at=39.0,
    )


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ([], "prepare"),
        ([AttemptSpent(Usage(1), kind="refused")], "ask"),
        ([CALLED], "act"),
        ([StepBegan("s", "pay", "{}")], "act"),
        ([CALLED, ToolFinished("c1", "paid")], "judge"),
        ([CALLED, ToolFinished("c1", "paid"), TurnEnded()], "prepare"),
    ],
)
def test_the_summary_says_what_a_run_in_work_is_at(events: list[RunEvent], phase: Phase) -> None:
    state = fold([STARTED, *events])
    assert summarize(state, now=9.0, owner="me", held_until=39.0).phase == phase
    assert summarize(state, now=9.0, owner="me", held_until=9.0).phase == ""


def test_the_summary_says_when_a_worker_may_take_the_run() -> None:
    submitted = structs.replace(STARTED, due_at=20.0, priority=3, metadata={"user": "ada"})
    summary = summarize(fold([submitted]), now=9.0, owner="", held_until=9.0)
    assert (summary.status, summary.due_at, summary.priority, summary.metadata) == ("ready", 20.0, 3, {"user": "ada"})
    assert summarize(fold([submitted]), now=30.0, owner="", held_until=30.0).due_at == 30.0
    assert summarize(fold([submitted]), now=9.0, owner="me", held_until=39.0).due_at == 39.0
    waits = summarize(fold([STARTED, CALLED, ASKED, SignalsTaken(4)]), now=9.0, owner="me", held_until=9.0)
    assert (waits.status, waits.due_at, waits.taken) == ("waiting", 0.0, 4)


@pytest.mark.parametrize(
    ("events", "due_at"),
    [
        ([AnswerAwaited("c1", 7.0)], 0.0),
        ([AnswerAwaited("c1", 7.0, 20.0)], 20.0),
        ([AnswerAwaited("c1", 7.0, 8.0)], 8.0),
        ([AnswerAwaited("c1", 7.0, 20.0), RunPaused("ada")], 0.0),
        ([AnswerAwaited("c1", 7.0, 20.0), LimitReachedEvent("turns", "1", "1", True)], 0.0),
        ([AnswerAwaited("c1", 7.0, 20.0), Stopped("ModelError")], 0.0),
        ([AnswerAwaited("c1", 7.0, 20.0), Stopped("ModelError"), CallAnswered("c1", "1")], 9.0),
    ],
)
def test_a_run_that_waits_for_an_answer_is_due_when_it_waits_no_more(events: list[RunEvent], due_at: float) -> None:
    summary = summarize(fold([STARTED, CALLED, *events]), now=9.0, owner="me", held_until=9.0)
    answered = any(isinstance(event, CallAnswered) for event in events)
    assert (summary.status, summary.due_at) == ("ready" if answered else "waiting", due_at)


def test_the_summary_of_a_run_that_is_over_says_when_and_how() -> None:
    failed = summarize(fold([STARTED, Stopped("ModelError", "no answer")]), now=9.0, owner="me", held_until=9.0)
    assert (failed.status, failed.error, failed.ended_at) == ("failed", "no answer", 0.0)
    ended = summarize(fold([STARTED, SAID, TimeSpent(4.0, 3.0), RunEnded("x", at=8.5)]), now=9.0, owner="me", held_until=9.0)
    assert (ended.status, ended.error, ended.ended_at, ended.elapsed) == ("finished", "", 8.5, 4.0)


def test_the_summary_says_what_a_followed_log_has_cost() -> None:
    def price(usage: Usage, model: str, asked: str = "") -> Decimal | None:
        return None if model == "odd" else Decimal("0.10")

    state = fold([STARTED])
    assert summarize(state, now=9.0, owner="me", held_until=9.0).cost is None, "nobody knows the prices"
    follow(state.log, price)
    for event, cost in ((CALLED, "0.10"), (ASKED, "0.10"), (DECIDED, "0.10")):
        state = apply(state, event)
        summary = summarize(state, now=9.0, owner="me", held_until=9.0)
        assert (summary.paid, summary.cost) == (cost, Decimal(cost))
    before, state = state, apply(state, TurnEnded())
    odd = apply(state, ModelReplied(ModelResponse((), Usage(1, 1, 1), model="odd"), 7.0))
    assert summarize(odd, now=9.0, owner="me", held_until=9.0).cost is None
    assert summarize(before, now=9.0, owner="me", held_until=9.0).cost == Decimal("0.10"), "a shorter log of the same cells"


def test_other_prices_are_followed_from_the_start() -> None:
    log = fold([STARTED, CALLED]).log
    assert follow(log, lambda usage, model, asked="": Decimal(1)).total == 1
    assert follow(log, lambda usage, model, asked="": Decimal(2)).total == 2
