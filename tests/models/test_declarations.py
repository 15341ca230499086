"""Tools and output schemas as text."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.models.declarations import output_schema_text, tools_text
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city.\n  With its country."},
        "unit": {"enum": ["C", "F"], "default": "C"},
        "days": {"type": ["integer", "null"]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}},
        "kind": {"const": 1},
        "other": {"anyOf": [{"type": "boolean"}, {"type": "object", "properties": {"x": {"type": "number"}}}]},
        "free": {},
    },
    "required": ["city"],
    "$defs": {"Tag": {"type": "string"}},
}

SHOWN = """\
# Tools

## functions

namespace functions {

// Weather of a city.
type weather = (_: {
// The city.
// With its country.
city: string,
unit?: "C" | "F", // default: "C"
days?: number | null,
tags?: string[],
kind?: 1,
other?: boolean | {
x?: number,
},
free?: any,
}) => any;

type to_sales = () => any;

} // namespace functions"""


def test_tools_are_functions_of_a_namespace() -> None:
    tools = (ToolSpec("weather", "Weather of a city.", WEATHER), HandoffSpec("to_sales", "", {}, "sales"))
    assert tools_text(tools) == SHOWN


def test_an_output_is_its_schema() -> None:
    assert (
        output_schema_text(OutputSpec("answer", {"type": "object"})) == '# Response Formats\n\n## answer\n\n{"type":"object"}'
    )


@pytest.mark.parametrize(
    "field",
    [
        {"$ref": "#/properties/field"},
        {"$ref": "#/nowhere"},
        {"$ref": "elsewhere.json"},
        {"type": "array"},
        {"type": 5},
        {"anyOf": 5},
        {"enum": []},
        [],
    ],
)
def test_an_odd_schema_has_a_text_too(field: object) -> None:
    tool = ToolSpec("odd", "", {"properties": {"field": field}})
    assert "field?: " in tools_text((tool,))
