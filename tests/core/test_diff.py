"""Where two runs part: what is a difference, what is none, and how it is told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from agentsdk.core.diff import MAX_SHOWN_CHARS, NOTHING, Divergence, RunDiff, diff
from agentsdk.core.limits.totals import RunTotals
from agentsdk.core.state import fold
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    AttemptSpent,
    CallRetried,
    CallsInDoubt,
    ContextSaved,
    GuardrailJudged,
    HandedOff,
    InputAdded,
    InputReplaced,
    LimitReachedEvent,
    ModelReplied,
    Nested,
    OutputJudged,
    OutputValidated,
    RunEnded,
    RunEvent,
    RunResumed,
    RunStarted,
    SessionSaved,
    StepBegan,
    Stopped,
    ToolFinished,
    ToolsIntended,
    ToolUseJudged,
    TurnEnded,
    ViewReplaced,
    ViewRestored,
)
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputImage,
    Message,
    ProviderItem,
    Reasoning,
)
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.usage import Usage
from tests.core.histories import logs


def free(usage: Usage, model: str, asked: str = "") -> Decimal | None:
    return Decimal(usage.requests)


def replied(*output: OutputItem, usage: Usage = Usage(1, 10, 5)) -> ModelReplied:
    return ModelReplied(ModelResponse(output, usage), 2.0)


def said(text: str) -> ModelReplied:
    return replied(Message("assistant", text))


HELLO = Message("user", "hi")
STARTED = RunStarted("a", "first", (HELLO,), 0, 1.0)
ASKED = replied(FunctionCall("c1", "pay", '{"x": 1}'), FunctionCall("c2", "read", "{}"))
TURN: list[RunEvent] = [ASKED, ToolsIntended(("c1", "c2")), ToolFinished("c1", "paid"), ToolFinished("c2", "text")]
LOG: list[RunEvent] = [STARTED, *TURN, TurnEnded(), said("done"), RunEnded("done")]


def compared(a: list[RunEvent], b: list[RunEvent]) -> RunDiff:
    return diff(fold(a), fold(b), free)


OTHER_CALLS = (FunctionCall("d1", "pay", '{"x":1}', "i1"), FunctionCall("d2", "read", " {} "))

SAME: dict[str, list[RunEvent]] = {
    "itself": LOG,
    "other ids and times": [
        RunStarted("b", "first", (structs.replace(HELLO, id="m1"),), 1, 9.0, "f", "a"),
        ModelReplied(ModelResponse(OTHER_CALLS, Usage(1), "unknown", "r", "m"), 9.0, ("other",)),
        ToolsIntended(("d1", "d2")),
        ToolFinished("d1", "paid"),
        ToolFinished("d2", "text"),
        TurnEnded((Message("user", "again"),)),
        said("done"),
        RunEnded("done"),
    ],
    "results in another order": [STARTED, ASKED, *TURN[1:2], *TURN[:1:-1], *LOG[5:]],
    "crashes, resumes, saves": [
        STARTED,
        SessionSaved(1),
        ContextSaved("c"),
        RunResumed("me", 3.0),
        AttemptSpent(Usage(1)),
        ASKED,
        ApprovalJudged("c1", True),
        ApprovalDecided("c1", "pay", "", True),
        ToolsIntended(("c1", "c2")),
        CallsInDoubt(("c1",)),
        CallRetried("c1"),
        ToolsIntended(("c1",)),
        *TURN[2:],
        LimitReachedEvent("turns"),
        Stopped("error"),
        *LOG[5:],
    ],
}


@pytest.mark.parametrize("name", SAME)
def test_no_difference(name: str) -> None:
    there, back = compared(LOG, SAME[name]), compared(SAME[name], LOG)
    assert (there.divergence, back.divergence) == (None, None)
    assert there.revision_b == len(SAME[name])
    assert str(there).startswith(f"runs 'a' and {there.b!r} did the same; turns +0, tool calls +0, tokens ")


# Each: what stands in place of the log's tail from a revision on, and what is said of that and of the log there.
PARTED: dict[str, tuple[list[RunEvent], Divergence, int]] = {
    "another input": (
        [RunStarted("b", "first", (Message("user", "ho"),), 0, 1.0)],
        Divergence(0, 1, "first", "begins with agent 'first' and 1 items", "begins with agent 'first' and 1 items"),
        0,
    ),
    "another agent": (
        [RunStarted("b", "second", (), 0, 1.0)],
        Divergence(0, 1, "first", "begins with agent 'first' and 1 items", "begins with agent 'second' and 0 items"),
        0,
    ),
    "other arguments": (
        [STARTED, replied(FunctionCall("c1", "pay", '{"x":2}'), FunctionCall("c2", "read", "{}"))],
        Divergence(1, 1, "first", 'calls pay({"x": 1}), read({})', 'calls pay({"x":2}), read({})'),
        1,
    ),
    "a text in place of calls": (
        [STARTED, RunResumed("me", 1.0), said("no")],
        Divergence(1, 1, "first", 'calls pay({"x": 1}), read({})', "says 'no'"),
        2,
    ),
    "another result, past one that came earlier": (
        [STARTED, *TURN[:2], TURN[3], ToolFinished("c1", "broke", True), TurnEnded()],
        Divergence(3, 1, "first", "'pay' gave 'paid'", "'pay' failed with 'broke'"),
        4,
    ),
    "a picture as result": (
        [STARTED, *TURN[:2], ToolFinished("c1", (InputImage("x"),))],
        Divergence(3, 1, "first", "'pay' gave 'paid'", "'pay' gave something else than text"),
        3,
    ),
    "a result is missing": ([STARTED, *TURN[:3]], Divergence(4, 1, "first", "'read' gave 'text'", NOTHING), 4),
    "a turn is missing": (LOG[:6], Divergence(6, 2, "first", "says 'done'", NOTHING), 6),
    "a handoff": (
        [*LOG[:5], HandedOff("second"), said("done")],
        Divergence(6, 1, "first", NOTHING, "hands over to 'second'"),
        5,
    ),
    "another output": ([*LOG[:7], RunEnded("other")], Divergence(7, 2, "first", "ends with 'done'", "ends with 'other'"), 7),
    "a guardrail": (
        [*LOG[:7], GuardrailJudged("polite", "output", "raise_exception")],
        Divergence(7, 2, "first", "ends with 'done'", "output guardrail 'polite' says 'raise_exception'"),
        7,
    ),
    "a tool guardrail": (
        [*LOG[:3], GuardrailJudged("sane", "tool_output", "allow", call_id="c1"), *LOG[3:]],
        Divergence(6, 1, "first", NOTHING, "tool output guardrail 'sane' says 'allow'"),
        3,
    ),
    "results that are not final": (
        [*LOG[:5], ToolUseJudged(False), *LOG[5:]],
        Divergence(6, 1, "first", NOTHING, "the results are not the final output"),
        5,
    ),
    "results that are final": (
        [*LOG[:5], ToolUseJudged(True), RunEnded("null", True)],
        Divergence(6, 1, "first", NOTHING, "the results are the final output"),
        5,
    ),
    "an output that fits": (
        [*LOG[:7], OutputJudged(""), *LOG[7:]],
        Divergence(8, 2, "first", NOTHING, "the output fits its type"),
        7,
    ),
    "an output that does not": (
        [*LOG[:7], OutputJudged("no"), TurnEnded()],
        Divergence(7, 2, "first", "ends with 'done'", "the output does not fit its type"),
        7,
    ),
    "an output that a validator accepts": (
        [*LOG[:7], OutputValidated("short"), *LOG[7:]],
        Divergence(8, 2, "first", NOTHING, "output validator 'short' accepts the output"),
        7,
    ),
    "an output that a validator sends back": (
        [*LOG[:7], OutputValidated("short", "too long"), TurnEnded()],
        Divergence(7, 2, "first", "ends with 'done'", "output validator 'short' sends the output back"),
        7,
    ),
    "another view": (
        [*LOG[:6], ViewReplaced((HELLO,)), *LOG[6:]],
        Divergence(8, 2, "first", NOTHING, "the model sees 1 items"),
        6,
    ),
    "a compaction taken back": (
        [*LOG[:6], ViewReplaced((HELLO,), "DropOldest"), ViewRestored(), *LOG[6:]],
        Divergence(8, 2, "first", NOTHING, "the model sees 1 items"),
        6,
    ),
    "messages that arrive": (
        [*LOG[:6], InputAdded((HELLO,)), *LOG[6:]],
        Divergence(8, 2, "first", NOTHING, "1 messages arrive"),
        6,
    ),
    "another input on the way": (
        [STARTED, ASKED, InputReplaced((HELLO,)), *LOG[1:]],
        Divergence(3, 1, "first", "'pay' gave 'paid'", "the input is replaced"),
        2,
    ),
    "another input before a reply": (
        [STARTED, InputReplaced((HELLO,)), said("so")],
        Divergence(1, 1, "first", 'calls pay({"x": 1}), read({})', "the input is replaced"),
        1,
    ),
    "the same verdict twice": (
        [*LOG[:7], GuardrailJudged("g", "output", "allow"), GuardrailJudged("g", "output", "allow"), LOG[7]],
        Divergence(8, 2, "first", NOTHING, "output guardrail 'g' says 'allow'"),
        7,
    ),
    "an event more": ([*LOG, InputReplaced(())], Divergence(8, 3, "first", NOTHING, "the input is replaced"), 8),
}


@pytest.mark.parametrize("name", PARTED)
def test_the_first_difference(name: str) -> None:
    log, divergence, revision_b = PARTED[name]
    found = compared(LOG, log)
    assert found.divergence == divergence
    assert found.revision_b == revision_b
    back = compared(log, LOG).divergence
    assert back is not None
    assert (back.revision, back.recorded, back.now) == (revision_b, divergence.now, divergence.recorded)


def test_a_turn_begun_again_before_its_reply_is_the_same_turn() -> None:
    begun = [STARTED, InputReplaced((HELLO,))]
    found = compared([*begun, said("one")], [*begun, said("two")]).divergence
    assert found == Divergence(2, 1, "first", "says 'one'", "says 'two'")


INNER: list[RunEvent] = [RunStarted("", "inner", (HELLO,), 0, 1.0), *TURN, TurnEnded(), said("dug"), RunEnded("dug")]
NESTED = [STARTED, replied(FunctionCall("n", "helper", "{}")), *(Nested("n", event) for event in INNER)]


def test_a_difference_in_a_nested_run_names_its_agent_and_turn() -> None:
    other = [*NESTED[:8], Nested("n", said("found nothing"))]
    found = compared(NESTED, other)
    assert found.divergence == Divergence(8, 2, "inner", "says 'dug'", "says 'found nothing'")


def test_what_two_runs_do_in_the_same_place_is_compared_pairwise() -> None:
    both = replied(FunctionCall("n", "helper", "{}"), FunctionCall("m", "helper", "{}"))
    begun = [STARTED, both, *(Nested(call_id, INNER[0]) for call_id in ("n", "m"))]
    one = [*begun, Nested("n", said("1")), Nested("m", said("2"))]
    other = [*begun, Nested("m", said("3")), Nested("n", said("4"))]
    first = compared(one, other)
    assert first.divergence == Divergence(4, 1, "inner", "says '1'", "says '4'")
    assert first.revision_b == 5


ITEMS = (
    HELLO,
    FunctionCall("x", "old", "{}"),
    FunctionCallOutput("x", "gave"),
    Reasoning("why", ("s",), "i", "sig", "enc", "p"),
    ProviderItem("p", {"b": 1, "a": 2}),
)


def test_items_of_an_input_are_compared_without_their_ids() -> None:
    same = (
        HELLO,
        FunctionCall("y", "old", "{}", "id"),
        FunctionCallOutput("y", "gave"),
        Reasoning("why", ("s",)),
        ProviderItem("p", {"a": 2, "b": 1}),
    )
    a = structs.replace(STARTED, input=ITEMS)
    assert compared([a], [structs.replace(a, input=same)]).divergence is None
    for position in range(1, len(ITEMS)):
        other = tuple(Message("user", "?") if at == position else item for at, item in enumerate(same))
        assert compared([a], [structs.replace(a, input=other)]).divergence is not None


def test_a_long_text_is_cut() -> None:
    found = compared([STARTED, said("x" * 1000)], [STARTED, replied(FunctionCall("c", "pay", "y" * 1000))]).divergence
    assert found is not None
    assert found.recorded == f"says '{'x' * (MAX_SHOWN_CHARS - 3)}...'"
    assert found.now == f"calls pay({'y' * (MAX_SHOWN_CHARS - 3)}...)"


def test_what_one_took_more_than_the_other() -> None:
    found = compared(LOG[:7], LOG[:6])
    assert (found.turns, found.tool_calls, found.tokens, found.cost) == (-1, 0, -15, Decimal(-1))
    found = compared(LOG[:1], LOG)
    assert (found.turns, found.tool_calls, found.tokens, found.cost) == (2, 2, 30, Decimal(2))
    assert str(found) == (
        "runs 'a' and 'a' part in turn 1 of agent 'first'; turns +2, tool calls +2, tokens +30, cost +2 USD\n"
        "  'a' after revision 1: nothing more\n"
        "  'a' after revision 1: calls pay({\"x\": 1}), read({})"
    )


def test_a_step_is_known_by_its_key_whatever_ran_beside_it() -> None:
    one, two = StepBegan("pay", "pay", "{}", 1.0), StepBegan("1/pay", "pay", "{}", 2.0)
    done = [ToolFinished("pay", "1"), ToolFinished("1/pay", "2")]
    assert compared([STARTED, one, two, *done], [STARTED, two, one, *reversed(done)]).divergence is None
    found = compared([STARTED, one, done[0]], [STARTED, one, ToolFinished("pay", "3")]).divergence
    assert found is not None and (found.recorded, found.now) == ("'pay' gave '1'", "'pay' gave '3'")
    found = compared([STARTED, one], [STARTED]).divergence
    assert found is not None and found.recorded == "calls step 'pay' of 'pay'"


@pytest.mark.parametrize(("a", "b"), [(None, Decimal(1)), (Decimal(1), None)])
def test_a_cost_that_is_unknown_stays_so(a: Decimal | None, b: Decimal | None) -> None:
    found = RunDiff("a", "b", None, 1, RunTotals(cost=a), RunTotals(cost=b))
    assert found.cost is None
    assert str(found) == "runs 'a' and 'b' did the same; turns +0, tool calls +0, tokens +0, cost unknown"


def test_a_divergence_is_one_line() -> None:
    told = str(Divergence(3, 2, "first", "says 'a'", "says 'b'"))
    assert told == "revision 3, turn 2, agent 'first': says 'a'; now: says 'b'"


@given(logs(), logs())
def test_any_two_runs_compare(a: Any, b: Any) -> None:
    assert compared(a, a).divergence is None
    there, back = compared(a, b), compared(b, a)
    assert (there.divergence is None) == (back.divergence is None)
    if there.divergence is not None:
        # What both share up to the parting makes no difference by itself.
        assert 0 <= there.divergence.revision <= len(a)
        assert 0 <= there.revision_b <= len(b)
        assert str(there)
