"""Windows: whatever the history, the strategies and the budget, what is sent is valid, no larger, and holds what must stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from agentsdk.core.pairing import paired
from agentsdk.core.window.fit import (
    MARKER,
    SUMMARY_HEADER,
    Block,
    Fits,
    Impossible,
    Replace,
    SummaryRequest,
    WindowView,
    blocks,
    current_input,
    fit,
)
from agentsdk.core.window.strategies import DropOldest, KeepByPriority, SlidingWindow, Summarize, TruncateToolResults
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import ModelResponse
from tests.core.histories import items as any_items
from tests.core.histories import unpaired
from tests.core.views import conversations, count_tokens, said, settled, turn, turns, user, view_of

STRATEGIES = [
    TruncateToolResults(),
    TruncateToolResults(keep_turns=0, chars=0),
    DropOldest(),
    SlidingWindow(1),
    SlidingWindow(3),
    KeepByPriority(),
    Summarize(keep_turns=1, max_tokens=40, max_put_back=100),
]
chosen = st.lists(st.sampled_from(STRATEGIES), max_size=4)
sizes = st.integers(1, 3_000)
REPLIES = [
    None,
    ModelResponse((said("The user wants a report; three files were read and two calls failed."),)),
    ModelResponse((said("long " * 1_000),)),
    ModelResponse((said(""),)),
]
replies = st.sampled_from(REPLIES)


def is_pinned(item: Item) -> bool:
    """One in seven, by what it says."""
    return isinstance(item, Message | FunctionCallOutput) and "3" in str(item)[:60]


@st.composite
def views(draw: Any) -> WindowView:
    items = draw(conversations())
    return view_of(
        items,
        draw(sizes),
        reserve=draw(st.sampled_from([0, 0, 100])),
        fixed=draw(st.sampled_from([0, 50, 500])),
        strategies=draw(chosen),
        inputs=[item for item in items if isinstance(item, Message)][:1] if draw(st.booleans()) else (),
        pin=is_pinned if draw(st.booleans()) else None,
    )


@given(views(), replies)
def test_any_view_is_made_valid_and_no_larger(view: WindowView, reply: ModelResponse | None) -> None:
    assert unpaired(view.items) == []
    step, made = settled(view, reply)
    assert unpaired(step.view.items) == []
    assert step.view.tokens <= view.tokens
    assert bool(made) == (step.view.items is not view.items)
    assert list(step.view.counts)[: len(view.items)] == list(view.counts) or made
    if isinstance(step, Fits):
        assert step.view.tokens <= view.budget
    else:
        assert step.view.tokens > view.budget
        if any(isinstance(strategy, DropOldest) for strategy in view.strategies):
            assert step.view.least + sum(count_tokens([MARKER])) > view.budget
    notes = [block.kind for block in step.view.blocks]
    assert notes.count("marker") <= 1
    assert notes.count("summary") <= 1


@given(views(), replies)
def test_what_must_stay_stays_and_blocks_are_whole(view: WindowView, reply: ModelResponse | None) -> None:
    step, _ = settled(view, reply)
    left = {id(item) for item in step.view.items}
    results = {item.call_id for item in step.view.items if isinstance(item, FunctionCallOutput)}
    for block in view.blocks:
        items = [view.items[position] for position in block.positions]
        stays = {
            item.call_id in results if isinstance(item, FunctionCallOutput) and block.kept != "pinned" else id(item) in left
            for item in items
        }
        assert len(stays) == 1, "a block is split"
        assert stays == {True} or not block.kept
    order = {id(item): position for position, item in enumerate(view.items)}
    places = [order[id(item)] for item in step.view.items if id(item) in order]
    assert places == sorted(places)


@given(views(), replies)
def test_what_was_fitted_once_stays_as_it_is(view: WindowView, reply: ModelResponse | None) -> None:
    assert fit(view) == fit(view)
    step, _ = settled(view, reply)
    again, made = settled(view_like(view, step.view.items, step.view.counts), reply)
    assert made == []
    assert again.view.items is step.view.items


def view_like(view: WindowView, items: Sequence[Item], counts: Sequence[int]) -> WindowView:
    return WindowView(
        items=items,
        counts=counts,
        size=view.size,
        reserve=view.reserve,
        fixed=view.fixed,
        strategies=view.strategies,
        inputs=view.inputs,
        pin=view.pin,
    )


@given(views(), replies)
def test_what_stands_before_the_first_change_is_sent_as_before(view: WindowView, reply: ModelResponse | None) -> None:
    step, made = settled(view, reply)
    same = 0
    while same < min(len(view.items), len(step.view.items)) and view.items[same] is step.view.items[same]:
        same += 1
    first_gone = next((place for place, item in enumerate(view.items) if not any(item is kept for kept in step.view.items)), 0)
    assert same == (first_gone if made else len(view.items))


@given(st.lists(any_items, max_size=20), chosen, sizes)
def test_orphans_stand_in_the_way_of_nothing(given_items: list[Item], strategies: list[Any], size: int) -> None:
    view = view_of(given_items, size, strategies=[*strategies, DropOldest()])
    placed = sorted(position for block in view.blocks for position in block.positions)
    assert placed == list(range(len(given_items)))
    step, _ = settled(view)
    if isinstance(step, Impossible):
        assert step.view.least + sum(count_tokens([MARKER])) > view.budget
    if unpaired(given_items) == []:
        assert list(paired(step.view.items)) == list(step.view.items)


@given(views())
def test_under_the_trigger_nothing_is_touched(view: WindowView) -> None:
    step = fit(view)
    if view.tokens <= view.trigger:
        assert isinstance(step, Fits)
        assert step.view is view
    assert view.target <= view.trigger <= view.budget


def kinds(found: Sequence[Block]) -> list[tuple[str, tuple[int, ...]]]:
    return [(block.kind, block.positions) for block in found]


def test_a_turn_is_one_block_with_all_its_results() -> None:
    items: list[Item] = [
        Message("system", "be brief"),
        user("hi"),
        Reasoning("hm"),
        said("I look"),
        ProviderItem("p", {}),
        FunctionCall("a", "read", "{}"),
        FunctionCall("b", "read", "{}"),
        FunctionCallOutput("b", "2"),
        FunctionCallOutput("a", "1", True),
        Reasoning("so"),
        said("done"),
    ]
    found = blocks(items, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert kinds(found) == [("message", (0,)), ("message", (1,)), ("turn", (2, 3, 4, 5, 6, 7, 8)), ("turn", (9, 10))]
    assert [block.tokens for block in found] == [1, 2, 42, 21]
    assert [block.age for block in found] == [1, 1, 1, 0]
    assert [block.has_error for block in found] == [False, False, True, False]
    assert [block.kept for block in found] == ["instructions", "input", "", ""]


def test_results_that_come_late_belong_to_their_call() -> None:
    items = [FunctionCall("a", "read", "{}"), user("wait"), FunctionCallOutput("a", "1"), FunctionCallOutput("a", "again")]
    found = blocks(items, count_tokens(items))
    assert kinds(found) == [("turn", (0, 2)), ("message", (1,)), ("orphan", (3,))]
    assert [block.kept for block in found] == ["newest", "input", ""]


def test_only_results_that_wait_for_the_model_are_the_newest() -> None:
    items = [user("a"), *turn("1"), *turn("2")]
    assert [block.kept for block in blocks(items, count_tokens(items))] == ["input", "", "newest"]
    items = [user("a"), *turn("1"), said("done"), user("b")]
    assert [block.kept for block in blocks(items, count_tokens(items))] == ["", "", "", "input"]


def test_the_current_input_is_the_last_of_what_the_user_says_at_once() -> None:
    items = [user("old"), said("yes"), user("a document"), user("a question"), *turn("1")]
    assert current_input(items) == (items[2], items[3])
    assert current_input([*items, MARKER, user(SUMMARY_HEADER)]) == (items[2], items[3])
    assert current_input([said("x")]) == ()


def test_the_runs_input_stays_where_later_messages_follow_it() -> None:
    items = [user("yes"), said("?"), user("yes"), *turn("1"), user("try again")]
    found = blocks(items, count_tokens(items), inputs=[user("yes"), user("elsewhere")])
    assert [block.kept for block in found] == ["", "", "input", "newest", "input"]


def test_the_trigger_is_a_fraction_of_the_window_and_the_reserve_stays_free() -> None:
    view = view_of([user("hi")], 1_000)
    assert (view.budget, view.trigger, view.target) == (1_000, 750, 500)
    view = view_of([user("hi")], 1_000, reserve=400)
    assert (view.budget, view.trigger, view.target) == (600, 600, 500)


def test_a_low_trigger_and_target_count_where_little_must_stay() -> None:
    view = structs.replace(view_of([user("hi")], 1_000), trigger_share=0.3, target_share=0.1)
    assert (view.trigger, view.target) == (300, 100)


def test_where_much_must_stay_the_rest_is_not_all_dropped() -> None:
    view = view_of([user("hi")], 1_000, fixed=695, reserve=100)
    assert (view.least, view.budget, view.trigger, view.target) == (699, 900, 799, 749)
    view = view_of([user("hi")], 1_000, fixed=895, reserve=100)
    assert (view.least, view.trigger, view.target) == (899, 899, 899)


def test_a_later_strategy_only_acts_when_the_earlier_did_not_suffice() -> None:
    items = [user("go"), *turns(4, 2_000)]
    view = view_of(items, 2_400, strategies=[TruncateToolResults(keep_turns=0, chars=100), SlidingWindow(1)])
    step, made = settled(view)
    assert isinstance(step, Fits)
    assert len(made) == 1
    assert [type(item) for item in step.view.items] == [type(item) for item in items]
    step, made = settled(view_of(items, 400, strategies=view.strategies))
    assert len(made) == 2


def test_what_would_not_be_lighter_is_not_done() -> None:
    items = [user("old"), said("yes"), user("go"), *turn("1", "x" * 400)]
    view = view_of(items, 130, strategies=[SlidingWindow(1)])
    replace = fit(view)
    assert isinstance(replace, Replace)
    assert replace.new == (MARKER,)
    assert replace.done([1_000]) is replace.view
    assert replace.done([1]).items == (MARKER, *items[2:])


def test_the_marker_moves_to_the_first_gap() -> None:
    first, second = turn("1"), turn("2")
    items = [user("old"), *first, user("go"), MARKER, *second]
    view = view_of(items, 100)
    [old, one, *_] = view.blocks
    replaced = view.without([one])
    assert replaced is not None
    assert replaced.items == (old_item := items[0], MARKER, user("go"), *second)
    assert old.positions == (0,)
    assert old_item == user("old")
    assert view.without([]) is None


def test_impossible_shows_the_arithmetic() -> None:
    items = [Message("developer", "x" * 40), user("y" * 400), said("z"), user("z" * 800), *turn("1", "w" * 80)]
    view = view_of(items, 8_192, fixed=7_400, reserve=1_024, strategies=[DropOldest()], pin=lambda item: item == items[1])
    step, _ = settled(view)
    assert isinstance(step, Impossible)
    assert step.reason == (
        "window 8,192 - reserve 1,024 - system prompt, tools and output schema 7,400 = -232 tokens for the conversation, "
        "expected room for what must stay: system and developer messages 14 + input 204 + pinned 104 + newest results 33 = "
        "355; shorten these, lower the reserve or use a model with a larger window"
    )


def test_impossible_names_the_strategies_that_did_not_suffice() -> None:
    items = [user("x" * 4_000), said("y"), user("go")]
    step, _ = settled(view_of(items, 500, strategies=[TruncateToolResults(), SlidingWindow(5)]))
    assert isinstance(step, Impossible)
    assert step.reason == (
        "window 500 - reserve 0 - system prompt, tools and output schema 0 = 500 tokens for the conversation, which takes "
        "1,012 after TruncateToolResults, SlidingWindow; add DropOldest() to the strategies"
    )
    step, _ = settled(view_of(items, 500))
    assert isinstance(step, Impossible)
    assert "after no strategy;" in step.reason


SUMMARY = "The user asked for a report on three files, of which two were read."


def asked_for_summary(**rest: Any) -> tuple[list[Item], SummaryRequest]:
    items = [user("old"), *turns(6, 400), user("go"), *turns(2, 400, 6)]
    view = view_of(items, 1_000, strategies=[Summarize(keep_turns=2, max_tokens=100, **rest), DropOldest()])
    request = fit(view)
    assert isinstance(request, SummaryRequest)
    return items, request


@pytest.mark.parametrize(
    "reply",
    [
        ModelResponse(()),
        ModelResponse((said("  \n"),)),
        ModelResponse((said("ok, summed up."),)),
        ModelResponse((Message("assistant", (Refusal("I cannot help with that, as it is against the rules."),)),)),
        ModelResponse((said(SUMMARY), Message("assistant", (Refusal("no"),)))),
        ModelResponse((said(SUMMARY), FunctionCall("x", "read", "{}"))),
        ModelResponse((said(SUMMARY),), finish="length"),
        ModelResponse((said(SUMMARY),), finish="content_filter"),
    ],
)
def test_a_reply_that_is_no_summary_is_refused_and_the_next_strategy_tried(reply: ModelResponse) -> None:
    items, request = asked_for_summary()
    assert request.done(reply) is None
    assert request.view.items is items
    step = fit(request.view)
    assert isinstance(step, Replace)
    assert step.new == (MARKER,)


def test_a_summary_longer_than_what_it_replaces_is_refused() -> None:
    items, request = asked_for_summary()
    replaced = request.done(ModelResponse((said("very " * 2_000),)))
    assert replaced is not None
    assert replaced.done(count_tokens(replaced.new)) is request.view
    assert request.view.items is items


def test_a_summary_takes_the_place_of_what_it_sums_up() -> None:
    items, request = asked_for_summary()
    replaced = request.done(ModelResponse((Reasoning("hm"), said(f" {SUMMARY}\n")), finish="unknown"))
    assert replaced is not None
    view = replaced.done(count_tokens(replaced.new))
    assert view.items == (user(SUMMARY_HEADER + SUMMARY), *items[19:])
    assert view.blocks[0].kind == "summary"
    assert isinstance(fit(view), Fits)


def test_what_a_summary_lost_is_put_back_or_told() -> None:
    items = [user("old"), *turn("0", "order ORD-1234 in /srv/orders.json " + "x" * 2_000), user("go"), *turn("1", "y" * 2_000)]
    view = view_of(items, 1_100, strategies=[Summarize(keep_turns=1, max_tokens=100, max_put_back=50)])
    request = fit(view)
    assert isinstance(request, SummaryRequest)
    replaced = request.done(ModelResponse((said(SUMMARY),)))
    assert replaced is not None
    assert replaced.items[0] == user(f"{SUMMARY_HEADER}{SUMMARY}\nFiles and addresses: /srv/orders.json")
    assert replaced.lost_terms.identifiers == ("ORD-1234",)
    assert replaced.lost_terms.places == ()


def test_what_stands_before_the_change_is_told_for_its_price() -> None:
    items = [user("go"), *turns(6, 400), user("hm"), *turns(2, 400, 6)]
    pinned = [items[0], *items[1:4]]
    rest: dict[str, Any] = {"fixed": 50, "pin": lambda item: any(item is one for one in pinned)}
    request = fit(view_of(items, 1_000, strategies=[Summarize(keep_turns=2, max_tokens=100)], **rest))
    assert isinstance(request, SummaryRequest)
    assert (request.prefix, request.tokens) == (50 + 4 + 113, 5 * 113)
    replaced = request.done(ModelResponse((said(SUMMARY),)))
    assert replaced is not None
    assert replaced.prefix == request.prefix
    dropped = fit(view_of(items, 1_000, strategies=[DropOldest()], **rest))
    assert isinstance(dropped, Replace)
    assert dropped.prefix == request.prefix


def test_a_later_summary_takes_in_the_one_before() -> None:
    _, request = asked_for_summary()
    replaced = request.done(ModelResponse((said(SUMMARY),)))
    assert replaced is not None
    longer = [*replaced.items, *turns(6, 400, 8)]
    step, _ = settled(view_of(longer, 1_000, strategies=request.view.strategies), ModelResponse((said(SUMMARY + " More."),)))
    assert [block.kind for block in step.view.blocks].count("summary") == 1
    assert step.view.items[0] == user(f"{SUMMARY_HEADER}{SUMMARY} More.")


@pytest.mark.parametrize(
    "strategies",
    [[TruncateToolResults(keep_turns=1, chars=200), DropOldest()], [DropOldest()], [SlidingWindow(4)], [KeepByPriority()]],
    ids=["cut", "drop", "window", "priority"],
)
def test_a_run_of_400_turns_never_outgrows_its_window_and_its_beginning_rarely_changes(strategies: list[Any]) -> None:
    items: Sequence[Item] = [user("the task")]
    counts: Sequence[int] = count_tokens(items)
    changes = 0
    for number in range(400):
        step, made = settled(
            WindowView(items=items, counts=counts, size=8_192, reserve=1_024, fixed=800, strategies=strategies)
        )
        assert isinstance(step, Fits)
        assert step.view.items[0] == user("the task")
        changes += bool(made)
        new = turn(f"c{number}", "x" * 2_000)
        items, counts = [*step.view.items, *new], [*step.view.counts, *count_tokens(new)]
    assert unpaired(items) == []
    # A turn has 520 tokens, and 2,048 lie between trigger and target: at most every third turn changes what went before.
    assert 0 < changes < 400 / 3
