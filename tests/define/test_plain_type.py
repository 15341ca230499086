"""Types handled without pydantic: schema and check."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from agentsdk.define.plain_type import plain_type

PLAIN: list[Any] = [  # old spellings too
    *(str, int, float, bool, None, type(None), str | None, Union[int, None], int | float | None, list[int], list[list[str]]),  # noqa: UP007
    *(
        Literal["a", "b"],
        Literal["a"] | None,
        list[int | None] | str,
        list[Literal["x"]],
        bool | int | str | float,
        list[bool] | None,
    ),
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["a", "b", "x", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "annotation",
    [Any, dict, list, dict[str, int], tuple[int], set[int], datetime.date, Annotated[int, 1], Literal[1], Literal["a", 1],
     list[int] | list[str], str | datetime.date, "str", list[dict[str, int]], object, int | Literal["a"] | Literal["b"] | str],
)  # fmt: skip
def test_everything_else_is_left_to_pydantic(annotation: Any) -> None:
    assert plain_type(annotation) is None


@pytest.mark.parametrize("annotation", PLAIN, ids=str)
def test_agrees_with_pydantic_in_strict_json(annotation: Any) -> None:
    plain = plain_type(annotation)
    assert plain is not None
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)

    @given(json_values)
    def agree(value: Any) -> None:
        problems: list[str] = []
        checked = plain.check(value, "x", problems)
        try:
            expected = adapter.validate_json(TypeAdapter(Any).dump_json(value), strict=True)
        except ValidationError:
            assert problems
        else:
            assert not problems
            assert checked == expected
            assert type(checked) is type(expected)

    agree()


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (list[float], {"type": "array", "items": {"type": "number"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    ],
)
def test_the_schema_says_what_fits(annotation: Any, schema: dict[str, Any]) -> None:
    plain = plain_type(annotation)
    assert plain is not None
    assert plain.schema() == schema


def test_problems_say_where_and_what_but_no_value() -> None:
    plain = plain_type(list[int | None])
    assert plain is not None
    problems: list[str] = []
    plain.check([1, "sk-secret", None, {"a": 1}], "days", problems)
    assert problems == [
        "days[1]: expected an integer or null, got a string of 9 characters",
        "days[3]: expected an integer or null, got an object",
    ]


def test_choices_are_named() -> None:
    plain = plain_type(Literal["c", "f"] | None)
    assert plain is not None
    problems: list[str] = []
    plain.check("k", "unit", problems)
    assert problems == ["unit: expected one of 'c', 'f' or null, got a string of 1 characters"]


def test_lists_are_copied() -> None:
    plain = plain_type(list[list[int]])
    assert plain is not None
    given_list = [[1]]
    checked = plain.check(given_list, "x", [])
    assert checked == given_list
    assert checked is not given_list
    assert isinstance(checked, list)
    assert checked[0] is not given_list[0]


def test_an_integer_no_float_can_hold_is_told() -> None:
    plain = plain_type(float)
    assert plain is not None
    problems: list[str] = []
    plain.check(10**400, "x", problems)
    assert problems == ["x: expected a number, got one that is too large"]
