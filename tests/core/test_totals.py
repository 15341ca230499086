"""What a run took, counted over nested runs."""

from __future__ import annotations

from decimal import Decimal

from agentsdk.core.state import fold
from agentsdk.core.totals import RunTotals, total
from agentsdk.types.events import (
    AttemptSpent,
    CallRetried,
    ModelReplied,
    Nested,
    RunEvent,
    RunStarted,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
)
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage


def price(usage: Usage, model: str) -> Decimal | None:
    return {"dear": Decimal(3), "cheap": Decimal(1)}.get(model)


def replied(model: str, *output: FunctionCall | Message) -> ModelReplied:
    return ModelReplied(ModelResponse(output, Usage(1, 10, 5), model=model), 2.0)


STARTED = RunStarted("run", "first", (), 0, 1.0)
SAID = Message("assistant", "x")
NESTED: list[RunEvent] = [
    STARTED,
    replied("dear", FunctionCall("a", "helper", "{}"), FunctionCall("b", "pay", "{}")),
    ToolsIntended(("a", "b")),
    Nested("a", STARTED),
    Nested("a", replied("cheap", FunctionCall("b", "dig", "{}"))),
    Nested("a", ToolsIntended(("b",))),
    CallRetried("b"),
    ToolsIntended(("b",)),
    ToolFinished("b", "paid"),
]


def test_nothing_took_nothing() -> None:
    assert total(fold([STARTED]), price) == RunTotals()


def test_nested_runs_count_and_a_call_that_ran_twice_is_one() -> None:
    totals = total(fold(NESTED), price)
    assert totals == RunTotals(2, 3, Usage(2, 20, 10), Decimal(4))
    assert totals.tokens == 30


def test_a_reply_without_a_price_leaves_the_cost_unknown() -> None:
    log = [*NESTED, ToolFinished("a", "dug"), TurnEnded(), replied("odd", SAID), TurnEnded(), replied("dear", SAID)]
    assert total(fold(log), price).cost is None


def test_an_attempt_has_no_price() -> None:
    totals = total(fold([STARTED, AttemptSpent(Usage(1, 7, 0)), replied("dear", SAID)]), price)
    assert totals == RunTotals(1, 0, Usage(2, 17, 5), None)
