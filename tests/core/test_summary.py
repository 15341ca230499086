"""What a store is told of a run: the row that says where it stands."""

from __future__ import annotations

import pytest

from agentsdk.core.state import fold
from agentsdk.core.summary import summarise
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    LimitHit,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunResumed,
    RunStarted,
    Stopped,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.summary import RunStatus, RunSummary
from agentsdk.types.usage import Usage

STARTED = RunStarted("run-1", "clerk", (Message("user", "go"),), 0, 5.0, "f", "run-0")
CALLED = ModelReplied(ModelResponse((FunctionCall("c1", "pay", "{}"),), Usage(1, 10, 4), "tool_calls"), 6.0)
ASKED = ApprovalJudged("c1", True)
DECIDED = ApprovalDecided("c1", "pay", "digest", True)


@pytest.mark.parametrize(
    ("events", "status", "reason"),
    [
        ([], "stopped", ""),
        ([CALLED, ASKED], "waiting", ""),
        ([CALLED, ASKED, DECIDED], "stopped", ""),
        ([LimitHit("turns")], "stopped", "turns"),
        ([LimitHit("turns"), Stopped("MaxTurnsExceeded")], "stopped", "MaxTurnsExceeded"),
        ([Stopped("CancelledError"), RunResumed("o", 7.0)], "stopped", ""),
        ([Stopped("CancelledError"), RunEnded("done")], "finished", ""),
    ],
)
def test_a_run_at_rest_says_why_it_rests(events: list[RunEvent], status: RunStatus, reason: str) -> None:
    summary = summarise(fold([STARTED, *events]), now=9.0, owner="me", held_until=9.0)
    assert (summary.status, summary.reason, summary.rev) == (status, reason, 1 + len(events))
    held = summarise(fold([STARTED, *events]), now=9.0, owner="me", held_until=9.5)
    assert held.status == "running"


def test_the_summary_counts_what_the_run_has_spent() -> None:
    assert summarise(fold([STARTED, CALLED, ASKED]), now=9.0, owner="me", held_until=39.0) == RunSummary(
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
    )
