"""Servers whose tools' schemas are unusual, wrong or hostile."""

from __future__ import annotations

from tests.mcp.misbehaving.servers.base import Result, Server, case, text


class WithSchema(Server):
    """Its tool `ping` says which arguments came."""

    def result(self, name: str, arguments: dict) -> Result:
        return text("pong", " ".join(sorted(arguments)))


def schema(label: str, given: object) -> None:
    """A server whose tool has this `inputSchema`."""
    one = {"name": "ping", "description": "ping", "inputSchema": given}
    case(f"schemas/{label}")(type(label, (WithSchema,), {"tools": [one]}))


def _nested(levels: int) -> dict:
    made: dict = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"value": made}}
    return made


INTEGER = {"type": "integer"}
ONE = {"type": "object", "properties": {"value": INTEGER}}

schema("refs", {"type": "object", "properties": {"value": {"$ref": "#/$defs/v"}}, "$defs": {"v": INTEGER}})
schema("ref_into_nothing", {"type": "object", "properties": {"value": {"$ref": "#/$defs/gone"}}})
schema("ref_to_itself", {"$ref": "#"})
schema("ref_of_a_file", {"type": "object", "properties": {"value": {"$ref": "file:///etc/passwd"}}})
schema("ref_of_a_url", {"type": "object", "properties": {"value": {"$ref": "http://127.0.0.1:9/schema.json"}}})
schema("one_of", {"type": "object", "properties": {"value": {"oneOf": [INTEGER, {"type": "null"}]}}})
schema("one_of_at_the_top", {"type": "object", "oneOf": [ONE, {"type": "object", "required": ["other"]}]})
schema(
    "recursive",
    {"type": "object", "properties": {"value": INTEGER, "next": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"$ref": "#"}}},
)
schema("draft_07", {"$schema": "http://json-schema.org/draft-07/schema#", **ONE, "definitions": {"v": INTEGER}})
schema("draft_unknown", {"$schema": "https://example.org/of-another-world", **ONE})
schema("types", {"type": "object", "properties": {"value": {"type": ["integer", "null"]}}})
schema("type_array", {"type": "array", "items": INTEGER})
schema("type_wrong", {"type": "dict", "properties": {"value": {"type": "int"}}})
schema("properties_wrong", {"type": "object", "properties": ["value"]})
schema("empty", {})
schema("true", True)
schema("null", None)
schema("required_unknown", {**ONE, "required": ["value", "value"]})
schema("odd_properties", {"type": "object", "properties": {"value": INTEGER, "a.b": {}, "": {}, "\U0001f600": {}, "$x": {}}})
schema("pattern_that_backtracks", {"type": "object", "properties": {"value": {"type": "string", "pattern": "^(a+)+$"}}})
schema("pattern_wrong", {"type": "object", "properties": {"value": {"type": "string", "pattern": "(["}}})
schema("of_300_levels", _nested(300))
schema("of_1_mb", {"type": "object", "properties": {f"p{number}": {"description": "x" * 1_000} for number in range(1_000)}})
schema("enum_of_10_000", {"type": "object", "properties": {"value": {"enum": list(range(10_000))}}})
schema("closed", {**ONE, "required": ["value"], "additionalProperties": False})
schema(
    "default_and_format", {"type": "object", "properties": {"value": {**INTEGER, "default": 7, "format": "int64", "x-a": 1}}}
)
case("schemas/missing")(type("missing", (WithSchema,), {"tools": [{"name": "ping", "description": "ping"}]}))
