from __future__ import annotations

from agentsdk.models.google.schema import to_google


def test_what_google_knows_stays() -> None:
    schema: dict[str, object] = {
        "type": "object",
        "title": "T",
        "properties": {
            "a": {"type": ["string", "null"], "description": "d", "enum": ["x"]},
            "when": {"type": "string", "format": "date-time"},
            "n": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 9},
            "tree": {"$ref": "#/$defs/Tree"},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}], "minItems": 2, "maxItems": 2},
        },
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"Tree": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Tree"}]}}},
    }
    assert to_google(schema) == schema


def test_what_it_does_not_know_is_left_out_or_said_otherwise() -> None:
    assert to_google(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "default": {},
            "properties": {
                "pattern": {"type": "string", "pattern": "^a", "minLength": 1, "format": "uri", "examples": ["a"]},
                "kind": {"const": "x"},
                "n": {"type": "number", "exclusiveMinimum": 0},
                "either": {"oneOf": [{"type": "string", "maxLength": 3}], "discriminator": {"propertyName": "kind"}},
                "any": True,
            },
        }
    ) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "kind": {"enum": ["x"]},
            "n": {"type": "number"},
            "either": {"anyOf": [{"type": "string"}]},
            "any": True,
        },
    }


def test_all_of_is_merged() -> None:
    parts: list[object] = [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b"]},
    ]
    merged = to_google({"description": "both", "allOf": parts})
    assert merged == {
        "description": "both",
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "required": ["b", "a"],
    }


def test_the_schema_given_is_not_changed() -> None:
    schema: dict[str, object] = {"type": "object", "properties": {"a": {"const": 1}}}
    to_google(schema)
    assert schema == {"type": "object", "properties": {"a": {"const": 1}}}
