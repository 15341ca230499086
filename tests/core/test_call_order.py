"""The order of a reply's calls: what is declared holds, and nothing waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.call_order import OrderedCall, call_order, find_cycle, held_calls
from agentsdk.core.state import OpenTurn, fold
from agentsdk.types.errors import StateCorruptError
from agentsdk.types.events import ArgumentsEdited, CallsOrdered, CallWaits, ModelReplied, RunStarted, ToolFinished
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse

STARTED = RunStarted("run", "agent", (Message("user", "hi"),), 0, 1.0)


def calls(*named: str, **options: dict[str, Any]) -> list[OrderedCall]:
    """A call each, known by its tool and number: `a1` is of tool `a`."""
    return [OrderedCall(name, name[0], **options.get(name[0], {})) for name in named]


def waits(given: list[OrderedCall]) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {wait.call_id: (wait.calls, wait.tools) for wait in call_order(given).waits}


def test_calls_of_plain_tools_wait_for_nothing() -> None:
    assert call_order(calls("a1", "b1", "a2")) == CallsOrdered(())


def test_a_sequential_call_has_nothing_beside_it() -> None:
    given = calls("a1", "b1", "s1", "a2", "s2", "s3", s={"sequential": True})
    assert waits(given) == {
        "s1": (("a1", "b1"), ()),
        "a2": (("s1",), ()),
        "s2": (("a2", "s1"), ()),
        "s3": (("s2",), ()),
    }


def test_calls_on_one_resource_keep_the_models_order() -> None:
    given = calls("a1", "b1", "c1", "a2", a={"resource": "db"}, b={"resource": "file"}, c={"resource": "db"})
    assert waits(given) == {"c1": (("a1",), ()), "a2": (("c1",), ())}


def test_a_call_after_a_tool_waits_for_all_its_calls_wherever_they_stand() -> None:
    given = calls("t1", "w1", "w2", t={"after": ("w", "absent", "w")})
    assert waits(given) == {"t1": ((), ("w",))}


def test_a_call_after_two_tools_waits_for_the_calls_of_both() -> None:
    given = calls("t1", "v1", "w1", t={"after": ("v", "w"), "resource": "db"}, v={"resource": "db"}, w={"resource": "db"})
    assert waits(given) == {"w1": (("v1",), ()), "t1": (("w1",), ("v", "w"))}


def test_what_comes_after_changes_the_order_only_as_far_as_it_must() -> None:
    options = {"t": {"after": ("w",), "resource": "db"}, "w": {"resource": "db"}, "s": {"sequential": True}}
    given = calls("t1", "s1", "w1", **options)
    # In the model's order t1 would wait for w1, w1 for s1, and s1 for t1.
    assert waits(given) == {"w1": (("s1",), ()), "t1": (("s1", "w1"), ("w",))}


@pytest.mark.parametrize(
    ("after", "cycle"),
    [
        ({}, []),
        ({"a": ("b",), "b": ("c",), "c": ()}, []),
        ({"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ("absent",)}, []),
        ({"a": ("a",)}, ["a", "a"]),
        ({"x": ("a",), "a": ("b",), "b": ("c",), "c": ("a",)}, ["a", "b", "c", "a"]),
    ],
)
def test_tools_that_wait_for_each_other_are_found(after: dict[str, tuple[str, ...]], cycle: list[str]) -> None:
    assert find_cycle(after) == cycle


def test_a_long_chain_of_tools_is_no_problem() -> None:
    assert find_cycle({str(n): (str(n + 1),) for n in range(5_000)}) == []


TOOLS = "abcde"


@st.composite
def replies(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[OrderedCall]:
    declared = {
        tool: {
            "sequential": draw(st.booleans()),
            "after": tuple(draw(st.lists(st.sampled_from(TOOLS[:place]), max_size=2)) if place else ()),
            "resource": draw(st.sampled_from([None, None, "db", "file"])),
        }
        for place, tool in enumerate(TOOLS)
    }
    names = draw(st.lists(st.sampled_from(TOOLS), max_size=9))
    return [OrderedCall(str(number), tool, **declared[tool]) for number, tool in enumerate(names)]


def before(given: list[OrderedCall], order: CallsOrdered) -> dict[str, set[str]]:
    """What each call waits for, at once or through others."""
    tools = {call.call_id: call.tool for call in given}
    direct = {wait.call_id: {*wait.calls, *(one for one in tools if tools[one] in wait.tools)} for wait in order.waits}
    reached: dict[str, set[str]] = {}

    def of(call_id: str, path: tuple[str, ...]) -> set[str]:
        assert call_id not in path, "two calls wait for each other"
        if call_id not in reached:
            found = direct.get(call_id, set())
            reached[call_id] = found.union(*(of(other, (*path, call_id)) for other in found))
        return reached[call_id]

    return {call_id: of(call_id, ()) for call_id in tools}


@given(replies())
def test_what_is_declared_holds_for_every_reply(given_calls: list[OrderedCall]) -> None:
    order = call_order(given_calls)
    reached = before(given_calls, order)
    for place, one in enumerate(given_calls):
        for other in given_calls[place + 1 :]:
            pair = reached[one.call_id] & {other.call_id} | reached[other.call_id] & {one.call_id}
            if one.sequential or other.sequential or (one.resource == other.resource is not None):
                assert len(pair) == 1, "they are never beside each other"
            if one.tool in other.after:
                assert one.call_id in reached[other.call_id]
            if other.tool in one.after:
                assert other.call_id in reached[one.call_id]
    if not any(call.after for call in given_calls):
        numbers = {wait.call_id: wait.calls for wait in order.waits}
        assert all(int(other) < int(call_id) for call_id, others in numbers.items() for other in others)


def turn_of(*events: Any) -> OpenTurn:
    reply = ModelReplied(ModelResponse(tuple(FunctionCall(name, name[0], "{}") for name in ("w1", "w2", "t1", "u1"))), 2.0)
    order = CallsOrdered((CallWaits("t1", (), ("w",)), CallWaits("u1", ("t1",))))
    turn = fold([STARTED, reply, order, *events]).turn
    assert turn is not None
    return turn


def test_a_call_is_held_until_what_it_waits_for_has_its_result() -> None:
    assert held_calls(turn_of()) == {"t1", "u1"}
    assert held_calls(turn_of(ToolFinished("w1", "written"))) == {"t1", "u1"}
    assert held_calls(turn_of(ToolFinished("w1", "written")), running={"w2"}) == {"u1"}
    assert held_calls(turn_of(ToolFinished("w1", "written")), running={"w2", "t1", "u1"}) == set()
    written = (ToolFinished("w1", "written"), ToolFinished("w2", "refused", True))
    assert held_calls(turn_of(*written)) == {"u1"}
    assert held_calls(turn_of(*written, ToolFinished("t1", "tested"))) == set()


def test_a_turn_without_an_order_holds_nothing() -> None:
    assert held_calls(OpenTurn()) == set()


def test_edited_arguments_leave_the_order_to_be_worked_out_again() -> None:
    assert turn_of(ArgumentsEdited("w1", "{}")).order is None


def test_an_order_is_of_an_open_turn() -> None:
    with pytest.raises(StateCorruptError, match="no open turn"):
        fold([STARTED, CallsOrdered(())])
