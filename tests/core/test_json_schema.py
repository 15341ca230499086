from __future__ import annotations

from typing import Any

import pytest

from agentsdk.core.json_schema import check_arguments
from agentsdk.types.errors import InvalidArgumentsError


def problems(schema: dict[str, Any], **arguments: Any) -> list[str]:
    try:
        check_arguments(schema, arguments)
    except InvalidArgumentsError as error:
        return [line.removeprefix("- ") for line in error.reason.splitlines()]
    return []


def of(schema: Any) -> dict[str, Any]:
    """An object whose one property `x` is of `schema`."""
    return {"type": "object", "properties": {"x": schema}}


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ({"type": "string"}, ["", "a"], [1, None, [], {}, True]),
        ({"type": "integer"}, [1, -3, 2.0], ["1", 1.5, True, None]),
        ({"type": "number"}, [1, 1.5], ["1", True, None]),
        ({"type": "boolean"}, [True, False], [1, 0, "true"]),
        ({"type": "null"}, [None], [0, "", False]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"type": "array", "items": {"type": "integer"}}, [[], [1, 2]], ["a", [1, "2"], {}]),
        ({"type": "object", "required": ["y"]}, [{"y": 1}, {"y": None, "z": 2}], [{}, {"z": 1}, []]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{}, {"a": 1}], [{"a": "1"}]),
        ({"enum": ["a", 1, None]}, ["a", 1, None], ["b", True, 2]),
        ({"const": 1}, [1], [True, 2, "1"]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1, None], ["a"]),
        ({"oneOf": [{"type": "integer"}, {"const": "a"}]}, [1, "a"], ["b"]),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1, "b": 2}], [{"a": 1}]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_a_schema_says_of_shape_is_checked(schema: Any, fits: list[Any], does_not: list[Any]) -> None:
    for value in fits:
        assert problems(of(schema), x=value) == [], value
    for value in does_not:
        assert len(problems(of(schema), x=value)) == 1, value


def test_each_problem_is_named_with_its_place_and_what_was_expected_and_never_the_value() -> None:
    schema: Any = {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"$ref": "#/$defs/person"}},
            "amount": {"type": "integer"},
            "how": {"enum": ["cash", "card"]},
        },
        "required": ["to", "amount", "note"],
        "additionalProperties": False,
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    }
    assert problems(schema, to=[{"name": "Ada"}, {"name": 7}, {}], how="hunter2", more=1) == [
        "amount: missing, expected an integer",
        "note: missing",
        "to[1].name: expected a string, got an integer",
        "to[2].name: missing, expected a string",
        "how: expected one of 'cash', 'card', got a string of 7 characters",
        "more: unknown, expected only ['to', 'amount', 'how']",
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "date"},
        {"type": ["string", "date"]},
        {"type": 3},
        {"$ref": "https://example.test/schema"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#/properties/x"},
        {"$ref": "#/properties/x/deeper"},
        {"anyOf": [{"$ref": "#/properties/x"}]},
        {"anyOf": []},
        {"pattern": "^a", "format": "date", "minLength": 9, "minimum": 5},
        {"items": [{"type": "string"}]},
        {"required": "y", "properties": [], "enum": "abc", "allOf": {}},
        {"patternProperties": {".*": {}}, "additionalProperties": False},
    ],
    ids=str,
)
def test_what_is_not_understood_refuses_nothing(schema: Any) -> None:
    for value in ("b", 1, None, [1], {"z": 1}):
        assert problems(of(schema), x=value) == []
