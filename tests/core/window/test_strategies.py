"""Each strategy by itself: what it drops, cuts or asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentsdk.core.overflow import MARKER_CHARS, cap_output
from agentsdk.core.window.fit import MARKER, SUMMARY_HEADER, Replace, SummaryRequest
from agentsdk.core.window.strategies import DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message, ProviderItem, Reasoning
from tests.core.views import count_tokens, said, turn, turns, user, view_of


def replaced(offer: object) -> list[Item]:
    assert isinstance(offer, Replace)
    return list(offer.items)


@pytest.mark.parametrize(
    "declare",
    [
        lambda: TruncateToolResults(keep_turns=-1),
        lambda: TruncateToolResults(chars=-1),
        lambda: TruncateToolResults(chars=True),
        lambda: SlidingWindow(0),
        lambda: SlidingWindow(1.5),  # type: ignore[arg-type]
        lambda: Summarize(keep_turns=-1),
        lambda: Summarize(max_tokens=0),
        lambda: Summarize(max_put_back=-1),
        lambda: Summarize(max_result_chars=-1),
    ],
)
def test_numbers_that_make_no_sense_are_refused(declare: Callable[[], Any]) -> None:
    with pytest.raises(UserError, match=r"\w+\(\w+=.*\), expected a whole number, [01] or more"):
        declare()


def test_long_results_of_older_turns_are_cut_and_can_be_fetched() -> None:
    items = [user("go"), *turn("1", "a" * 3_000), *turn("2", "b" * 1_000), *turn("3", "c" * 3_000), *turn("4", "d" * 3_000)]
    view = view_of(items, 8_000)
    offer = TruncateToolResults(keep_turns=2, chars=1_000).offer(view)
    assert isinstance(offer, Replace)
    output, overflow = cap_output("a" * 3_000, 1_000)
    assert offer.items == (*items[:3], FunctionCallOutput("1", output), *items[4:])
    assert offer.cut == (overflow,)
    assert offer.new == (offer.items[3],)
    assert offer.done([7]).counts == (*view.counts[:3], 7, *view.counts[4:])


def test_a_cut_result_is_not_cut_again() -> None:
    items = [user("go"), *turn("1", "a" * 3_000), *turn("2")]
    view = view_of(items, 8_000)
    strategy = TruncateToolResults(keep_turns=1, chars=100)
    once = replaced(strategy.offer(view))
    assert strategy.offer(view_of(once, 8_000)) is None
    assert strategy.offer(view_of([user("go"), *turn("1", "a" * (100 + MARKER_CHARS)), *turn("2")], 8_000)) is None


def test_images_and_the_mark_of_an_error_outlast_a_cut() -> None:
    image = InputImage(file_id="f")
    result = FunctionCallOutput("a", (InputText("a" * 600), image, InputText("b" * 600)), True)
    items = [user("go"), FunctionCall("a", "read", "{}"), result, *turn("2")]
    cut = replaced(TruncateToolResults(keep_turns=1, chars=100).offer(view_of(items, 8_000)))[2]
    assert isinstance(cut, FunctionCallOutput)
    assert cut.is_error
    assert cut.output[1] == image
    assert isinstance(cut.output[0], InputText)
    assert cut.output[0].text.startswith("a" * 75 + "\n[...")


def test_results_of_the_newest_turns_are_cut_only_where_they_would_not_fit_at_all() -> None:
    items = [user("go"), *turn("1", "a" * 4_000)]
    strategy = TruncateToolResults(keep_turns=1, chars=100)
    assert strategy.offer(view_of(items, 1_100)) is None
    assert len(replaced(strategy.offer(view_of(items, 900)))) == 4


def test_a_pinned_result_is_not_cut() -> None:
    items = [user("go"), *turn("1", "a" * 4_000)]
    view = view_of(items, 900, pin=lambda item: isinstance(item, FunctionCallOutput))
    assert TruncateToolResults(keep_turns=0, chars=100).offer(view) is None


def test_as_few_of_the_oldest_are_dropped_as_suffice() -> None:
    items = [user("old"), said("yes"), user("go"), *turns(8, 400)]
    view = view_of(items, 1_000)
    after = replaced(DropOldest().offer(view))
    assert after[:3] == [MARKER, user("go"), items[3 + 3 * 4]]
    assert 500 - 113 - 32 <= sum(count_tokens(after)) <= 500
    assert DropOldest().offer(view_of(items[2:3], 1)) is None


def test_room_is_made_for_the_marker() -> None:
    items = [user("go"), *turns(8, 400)]
    view = view_of(items, 2 * (4 + 113 * 7))
    assert view.tokens - view.target == 113
    assert replaced(DropOldest().offer(view)) == [user("go"), MARKER, *items[7:]]
    again = [user("go"), MARKER, *turns(8, 400)]
    assert replaced(DropOldest().offer(view_of(again, 2 * (4 + 113 * 7 + 24)))) == [user("go"), MARKER, *items[4:]]
    assert DropOldest().offer(view_of([MARKER, user("go")], 1)) is None


def test_a_summary_is_dropped_last() -> None:
    summary = user(SUMMARY_HEADER + "They agreed." + "." * 400)
    items = [summary, *turns(6, 400), user("go"), *turn("9", "x" * 400)]
    assert replaced(DropOldest().offer(view_of(items, 1_000)))[0] == summary
    assert replaced(DropOldest().offer(view_of(items, 600)))[:2] == [summary, MARKER]
    assert summary not in replaced(DropOldest().offer(view_of(items, 160)))


def test_a_sliding_window_holds_the_last_turns_and_what_they_answer() -> None:
    summary = user(SUMMARY_HEADER + "They agreed.")
    items = [summary, user("a"), said("1"), user("b"), said("2"), user("c"), *turn("3"), *turn("4")]
    assert replaced(SlidingWindow(3).offer(view_of(items, 10))) == [summary, MARKER, *items[3:]]
    assert replaced(SlidingWindow(2).offer(view_of(items, 10))) == [summary, MARKER, *items[5:]]
    assert SlidingWindow(4).offer(view_of(items, 10)) is None


def test_priority_goes_to_the_plan_then_errors_then_the_newest() -> None:
    plans = [turn(f"p{number}", "x" * 200, tool="update_plan") for number in range(2)]
    failed = [turn(f"e{number}", "x" * 200, is_error=True) for number in range(5)]
    old, plain = turns(4, 200), turns(6, 200, 10)
    items = [user("go"), *plans[0], *plans[1], *failed[0], *failed[1], *failed[2], *failed[3], *failed[4], *old, *plain]
    tokens = sum(count_tokens(plain[:3]))
    assert tokens == 63
    # Beside the input and the newest turn there is room for the plan, two errors and three more of the newest.
    view = view_of(items, 2 * (5 + 4 + 6 * tokens + 32 + tokens))
    assert view.target == 5 + 4 + 7 * tokens + 32
    after = replaced(KeepByPriority().offer(view))
    assert after == [user("go"), MARKER, *plans[1], *failed[3], *failed[4], *plain[6:]]


def test_a_plan_that_stays_anyway_leaves_older_plans_to_go() -> None:
    items = [user("go"), *turn("1", "x" * 900, tool="plan"), *turns(2, 900), *turn("2", "x" * 900, tool="plan")]
    assert replaced(KeepByPriority(plan_tools=("plan",)).offer(view_of(items, 1_100))) == [user("go"), MARKER, *items[7:]]


def test_an_error_among_the_newest_leaves_room_for_what_is_older() -> None:
    items = [user("go"), *turns(3, 400), *turn("e", "x" * 400, is_error=True), *turn("9", "x" * 400)]
    after = replaced(KeepByPriority().offer(view_of(items, 1_000)))
    assert after == [user("go"), MARKER, *items[4:]]


def test_behind_what_has_no_room_nothing_older_is_kept_for_being_small() -> None:
    items = [user("go"), *turn("1", "x"), *turn("2", "x" * 2_000), *turn("3", "x" * 400)]
    assert replaced(KeepByPriority().offer(view_of(items, 600))) == [user("go"), MARKER, *items[7:]]


def test_nothing_is_dropped_by_priority_where_all_has_room() -> None:
    assert KeepByPriority().offer(view_of([user("go"), *turns(3, 10)], 1_000)) is None


def test_the_request_for_a_summary_shows_the_older_turns() -> None:
    items: list[Item] = [
        user("find it"),
        Reasoning("secret"),
        ProviderItem("p", {}),
        said("I look"),
        FunctionCall("a", "read", '{"path": "' + "p" * 100 + '"}'),
        FunctionCallOutput("a", "r" * 100),
        FunctionCall("b", "read", "{}"),
        FunctionCallOutput("b", "no such file", True),
        Message("user", (InputImage(file_id="f"),)),
        said("which one?"),
        user("that one"),
        *turn("c", "latest"),
    ]
    view = view_of(items, 100)
    request = Summarize("small", keep_turns=1, max_tokens=40, max_result_chars=40).offer(view)
    assert isinstance(request, SummaryRequest)
    assert request.text.split("\n\n") == [
        "[user] find it",
        "[assistant] I look",
        '[call of read] {"path": "' + "p" * 20 + " [...] " + "p" * 8 + '"}',
        "[result] " + "r" * 30 + " [...] " + "r" * 10,
        "[call of read] {}",
        "[error] no such file",
        "[user] (no text)",
        "[assistant] which one?",
    ]
    assert (request.model, request.max_tokens) == ("small", 40)
    assert "at most 20 words" in request.instructions
    assert request.view is view


def test_no_summary_is_asked_for_of_little() -> None:
    items = [user("old"), *turns(3, 400), user("go")]
    view = view_of(items, 100)
    assert Summarize(keep_turns=1, max_tokens=113).offer(view) is not None
    assert Summarize(keep_turns=1, max_tokens=120).offer(view) is None


def test_no_summary_is_asked_for_of_a_summary() -> None:
    items = [user(SUMMARY_HEADER + "x" * 4_000), MARKER, user("go"), *turn("1")]
    assert Summarize(keep_turns=0, max_tokens=1).offer(view_of(items, 100)) is None
