"""A handoff is one step, and so is a compaction: no revision within them is one to go on from."""

from __future__ import annotations

import pytest

from agentsdk.core.revisions import step_start
from agentsdk.types.events import (
    AttemptSpent,
    HandedOff,
    ModelReplied,
    Nested,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    ViewReplaced,
)
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

CALLS = tuple(FunctionCall(name, name, "{}") for name in ("look", "wrong", "one", "two"))
STARTED = RunStarted("run", "first", (), 0, 1.0)
BEFORE: list[RunEvent] = [
    STARTED,
    ModelReplied(ModelResponse(CALLS), 2.0),
    ToolsIntended(("look",)),
    ToolFinished("wrong", "no such tool", True),
    ToolFinished("look", "seen"),
]
HANDOFF: list[RunEvent] = [
    ToolFinished("one", "Handed over."),
    ToolFinished("two", "Ignored.", True),
    HandedOff("second"),
    ViewReplaced(()),
]
AFTER: list[RunEvent] = [ModelReplied(ModelResponse(()), 3.0), ViewReplaced(()), TurnEnded()]
LOG = [*BEFORE, *HANDOFF, *AFTER]
START = len(BEFORE)


@pytest.mark.parametrize("revision", range(1, len(LOG) + 1))
def test_within_a_handoff_it_is_where_that_begins(revision: int) -> None:
    within = START < revision < START + len(HANDOFF)
    assert step_start(LOG, revision) == (START if within else revision)


@pytest.mark.parametrize("revision", range(1, len(LOG) + 1))
def test_a_handoff_without_a_filter(revision: int) -> None:
    log = [*BEFORE, *HANDOFF[:-1], *AFTER]
    within = START < revision < START + len(HANDOFF) - 1
    assert step_start(log, revision) == (START if within else revision)


@pytest.mark.parametrize("revision", range(len(BEFORE), len(LOG) + 2))
def test_of_a_nested_run(revision: int) -> None:
    # The outer run has begun a call of the same id: it says nothing of the nested one.
    log: list[RunEvent] = [ToolsIntended(("one",)), *(Nested("a", event) for event in LOG)]
    within = START + 1 < revision < START + 1 + len(HANDOFF)
    assert step_start(log, revision) == (START + 1 if within else revision)


def test_within_a_compaction_it_is_where_that_begins() -> None:
    compaction = [AttemptSpent(Usage(1), kind="summary"), AttemptSpent(Usage(1), kind="refused"), ViewReplaced((), "Summarize")]
    for nesting in (lambda event: event, lambda event: Nested("a", event)):
        log = [*BEFORE, *map(nesting, compaction), *AFTER]
        start = len(BEFORE)
        begins = {start + 1: start, start + 2: start}
        for revision in range(start, len(log) + 1):
            assert step_start(log, revision) == begins.get(revision, revision)
    for kind in ("reply", "discarded"):
        log = [*BEFORE, AttemptSpent(Usage(1), kind=kind), *AFTER]
        assert step_start(log, len(BEFORE) + 1) == len(BEFORE) + 1


def test_a_handoff_without_a_result_is_left_alone() -> None:
    log = [*BEFORE, HandedOff("second")]
    assert step_start(log, START) == START
