"""JSON schemas in the form that providers can enforce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import UserError

_EMPTY: dict[str, Any] = {"additionalProperties": False, "type": "object", "properties": {}, "required": []}


def ensure_strict_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, changed so that every property is required and no other is allowed. Raises `UserError` where it cannot be."""
    if not schema and isinstance(cast(object, schema), dict):
        return {**_EMPTY, "properties": {}, "required": []}
    try:
        return _strict(schema, (), schema)
    except RecursionError:
        raise UserError("the schema is too deeply nested, expected one whose references come to an end") from None


def _strict(schema: Any, path: tuple[str, ...], root: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise TypeError(f"{schema!r} at {'/'.join(path) or 'the root'} is no JSON schema, expected a dict")
    node = cast("dict[str, Any]", schema)
    for name in ("$defs", "definitions"):
        definitions: dict[str, Any] = node.get(name) or {}
        for key, one in definitions.items():
            _strict(one, (*path, name, key), root)
    if "type" not in node and isinstance(node.get("properties"), dict):
        node["type"] = "object"
    kinds: Any = node.get("type")
    if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        if node.get("additionalProperties"):
            raise UserError(
                f"the schema at {'/'.join(path) or 'the root'} allows any further property, which strict schemas cannot; "
                "name the properties, or use strict_json_schema=False"
            )
        node["additionalProperties"] = False
    properties = node.get("properties")
    if isinstance(properties, dict):
        given = cast("dict[str, Any]", properties)
        node["required"] = list(given)
        node["properties"] = {key: _strict(one, (*path, "properties", key), root) for key, one in given.items()}
    if isinstance(node.get("items"), dict):
        node["items"] = _strict(node["items"], (*path, "items"), root)
    if isinstance(one_of := node.get("oneOf"), list):
        node["anyOf"] = [*(node.get("anyOf") or []), *cast("list[Any]", one_of)]
        node.pop("oneOf")
        node.pop("discriminator", None)
    for name in ("anyOf", "allOf"):
        if isinstance(choices := node.get(name), list):
            strict = [_strict(one, (*path, name, str(at)), root) for at, one in enumerate(cast("list[Any]", choices))]
            if name == "allOf" and len(strict) == 1:
                node.pop("allOf")
                node.update(strict[0])
            else:
                node[name] = strict
    if "default" in node and node["default"] is None:
        node.pop("default")
    if isinstance(ref := node.get("$ref"), str) and len(node) > 1:
        # A reference must stand alone: what it names is written here, with what stands beside it.
        node.pop("$ref")
        merged = {**_resolved(root, ref), **node}
        node.clear()
        node.update(merged)
        return _strict(node, path, root)
    return node


def _resolved(root: dict[str, Any], ref: str) -> dict[str, Any]:
    if not ref.startswith("#/"):
        raise ValueError(f"{ref!r} is no reference into the schema itself, expected one that begins with '#/'")
    found: Any = root
    for key in ref[2:].split("/"):
        found = found[unquote(key).replace("~1", "/").replace("~0", "~")]
    if not isinstance(found, dict):
        raise ValueError(f"{ref!r} leads to {type(found).__name__}, expected a schema")
    return cast("dict[str, Any]", found)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
