"""What a declared object's fields must be: one table, one message, no secret."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from agentsdk.types.declared import (
    ANYTHING,
    CALLABLE,
    FLAG,
    SYNC,
    Expected,
    Fields,
    a,
    a_name,
    a_tool_name,
    any_text,
    either,
    having,
    is_tool_name,
    json_object,
    mapping_of,
    number,
    one_of,
    optional,
    secret,
    sequence_of,
    shown,
    whole,
)
from agentsdk.types.errors import UserError


class Odd:
    """Raises when it is looked at."""

    def _raise(self, *args: object) -> Any:
        raise RuntimeError

    __eq__ = __hash__ = __bool__ = __repr__ = __str__ = _raise  # type: ignore[assignment]


class Clock:
    name = "clock"

    def time(self) -> float:
        return 0.0


async def later() -> None: ...


@pytest.mark.parametrize(
    ("expected", "good", "bad"),
    [
        (FLAG, [True, False], [0, 1, None, "yes"]),
        (CALLABLE, [len, int, later], [5, "len"]),
        (SYNC, [len, int], [later, 5]),
        (any_text(""), ["", "x"], [b"x", None, 5]),
        (a_name(""), ["x"], ["", b"x", None]),
        (a_tool_name(""), ["a", "A-1_", "x" * 64], ["", "x" * 65, "a b", "é", "a\n", 5]),
        (whole("", 1), [1, 2**63 - 1], [0, 2**63, 10**6000, True, 1.0, "1", None]),
        (number("", above=0), [0.5, 3], [0, -1, math.inf, math.nan, 10**400, True, "1", Decimal(1)]),
        (number("", least=0, most=1), [0, 1, 0.5], [-0.1, 1.1]),
        (one_of("", ("a", "b")), ["a", "b"], ["c", 5, ["a"], Odd()]),
        (a(Clock, ""), [Clock()], [Clock, 5]),
        (having(("time",), "", texts=("name",)), [Clock()], [Clock, 5, Odd()]),
        (sequence_of(whole(""), ""), [[], (1, 2), [1]], ["12", b"12", {1}, [1, "2"], [Odd()], None]),
        (mapping_of(whole(""), ""), [{}, {"a": 1}], [[("a", 1)], {1: 1}, {"a": "b"}]),
        (mapping_of(whole(""), "", keys=("a",)), [{"a": 1}], [{"b": 1}]),
        (json_object(""), [{}, {"a": [1, None]}], [{1: 2}, {"a": object()}, [], "{}"]),
        (either(FLAG, any_text(""), what=""), [True, "x"], [5, Odd()]),
        (optional(FLAG), [None, True], [5]),
    ],
)
def test_what_fits_and_what_does_not(expected: Expected, good: list[Any], bad: list[Any]) -> None:
    fields = Fields("Thing", field=expected)
    for value in good:
        fields.check_given(field=value)
    for value in bad:
        with pytest.raises(UserError, match=r"^Thing\(field(\[\d\])?="):
            fields.check_given(field=value)


def test_the_message_names_object_field_value_expectation_and_remedy() -> None:
    fields = Fields("Thing", size=optional(whole("a whole number; write 5", 1)), names=sequence_of(a_name("a name"), "names"))
    with pytest.raises(UserError, match=r"^Thing\(size='big'\), expected a whole number, or None; write 5$"):
        fields.check_given(size="big")
    with pytest.raises(UserError, match=r"^tool 't' has names\[1\]=5, expected a name$"):
        fields.check_given("tool 't'", names=["a", 5])
    with pytest.raises(UserError, match=r"^Thing\(names='ab'\), expected names$"):
        fields.check_given(names="ab")


def test_an_object_is_checked_field_by_field_and_others_are_left_alone() -> None:
    class Thing:
        _size = 0
        other = Odd()

    with pytest.raises(UserError, match=r"^Thing\(size=0\), expected one$"):
        Fields("Thing", _size=whole("one", 1)).check(Thing())
    Fields("Thing", _size=whole("one", 0)).check(Thing())
    Fields("Thing").check_one("unknown", Odd())


def test_an_error_names_the_kind_and_the_object_that_has_a_name() -> None:
    class Thing:
        name: object = "t"
        size: object = 0
        default: object = Odd()

    fields = Fields(Thing, name=ANYTHING, size=whole("one", 1), default=CALLABLE)
    given = Thing()
    fields.check(given)  # as a class declares it: its defaults are right
    given.size = 0.5
    with pytest.raises(UserError, match=r"^thing 't' has size=0.5, expected one$"):
        fields.check(given, "thing")
    for name in ("", None, 5):
        given.name = name
        with pytest.raises(UserError, match=r"^Thing\(size=0.5\), expected one$"):
            fields.check(given, "thing")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("low", "'low'"),
        ("x" * 200, "'" + "x" * 76 + "..."),
        ("postgresql://user:secret@host/db", "'postgresql://...'"),
        (1.5, "1.5"),
        (None, "None"),
        pytest.param(10**6000, "<int>", id="an integer of 6,000 digits"),
        ({}, "{}"),
        ({"authorization": "secret"}, "<dict>"),
        (["secret"], "<list>"),
        (int, "<class 'int'>"),
        (len, "<builtin_function_or_method len>"),
        (Odd(), "<Odd>"),
        ("\ud800\n", r"'\ud800\n'"),
    ],
)
def test_a_wrong_value_is_shown_without_what_it_may_hold(value: object, told: str) -> None:
    assert shown(value) == told


def test_a_secret_is_never_shown() -> None:
    for field in (secret(any_text("a key")), secret(mapping_of(any_text(""), "headers"))):
        with pytest.raises(UserError) as caught:
            Fields("Thing", key=field).check_given(key=b"sk-secret")
        assert "sk-secret" not in str(caught.value)
        assert "<bytes>" in str(caught.value)


def test_a_tools_name_is_what_providers_take() -> None:
    assert is_tool_name("get_weather-2")
    assert not any(map(is_tool_name, ["", "-" * 65, "wetter für", "a.b", "²"]))
