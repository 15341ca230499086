"""The strict form of JSON schemas."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.define.strict_schema import NotStrictError, strict_json_schema, tidy_json_schema


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def closed(**properties: Any) -> dict[str, Any]:
    return {**obj(**properties), "required": list(properties), "additionalProperties": False}


TEXT = {"type": "string"}


def test_objects_are_closed_and_their_properties_required() -> None:
    given_schema = obj(a=obj(b=TEXT), c={"type": "array", "items": obj(d=TEXT)})
    before = copy.deepcopy(given_schema)
    assert strict_json_schema(given_schema) == closed(a=closed(b=TEXT), c={"type": "array", "items": closed(d=TEXT)})
    assert given_schema == before


def test_a_function_without_parameters_is_an_empty_object() -> None:
    assert strict_json_schema({"type": "object"}) == closed()


def test_titles_go_but_a_property_named_title_stays() -> None:
    schema = {"title": "T", **obj(title={"title": "Title", **TEXT}), "$defs": {"title": {"title": "x", **TEXT}}}
    assert tidy_json_schema(schema) == {**obj(title=TEXT), "$defs": {"title": TEXT}}
    assert strict_json_schema(schema) == {**closed(title=TEXT), "$defs": {"title": TEXT}}


def test_defaults_are_told_in_the_description() -> None:
    schema = obj(
        a={"default": "é", **TEXT}, b={"default": 2, "description": "How many", "type": "integer"}, c={"default": None, **TEXT}
    )
    assert strict_json_schema(schema)["properties"] == {
        "a": {**TEXT, "description": 'Default: "é"'},
        "b": {"type": "integer", "description": "How many (default: 2)"},
        "c": TEXT,
    }


def test_unions_keep_one_spelling() -> None:
    schema = obj(pet={"oneOf": [obj(a=TEXT), {"$ref": "#/$defs/D"}], "discriminator": {"propertyName": "a"}})
    assert strict_json_schema({**schema, "$defs": {"D": obj()}}) == {
        **closed(pet={"anyOf": [closed(a=TEXT), {"$ref": "#/$defs/D"}]}),
        "$defs": {"D": closed()},
    }


def test_a_single_all_of_is_merged_and_several_are_refused() -> None:
    assert strict_json_schema(obj(a={"allOf": [TEXT], "description": "d"})) == closed(a={**TEXT, "description": "d"})
    with pytest.raises(NotStrictError, match=r"'a' joins several schemas"):
        strict_json_schema(obj(a={"allOf": [TEXT, TEXT]}))


def test_a_reference_with_neighbours_takes_its_target_in() -> None:
    schema = {**obj(a={"$ref": "#/$defs/D", "description": "mine"}), "$defs": {"D": {"description": "theirs", **obj(b=TEXT)}}}
    assert strict_json_schema(schema)["properties"]["a"] == {**closed(b=TEXT), "description": "mine"}  # type: ignore[index]


def test_a_recursive_reference_with_neighbours_ends() -> None:
    node = obj(next={"$ref": "#/$defs/Node", "description": "the next one"})
    strict = strict_json_schema({**obj(first={"$ref": "#/$defs/Node", "description": "f"}), "$defs": {"Node": node}})
    assert strict["$defs"] == {"Node": closed(next={"$ref": "#/$defs/Node"})}
    assert strict["properties"] == {"first": {**closed(next={"$ref": "#/$defs/Node"}), "description": "f"}}


def test_tuples_become_arrays_of_fixed_length() -> None:
    pair = {"type": "array", "minItems": 2, "maxItems": 2}
    assert strict_json_schema(obj(p={**pair, "prefixItems": [TEXT, TEXT]})) == closed(p={**pair, "items": TEXT})
    mixed = {**pair, "prefixItems": [TEXT, {"type": "integer"}]}
    assert strict_json_schema(obj(p=mixed)) == closed(p={**pair, "items": {"anyOf": [TEXT, {"type": "integer"}]}})


def test_formats_and_keywords_providers_refuse_are_dropped() -> None:
    schema = obj(
        a={**TEXT, "format": "binary"}, b={**TEXT, "format": "date"}, c={"type": "array", "items": TEXT, "uniqueItems": True}
    )
    assert strict_json_schema(schema) == closed(a=TEXT, b={**TEXT, "format": "date"}, c={"type": "array", "items": TEXT})


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "object", "additionalProperties": TEXT}, "'a' is an object with free keys"),
        ({"type": "object", "additionalProperties": True}, "'a' is an object with free keys"),
        ({"type": "object"}, "'a' is an object with free keys"),
        ({"type": "object", "patternProperties": {"x": TEXT}}, "'a' is an object with free keys"),
        ({}, "'a' takes a value of any type"),
        ({"description": "x"}, "'a' takes a value of any type"),
        ({"type": "array"}, "'a' is an array of anything"),
        ({"type": "array", "items": {}}, r"'a\[\]' takes a value of any type"),
        ({"anyOf": [TEXT, {}]}, "'a' takes a value of any type"),
    ],
)
def test_what_has_no_strict_form_is_named(schema: dict[str, Any], told: str) -> None:
    with pytest.raises(NotStrictError, match=told):
        strict_json_schema(obj(a=schema))
    with pytest.raises(NotStrictError, match=r"'D\.a"):
        strict_json_schema({**obj(), "$defs": {"D": obj(a=schema)}})
    with pytest.raises(NotStrictError):
        strict_json_schema({"type": "object", "additionalProperties": True})


schemas = st.recursive(
    st.sampled_from(
        [TEXT, {"type": "integer", "default": 1}, {"enum": [1]}, {"$ref": "#/$defs/D"}, {"$ref": "#/$defs/D", "default": 1}]
    ),
    lambda inner: (
        st.builds(obj, a=inner, title=inner)
        | inner.map(lambda one: {"type": "array", "items": one, "title": "x"})
        | st.lists(inner, min_size=1, max_size=3).map(lambda arms: {"oneOf": arms})
    ),
    max_leaves=8,
)


@given(schemas, schemas)
def test_the_strict_form_is_strict_everywhere(one: dict[str, Any], definition: dict[str, Any]) -> None:
    target = definition if "$ref" not in definition else TEXT
    strict = strict_json_schema({**obj(one=one), "$defs": {"D": obj(d=target)}})

    def check(schema: Any) -> None:
        assert not schema.keys() & {"default", "oneOf", "allOf", "prefixItems", "discriminator", "title"}
        if "$ref" in schema:
            assert schema.keys() == {"$ref"}
        if schema.get("type") == "object":
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
        for inner in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
            check(inner)
        if "items" in schema:
            check(schema["items"])

    check(strict)
