"""Loops: rounds of the same calls are found when they are complete and never before, and turns that bring nothing new count."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.limits.loops import COMPARED_CHARS, LONGEST_PERIOD, REMEMBERED_RESULTS, Loop, Repeats, Stalls, nearly_same
from agentsdk.types.events import ToolFinished
from agentsdk.types.items import FunctionCall, InputText, Message

Call = tuple[str, str, str]
"""A tool's name, its arguments, its result."""


def turn(*calls: Call, failed: bool = False) -> tuple[list[FunctionCall | Message], dict[str, ToolFinished]]:
    made = [FunctionCall(str(number), name, arguments) for number, (name, arguments, _) in enumerate(calls)]
    results = {str(number): ToolFinished(str(number), result, failed) for number, (*_, result) in enumerate(calls)}
    return [Message("assistant", "let me see"), *made], results


def search(text: str, result: str = "nothing") -> Call:
    return "search", f'{{"text": "{text}"}}', result


def after(*turns: Sequence[Call]) -> Repeats:
    repeats = Repeats()
    for calls in turns:
        repeats.add(*turn(*calls))
    return repeats


def stalls_after(*turns: Sequence[Call] | str) -> Stalls:
    stalls = Stalls()
    for calls in turns:
        if isinstance(calls, str):
            stalls.add_text(calls)
        else:
            stalls.add(*turn(*calls))
    return stalls


@pytest.mark.parametrize("rounds", [2, 3, 5])
@pytest.mark.parametrize("period", range(1, LONGEST_PERIOD + 1))
def test_a_loop_is_found_at_the_end_of_its_last_round_and_not_earlier(period: int, rounds: int) -> None:
    repeats = after([search("before")])
    for step in range(period * rounds):
        assert repeats.found(rounds) is None, f"after {step} turns"
        repeats.add(*turn(search(f"part {step % period}")))
    assert repeats.found(rounds) == Loop((("search",),) * period, rounds)


turns = st.lists(
    st.sampled_from([(search("a"),), (search("b"),), (search("a", "more"),), (search("a"), search("b"))]), max_size=30
)


@given(turns, st.integers(2, 4))
def test_exactly_what_goes_round_is_found(history: list[Sequence[Call]], rounds: int) -> None:
    periods = [
        period
        for period in range(1, LONGEST_PERIOD + 1)
        if len(history) >= period * rounds
        and all(history[-at] == history[-at - period] for at in range(1, period * (rounds - 1) + 1))
    ]
    loop = after(*history).found(rounds)
    assert (None if loop is None else loop.period) == (periods[0] if periods else None)


def test_a_longer_cycle_than_the_longest_is_none() -> None:
    cycle = [[search(str(step))] for step in range(LONGEST_PERIOD + 1)]
    assert after(*cycle * 4).found(2) is None


@pytest.mark.parametrize(
    "other",
    [
        [search("a", "something")],
        [search("b")],
        [("read", '{"text": "a"}', "nothing")],
        [search("a"), search("a")],
    ],
    ids=["result", "arguments", "tool", "number"],
)
def test_another_turn_in_between_ends_the_loop(other: list[Call]) -> None:
    same = [search("a")]
    assert after(same, same, other, same).found(3) is None
    assert after(same, same, other, same, same).found(3) is None
    assert after(same, same, other, same, same, same).found(3) is not None


def test_a_result_that_becomes_an_error_is_another() -> None:
    repeats = after([search("a")], [search("a")])
    repeats.add(*turn(search("a"), failed=True))
    assert repeats.found(3) is None


def test_arguments_are_the_same_however_they_are_written() -> None:
    written = ['{"a": 1, "b": "x"}', '{"b":"x","a":1}', '{ "a" : 1, "b" : "\\u0078" }']
    assert after(*[[("search", text, "")] for text in written]).found(3) == Loop((("search",),), 3)


def test_arguments_that_cannot_be_read_are_the_same_only_letter_for_letter() -> None:
    assert after(*[[("search", "{", "error")]] * 3).found(3) is not None
    assert after(*[[("search", text, "error")] for text in ("{", "{ ", "{")]).found(2) is None


def test_the_order_of_calls_within_a_turn_does_not_matter() -> None:
    pair = [search("a", "first"), ("read", "{}", "second")]
    loop = after(pair, pair[::-1], pair).found(3)
    assert loop == Loop((("read", "search"),), 3)
    assert str(loop) == "'read' and 'search'"
    assert loop.tools == {"read", "search"}


def test_a_loop_names_its_turns_in_order() -> None:
    loop = after(*[[("ask", "{}", "no")], [("pay", "{}", "no")]] * 3).found(3)
    assert loop is not None
    assert (str(loop), loop.period, loop.rounds) == ("'ask', then 'pay'", 2, 3)


def test_the_loop_goes_on_being_found_while_it_goes_on() -> None:
    same = [search("a")]
    assert after(*[same] * 5).found(3) == Loop((("search",),), 5)
    assert after(*[same] * 5, [search("b")]).found(3) is None


def test_a_call_without_a_result_is_left_out() -> None:
    items, results = turn(search("a"), search("b"))
    repeats = Repeats()
    for _ in range(3):
        repeats.add(items, {"0": results["0"]})
    assert repeats.found(3) == Loop((("search",),), 3)


def test_results_in_parts_are_compared_too() -> None:
    items, _ = turn(search("a"))
    repeats = Repeats()
    for _ in range(3):
        repeats.add(items, {"0": ToolFinished("0", (InputText("x"),))})
    assert repeats.found(3) is not None


def test_cleared_a_loop_begins_anew() -> None:
    repeats = after(*[[search("a")]] * 2)
    repeats.clear()
    repeats.add(*turn(search("a")))
    assert repeats.found(2) is None


def test_turns_without_a_new_result_stall() -> None:
    stalls = stalls_after([search("a")])
    assert stalls.turns == 0, "the first result is new"
    for count, text in enumerate(["b", "c", "d"], 1):
        stalls.add(*turn(search(text)))
        assert (stalls.turns, stalls.tools) == (count, {"search"})
    stalls.add(*turn(search("a"), search("e", "found")))
    assert (stalls.turns, stalls.tools) == (0, set())


def test_a_result_is_new_when_another_tool_gives_it() -> None:
    assert stalls_after([search("a")], [("read", "{}", "nothing")]).turns == 0


def test_a_result_of_long_ago_is_new_again() -> None:
    others = [[search("x", str(number))] for number in range(REMEMBERED_RESULTS)]
    assert stalls_after([search("a")], *others[1:], [search("a")]).turns == 1
    assert stalls_after([search("a")], *others, [search("a")]).turns == 0


def test_texts_that_say_nearly_the_same_stall() -> None:
    says = "I could not reach the archive, so I will try once more in a moment. Attempt {}."
    stalls = stalls_after(*[says.format(attempt) for attempt in range(4)])
    assert (stalls.turns, stalls.tools) == (3, set())
    stalls.add_text("The archive answers: there are four letters, of which two are signed.")
    assert stalls.turns == 0


def test_calls_and_texts_stall_together() -> None:
    assert stalls_after([search("a")], "Hm.", [search("b")], "Hm.").turns == 2


def test_cleared_stalls_begin_anew() -> None:
    stalls = stalls_after([search("a")], [search("b")], "Hm.", "Hm.")
    stalls.clear()
    assert (stalls.turns, stalls.tools) == (0, set())
    stalls.add_text("Hm.")
    stalls.add(*turn(search("a")))
    assert stalls.turns == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("", "", True),
        ("", "ab", False),
        ("no", "na", False),
        ("今は読めません、あとでもう一度読みます", "今は読めません、あとでもう一度読みます。", True),
        ("今は読めません、あとでもう一度読みます", "手紙は四通あり、二通に署名があります", False),
        ("x" * COMPARED_CHARS, "x" * COMPARED_CHARS + "y" * COMPARED_CHARS, True),
    ],
)
def test_nearly_same(one: str, other: str, same: bool) -> None:
    assert nearly_same(one, other) is same
    assert nearly_same(other, one) is same
