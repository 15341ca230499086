"""What a run took, counted over nested runs."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec import structs

from agentsdk.core.limits.totals import Costs, RunTotals, follow, followed, total
from agentsdk.core.state import fold
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
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage


def price(usage: Usage, model: str, asked: str = "") -> Decimal | None:
    prices = {"dear": Decimal(3), "cheap": Decimal(1)}
    return prices.get(model, prices.get(asked))


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


def test_an_attempt_that_names_no_model_is_paid_for_as_the_reply_it_led_to() -> None:
    log = [STARTED, AttemptSpent(Usage(1, 7, 0))]
    assert total(fold(log), price) == RunTotals(0, 0, Usage(1, 7, 0), None), "which is not known before"
    assert total(fold([*log, replied("dear", SAID)]), price) == RunTotals(1, 0, Usage(2, 17, 5), Decimal(6))


@pytest.mark.parametrize(
    ("event", "cost"),
    [
        (replied("cheap", SAID), 1),
        (structs.replace(replied("served", SAID), asked="cheap"), 1),
        (structs.replace(replied("", SAID), asked="dear"), 3),
        (structs.replace(replied("served", SAID), asked="odd"), None),
        (replied("", SAID), None),
        (ModelReplied(ModelResponse((SAID,), Usage(1, 10, 5, known=False), model="dear"), 2.0), None),
        (AttemptSpent(Usage(1, 10, 5), "", "discarded", "served", "cheap"), 1),
        (AttemptSpent(Usage(1, 10, 5), "", "discarded", "", "cheap"), 1),
        (AttemptSpent(Usage(1, 10, 5), "", "discarded", "odd"), None),
        (AttemptSpent(Usage(1), "", "refused", "odd"), 0),
        (AttemptSpent(Usage(1), "", "refused"), 0),
        (AttemptSpent(Usage(1, known=False)), None),
    ],
)
def test_the_cost_is_none_as_soon_as_a_part_is_not_known(event: ModelReplied | AttemptSpent, cost: int | None) -> None:
    for events in ([event], [Nested("a", event)]):
        costs = Costs(price)
        costs.feed(events)
        assert costs.total == (None if cost is None else Decimal(cost))
        costs.feed([replied("dear", SAID)])
        assert events[0] is not event or costs.total == (None if costs.unpriced or cost is None else costs.paid)


def test_costs_may_be_fed_piece_by_piece() -> None:
    log = [*NESTED, AttemptSpent(Usage(1, 7, 0)), replied("cheap", SAID)]
    whole, pieces = Costs(price), Costs(price)
    whole.feed(log)
    for event in log:
        pieces.feed([event])
    assert whole.total == pieces.total == Decimal(6)


def test_the_cost_of_a_log_is_followed_as_it_grows_and_read_anew_where_it_is_shorter() -> None:
    log: Tape[RunEvent] = Tape([STARTED, replied("dear", SAID)])
    assert followed(log) is None
    first = follow(log, price)
    assert first.total == Decimal(3) and follow(log, price) is first
    longer = log.extended([replied("cheap", SAID)])
    assert follow(longer, price) is first and followed(longer) == first.total == Decimal(4)
    assert followed(log) == Decimal(3)


def test_other_prices_are_another_cost() -> None:
    log: Tape[RunEvent] = Tape([STARTED, replied("dear", SAID)])
    follow(log, price)
    assert follow(log, lambda usage, model, asked: Decimal(7)).total == Decimal(7)
