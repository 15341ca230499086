"""Example values of a JSON schema: what a model could have said, made by chance from a seed."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError

_DEPTH = 4
"""So deep lists and optional parts are filled; below that a recursive schema ends."""

_FORMATS = {
    "date-time": "2026-03-14T15:09:26Z",
    "date": "2026-03-14",
    "time": "15:09:26Z",
    "duration": "PT90S",
    "uuid": "6f1c1d2e-3b4a-4c5d-8e6f-7a8b9c0d1e2f",
    "email": "ada@example.com",
    "uri": "https://example.com/page",
    "hostname": "example.com",
    "ipv4": "192.0.2.7",
    "ipv6": "2001:db8::7",
    "decimal": "1.5",
    "base64": "YWdlbnQ=",
    "byte": "YWdlbnQ=",
    "binary": "agent",
    "path": "notes/today.txt",
}
_WORDS = ("alpha", "bravo", "delta", "echo", "kilo", "lima", "oscar", "tango")


def example_of(schema: Mapping[str, object], chance: random.Random, what: str) -> Any:
    """A value that fits `schema`, by chance. `what` names the schema in the `UserError` raised where none is found."""
    return _Maker(schema, chance, what).value(schema, 0)


class _Maker:
    def __init__(self, root: Mapping[str, object], chance: random.Random, what: str) -> None:
        self._root = root
        self._chance = chance
        self._what = what

    def value(self, given: object, depth: int) -> Any:
        schema = self._resolved(given)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._chance.choice(cast("Sequence[object]", schema["enum"]))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._one_of(cast("Sequence[object]", schema[key]), depth)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kinds = cast("list[str]", kind)
            kind = "null" if depth > _DEPTH and "null" in kinds else next(one for one in kinds if one != "null")
        make = getattr(self, f"_{kind}", None)
        if make is None:
            raise self._unknown(f"of type {shown(kind)}")
        return make(schema, depth)

    def _resolved(self, given: object) -> Mapping[str, Any]:
        schema: dict[str, Any] = dict(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else {}
        while "$ref" in schema or "allOf" in schema:
            parts = list(schema.pop("allOf", ()))
            if "$ref" in schema:
                parts.append(self._at(str(schema.pop("$ref"))))
            for part in parts:
                schema = {**cast("Mapping[str, Any]", part), **schema}
        return schema

    def _at(self, reference: str) -> object:
        found: Any = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return found

    def _one_of(self, options: Sequence[object], depth: int) -> Any:
        resolved = [self._resolved(option) for option in options]
        if depth > _DEPTH:
            simple = [one for one in resolved if one.get("type") not in ("object", "array") and "properties" not in one]
            resolved = simple or resolved
        else:
            resolved = [one for one in resolved if one.get("type") != "null"] or resolved
        return self.value(self._chance.choice(resolved), depth + 1)

    def _null(self, schema: Mapping[str, Any], depth: int) -> None:
        return None

    def _boolean(self, schema: Mapping[str, Any], depth: int) -> bool:
        return self._chance.random() < 0.5

    def _integer(self, schema: Mapping[str, Any], depth: int) -> int:
        step = schema.get("multipleOf", 1)
        least, most = self._range(schema)
        low = math.floor(least) + 1 if schema.get("exclusiveMinimum") == least else math.ceil(least)
        high = math.ceil(most) - 1 if schema.get("exclusiveMaximum") == most else math.floor(most)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise self._unknown("with no whole number between its bounds")
        return int(self._chance.randint(first, last) * step)

    def _number(self, schema: Mapping[str, Any], depth: int) -> float:
        step = schema.get("multipleOf")
        least, most = self._range(schema)
        if step is not None:
            return float(self._chance.randint(math.ceil(least / step), math.floor(most / step)) * step)
        return float(least + (most - least) * self._chance.choice((0.25, 0.5, 0.75)))

    def _range(self, schema: Mapping[str, Any]) -> tuple[float, float]:
        low = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
        high = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
        least = max(low) if low else (min(high) - 100 if high else 0)
        most = min(high) if high else least + 100
        return least, most

    def _string(self, schema: Mapping[str, Any], depth: int) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        text = _FORMATS.get(str(schema.get("format"))) or self._chance.choice(_WORDS)
        pattern = schema.get("pattern")
        if pattern is not None:
            text = self._matching(str(pattern), text)
        elif "format" not in schema:
            while len(text) < least:
                text += " " + self._chance.choice(_WORDS)
            text = text if most is None else text[:most]
        if len(text) < least or (most is not None and len(text) > most):
            raise self._unknown(f"with a text of {least} to {most} characters")
        return text

    def _matching(self, pattern: str, text: str) -> str:
        tries = [text, "1", "12345", "A1", "a", "abc", "ABC", "AB-123", "1.0", "", *_FORMATS.values(), *_WORDS]
        for length in range(1, 13):
            tries += ["1" * length, "a" * length, "A" * length]
        try:
            return next(one for one in tries if re.search(pattern, one))
        except (StopIteration, re.error):
            raise self._unknown(f"with the pattern {shown(pattern)}") from None

    def _array(self, schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = [self.value(one, depth + 1) for one in schema.get("prefixItems", ())]
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        items = schema.get("items")
        if items is False or (items is None and first):
            return first
        wanted = max(least, len(first), 0 if depth > _DEPTH else len(first) + 1)
        wanted = wanted if most is None else min(wanted, most)
        found = first
        for _ in range(100):
            if len(found) >= wanted:
                return found
            value = self.value(items if items is not None else {}, depth + 1)
            if not (schema.get("uniqueItems") and value in found):
                found.append(value)
        raise self._unknown(f"with {wanted} different items")

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties: Mapping[str, object] = schema.get("properties", {})
        required = schema.get("required", ())
        found = {name: self.value(one, depth + 1) for name, one in properties.items() if name in required or depth <= _DEPTH}
        more: object = schema.get("additionalProperties", False)
        least = max(schema.get("minProperties", 0), 1 if isinstance(more, Mapping) and depth <= _DEPTH else 0)
        while isinstance(more, Mapping) and len(found) < least:
            found[f"key{len(found) + 1}"] = self.value(cast(object, more), depth + 1)
        return found

    def _unknown(self, why: str) -> UserError:
        return UserError(
            f"{self._what} has a schema {why}, from which no example can be made; give its arguments to the model: "
            "ToolCallingModel(arguments={'tool': {...}})"
        )
