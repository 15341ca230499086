"""What a conversation asks for, and what its last turn has called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk import Agent, Message
from agentsdk.toolsets import ToolsetContext, latest_request
from agentsdk.toolsets.requests import called_names, last_turn
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Reasoning
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage

LONG = "Please book a table for two at the Italian place, on Friday."


def asked(*items: Item) -> str:
    return latest_request(ToolsetContext[Any](None, Usage(), Agent("A"), items=items))


def user(text: str) -> Message:
    return Message("user", text)


def agent(text: str) -> Message:
    return Message("assistant", text)


def called(name: str, call_id: str = "c") -> FunctionCall:
    return FunctionCall(call_id, name, "{}")


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], ""),
        ([Message("system", "Be brief.")], ""),
        ([user(LONG)], LONG),
        ([user("Old."), agent("Yes."), user(LONG)], LONG),
        ([user(LONG), user("At eight.")], f"{LONG}\nAt eight."),
        ([user(LONG), called("x"), FunctionCallOutput("c", "ok"), agent("Done, so far.")], LONG),
        ([agent("Shall I book it?"), user("Yes.")], "Shall I book it?\nYes."),
        ([called("x"), FunctionCallOutput("c", "ok"), user("Yes.")], "Yes."),
        ([agent("x" * 1000 + "Book it?"), user("Yes.")], "x" * 292 + "Book it?\nYes."),
        (
            [
                Message("user", (InputText("Look at"), InputImage("data:,"), InputText(" this."))),
            ],
            "Look at this.",
        ),
        ([user("a" * 5000 + "b" * 5000)], "a" * 4000 + "b" * 4000),
    ],
)
def test_the_latest_request(items: list[Item], text: str) -> None:
    assert asked(*items) == text


def test_the_last_turn() -> None:
    items = [
        called("old", "c0"),
        FunctionCallOutput("c0", "old"),
        Reasoning("Hm."),
        agent("I look."),
        called("one", "c1"),
        called("two", "c2"),
        FunctionCallOutput("c1", "first"),
        FunctionCallOutput("c2", (InputText("sec"), InputText("ond"))),
        user("Hurry."),
    ]
    assert last_turn(items) == ([called("one", "c1"), called("two", "c2")], {"c1": "first", "c2": "second"})
    assert last_turn(items[:2]) == ([called("old", "c0")], {"c0": "old"})
    assert last_turn([]) == last_turn([user("Hi.")]) == ([], {})
    assert called_names([*items, called("old", "c9")]) == ["one", "two", "old"]


items = st.lists(
    st.one_of(
        st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.text("ab", max_size=3)),
        st.just(called("x")),
        st.just(FunctionCallOutput("c", "ok")),
    ),
    max_size=12,
)


@given(items, st.lists(st.integers(0, 12)))
def test_a_tape_that_grows_is_read_as_if_it_was_new(items: list[Item], lengths: list[int]) -> None:
    whole = Tape(items)
    for length in lengths:
        context = ToolsetContext[Any](None, Usage(), Agent("A"), items=whole.up_to(min(length, len(items))))
        assert latest_request(context) == asked(*items[:length])
