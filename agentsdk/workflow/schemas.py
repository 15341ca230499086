"""Whether what one step gives fits what another takes, by their JSON schemas. What is not known to clash is taken to fit."""

from __future__ import annotations

from typing import NamedTuple, cast

from agentsdk.core.json_schema import KIND_NAMES, kinds_of, resolved
from agentsdk.core.problems import MAX_NAME
from agentsdk.types.base import JsonObject
from agentsdk.workflow.paths import is_index

_MAX_DEPTH = 6


class Schema(NamedTuple):
    """A schema, and the one around it that its references lead into."""

    schema: object
    root: JsonObject

    @property
    def plain(self) -> JsonObject:
        """It, references followed."""
        return resolved(self.schema, self.root) or {}

    @property
    def arms(self) -> list[Schema]:
        """What it may be one of: itself alone, mostly."""
        plain = self.plain
        given = plain.get("anyOf") or plain.get("oneOf")
        return [Schema(arm, self.root) for arm in cast("list[object]", given)] if isinstance(given, list) else [self]

    @property
    def properties(self) -> JsonObject:
        """Those of an object."""
        given = self.plain.get("properties")
        return cast(JsonObject, given) if isinstance(given, dict) else {}

    @property
    def is_closed(self) -> bool:
        """Whether values have no other properties: a type says all that it writes."""
        return "properties" in self.plain and not self.plain.get("additionalProperties")

    def inner(self, key: str) -> Schema:
        """The schema under a keyword."""
        return Schema(self.plain.get(key, {}), self.root)


def clash(given: Schema, wanted: Schema, depth: int = 0) -> str:
    """Why no value of `given` fits `wanted`; `""` where one may."""
    if depth > _MAX_DEPTH:
        return ""
    found = ""
    for arm in given.arms:
        for target in wanted.arms:
            why = _clash(arm, target, depth)
            if not why:
                return ""
            found = found or why
    return found


def schema_at(given: Schema, path: list[str]) -> Schema | str:
    """The schema of what a path leads to in a value; why it leads nowhere, where that is known."""
    for name in path:
        found: list[object] = []
        why = ""
        for arm in given.arms:
            inner = _step_into(arm, name)
            if isinstance(inner, str):
                why = why or inner
            else:
                found.append(inner.schema)
        if not found:
            return why
        given = Schema(found[0] if len(found) == 1 else {"anyOf": found}, given.root)
    return given


def _clash(given: Schema, wanted: Schema, depth: int) -> str:
    has, takes = _kinds(given), _kinds(wanted)
    if has and takes and has.isdisjoint(takes):
        return f"is {_named(has)}, expected {_named(takes)}"
    if has == takes == {"object"}:
        properties = given.properties
        required = wanted.plain.get("required")
        for name in cast("list[str]", required) if isinstance(required, list) else ():
            if name not in properties and given.is_closed:
                return f"has no {name!r}"
        for name, schema in wanted.properties.items():
            if name in properties:
                why = clash(Schema(properties[name], given.root), Schema(schema, wanted.root), depth + 1)
                if why:
                    return f"has a {name!r} that {why}"
    if has == takes == {"array"}:
        why = clash(given.inner("items"), wanted.inner("items"), depth + 1)
        if why:
            return f"has entries of which each {why}"
    return ""


def _step_into(given: Schema, name: str) -> Schema | str:
    plain, kinds = given.plain, _kinds(given)
    if name in given.properties:
        return Schema(given.properties[name], given.root)
    if kinds == {"array"} and is_index(name):
        return given.inner("items")
    if kinds and not kinds & {"object", "array"}:
        return f"is {_named(kinds)}, which has no {name[:MAX_NAME]!r}"
    if kinds == {"array"}:
        return f"is an array, which has no {name[:MAX_NAME]!r}; expected a number"
    if given.is_closed:
        return f"has no {name[:MAX_NAME]!r}, expected one of {list(given.properties)}"
    more = plain.get("additionalProperties")
    return Schema(cast(object, more) if isinstance(more, dict) else {}, given.root)


def _kinds(given: Schema) -> set[str]:
    """Of a whole number that it is a number: one may be the other."""
    return {"number" if kind == "integer" else kind for kind in kinds_of(given.plain.get("type"))}


def _named(kinds: set[str]) -> str:
    return " or ".join(sorted(map(KIND_NAMES.__getitem__, kinds)))
