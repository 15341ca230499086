"""Strict JSON schemas, the form that providers can enforce; and schemas as they take them, without noise.

The strict form is that of OpenAI's structured outputs: every object closed, every property required, no `default`, `oneOf` or
tuple form, no `format` of another list. A default goes into the property's description, where the model still reads it.
"""

from __future__ import annotations

import json
from typing import cast

from agentsdk.types.base import JsonObject

_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")

_REFUSED = ("discriminator", "uniqueItems")
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")


class NotStrictError(ValueError):
    """The schema has no strict form; the message says where and why."""


def tidy_json_schema(schema: JsonObject) -> JsonObject:
    """A copy without the titles that pydantic makes up from names: they cost tokens and say nothing."""
    return _tidy(schema)


def strict_json_schema(schema: JsonObject) -> JsonObject:
    """A tidy copy in the strict form. Raises `NotStrictError` where there is none: free-form objects, values of any type."""
    tidy = _tidy(schema)
    definitions = cast("dict[str, JsonObject]", tidy.pop("$defs", {}))
    walk = _Strict(definitions)
    strict = walk.schema(tidy, "")
    if definitions:
        strict["$defs"] = {name: walk.schema(body, name, (name,)) for name, body in definitions.items()}
    return strict


def _tidy(schema: JsonObject) -> JsonObject:
    tidy = {key: value for key, value in schema.items() if key != "title"}
    for key, value in tidy.items():
        if key in ("properties", "$defs"):
            tidy[key] = {name: _tidy(inner) for name, inner in cast("dict[str, JsonObject]", value).items()}
        elif key in _SEVERAL:
            tidy[key] = [_tidy(inner) for inner in cast("list[JsonObject]", value)]
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            tidy[key] = _tidy(cast(JsonObject, value))
    return tidy


class _Strict:
    def __init__(self, definitions: dict[str, JsonObject]) -> None:
        self.definitions = definitions

    def schema(self, schema: JsonObject, where: str, inlined: tuple[str, ...] = ()) -> JsonObject:
        """The strict form of one schema. `inlined` are the definitions around it, so that recursion ends."""
        strict = {key: value for key, value in schema.items() if key not in _REFUSED}
        if strict.get("format") not in _FORMATS:
            strict.pop("format", None)
        if "default" in strict:
            _describe_default(strict, strict.pop("default"))
        if "$ref" in strict and len(strict) > 1:
            # A reference may not have neighbors: its target takes them in, or loses them where it refers to itself.
            name = cast(str, strict["$ref"]).rpartition("/")[2]
            if name in inlined:
                return {"$ref": strict["$ref"]}
            beside = {key: value for key, value in strict.items() if key != "$ref"}
            return self.schema({**self.definitions[name], **beside}, where, (*inlined, name))
        if "oneOf" in strict:
            strict["anyOf"] = strict.pop("oneOf")
        if "allOf" in strict:
            branches = cast("list[JsonObject]", strict.pop("allOf"))
            if len(branches) != 1:
                raise NotStrictError(_message(where, "joins several schemas"))
            return self.schema({**branches[0], **strict}, where, inlined)
        if "anyOf" in strict:
            strict["anyOf"] = [self.schema(arm, where, inlined) for arm in cast("list[JsonObject]", strict["anyOf"])]
        kind = strict.get("type")
        if kind == "object":
            self._object(strict, where, inlined)
        elif kind == "array":
            self._array(strict, where, inlined)
        elif kind is None and not strict.keys() & {"$ref", "anyOf", "enum", "const"}:
            raise NotStrictError(_message(where, "takes a value of any type"))
        return strict

    def _object(self, strict: JsonObject, where: str, inlined: tuple[str, ...]) -> None:
        if strict.get("additionalProperties") or "patternProperties" in strict:
            raise NotStrictError(_message(where, "is an object with free keys"))
        if "properties" not in strict and where:
            raise NotStrictError(_message(where, "is an object with free keys"))
        given = cast("dict[str, JsonObject]", strict.get("properties", {}))
        properties = {name: self.schema(inner, f"{where}.{name}" if where else name, inlined) for name, inner in given.items()}
        strict.update(properties=properties, required=list(properties), additionalProperties=False)

    def _array(self, strict: JsonObject, where: str, inlined: tuple[str, ...]) -> None:
        fixed = cast("list[JsonObject]", strict.pop("prefixItems", []))
        if fixed:
            arms = [arm for position, arm in enumerate(fixed) if arm not in fixed[:position]]
            strict["items"] = arms[0] if len(arms) == 1 else {"anyOf": arms}
        if not isinstance(strict.get("items"), dict):
            raise NotStrictError(_message(where, "is an array of anything"))
        strict["items"] = self.schema(cast(JsonObject, strict["items"]), f"{where}[]", inlined)


def _describe_default(strict: JsonObject, default: object) -> None:
    if default is not None:
        text = json.dumps(default, ensure_ascii=False)
        described = strict.get("description")
        strict["description"] = f"{described} (default: {text})" if described else f"Default: {text}"


def _message(where: str, what: str) -> str:
    return f"{where!r} {what}" if where else f"the value {what}"
