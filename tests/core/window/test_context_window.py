"""What a user may say of the context window."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.core.window.context_window import ContextWindow, cuts_results
from agentsdk.core.window.fit import MARKER, Fits, fit
from agentsdk.core.window.strategies import DropOldest, TruncateToolResults
from agentsdk.types.errors import UserError
from tests.core.views import count_tokens, said, settled, turns, user


@pytest.mark.parametrize(
    "given",
    [
        {"size": 0},
        {"size": -1},
        {"size": True},
        {"size": 0.5},
        {"trigger": 0},
        {"trigger": 1.1},
        {"trigger": float("nan")},
        {"target": 0},
        {"target": 0.75},
        {"trigger": 0.4},
        {"reserve": -1},
        {"reserve": 0.1},
        {"size": 100, "reserve": 100},
        {"strategies": [DropOldest]},
        {"strategies": ["drop_oldest"]},
    ],
)
def test_values_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="ContextWindow"):
        ContextWindow(**given)


def test_it_suits_any_model_as_it_is() -> None:
    view = ContextWindow().view([user("hi")], [10], size=8_000, fixed=90)
    assert (view.reserve, view.budget, view.trigger, view.target) == (1_000, 7_000, 6_000, 4_000)
    assert view.tokens == 100
    assert [type(strategy) for strategy in view.strategies] == [TruncateToolResults, DropOldest]
    assert ContextWindow(reserve=0).view([], [], size=10).budget == 10


def test_all_it_says_reaches_the_view() -> None:
    items = [user("pinned"), said("yes"), user("asked"), *turns(1, 3_000), user("hm"), *turns(2, 3_000, 1)]
    window = ContextWindow(trigger=0.9, target=0.8, reserve=10, strategies=[DropOldest()], pin=lambda item: item is items[0])
    view = window.view(items, count_tokens(items), size=1_000, inputs=[items[2]])
    assert view.budget == 990
    assert view.trigger == 900
    assert view.target == (view.least + 900) // 2
    step, _ = settled(view)
    assert isinstance(step, Fits)
    assert step.view.items == (items[0], MARKER, items[2], *items[6:7], *items[10:])


def test_the_token_count_that_a_provider_refused_is_the_size_to_go_on_with() -> None:
    items = [user("go"), *turns(6, 400)]
    view = ContextWindow().view(items, count_tokens(items), size=8_000)
    assert fit(view) == Fits(view)
    step, made = settled(ContextWindow().view(items, count_tokens(items), size=view.tokens))
    assert isinstance(step, Fits)
    assert made
    assert step.view.tokens <= view.tokens // 2


def test_a_window_cuts_results_where_one_of_its_strategies_does() -> None:
    assert cuts_results(ContextWindow(strategies=[DropOldest(), TruncateToolResults()]))
    assert not cuts_results(ContextWindow(strategies=[DropOldest()]))
