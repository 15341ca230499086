"""Items: their texts, their plain form, and what is taken as a run's input."""

from __future__ import annotations

import datetime
import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
    item_to_dict,
    items_from_input,
)
from tests.core.histories import items


@given(st.lists(items, max_size=4))
def test_an_item_and_its_dict_are_the_same_input(given_items: list[Item]) -> None:
    dicts = [item_to_dict(item) for item in given_items]
    assert list(items_from_input(given_items)) == given_items
    assert list(items_from_input(dicts)) == given_items
    assert list(items_from_input(json.loads(json.dumps(dicts)))) == given_items
    assert msgspec.json.decode(msgspec.json.encode(given_items), type=list[Item]) == given_items


@given(items)
def test_an_item_is_never_changed(item: Item) -> None:
    field = item.__struct_fields__[0]
    with pytest.raises(AttributeError, match="immutable"):
        setattr(item, field, "other")
    assert item_to_dict(item)["type"] == type(item).type


@pytest.mark.parametrize("kind", [*get_args(Item), *get_args(Part)], ids=lambda kind: kind.__name__)
def test_the_type_is_that_of_the_wire(kind: Any) -> None:
    assert kind.type == kind.__struct_config__.tag
    assert kind.__struct_config__.forbid_unknown_fields


def test_the_text_of_a_message() -> None:
    assert Message("user", "hi").text == "hi"
    message = Message("assistant", (OutputText("a"), InputImage("data:,"), Refusal("no"), InputText("b"), Refusal("pe")))
    assert (message.text, message.refusal) == ("ab", "nope")
    assert Message("user", "hi").refusal == ""


def test_text_is_one_user_message() -> None:
    assert items_from_input("hi \ud800") == (Message("user", "hi \ufffd"),)
    assert items_from_input("") == (Message("user", ""),)
    assert items_from_input([]) == ()
    assert items_from_input(iter([Message("user", "x")])) == (Message("user", "x"),)


def test_the_dicts_people_write() -> None:
    assert items_from_input(
        [
            {"role": "user", "content": "hi"},
            {"role": "developer", "content": [{"type": "input_text", "text": "a"}, InputText("b")]},
            {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1"},
            {"type": "reasoning", "text": "so"},
            {"type": "provider_item", "provider": "p", "data": {"at": datetime.date(2020, 1, 2), "set": {1}}},
        ]
    ) == (
        Message("user", "hi"),
        Message("developer", (InputText("a"), InputText("b"))),
        FunctionCall("c", "n", "{}"),
        FunctionCallOutput("c", "1"),
        Reasoning("so"),
        ProviderItem("p", {"at": "2020-01-02", "set": [1]}),
    )


def test_surrogates_are_replaced_wherever_they_stand() -> None:
    given_items: list[Any] = [
        ProviderItem("p", {"\ud800": ["\ud800"]}),
        FunctionCall("a", "n", '"\ud800"'),
        {"role": "user", "content": [{"type": "input_text", "text": "\ud800"}]},
    ]
    assert items_from_input(given_items) == (
        ProviderItem("p", {"\ufffd": ["\ufffd"]}),
        FunctionCall("a", "n", '"\ufffd"'),
        Message("user", (InputText("\ufffd"),)),
    )


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["value"] = value
    return value


@pytest.mark.parametrize(
    "entry",
    [
        5,
        None,
        "text in a list",
        ["role", "user"],
        {},
        {"role": "user"},
        {"role": "nobody", "content": "x"},
        {"role": "user", "content": "x", "extra": 1},
        {"role": "user", "content": None},
        {"role": "user", "content": object()},
        {"type": "unheard of"},
        {"type": "function_call", "call_id": 1, "name": "n", "arguments": "{}"},
        {"type": "provider_item", "provider": "p", "data": {1: 2}},
        {"type": "provider_item", "provider": "p", "data": endless()},
        Message("user", object()),  # type: ignore[arg-type]
        Message("nobody", "x"),  # type: ignore[arg-type]
        ProviderItem("p", endless()),
    ],
    ids=range(17),
)
def test_what_is_no_item_is_named_by_its_position(entry: Any) -> None:
    with pytest.raises(UserError, match=r"input\[1\] is (not an item|'\w+'), expected|input\[1\] is not an item: .*; expected"):
        items_from_input([Message("user", "x"), entry])


@pytest.mark.parametrize("given_input", [5, None, object()])
def test_what_is_no_input_at_all(given_input: Any) -> None:
    with pytest.raises(UserError, match=f"the input is '{type(given_input).__name__}', expected a str or items"):
        items_from_input(given_input)
