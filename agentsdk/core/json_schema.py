"""Validation of a value against a JSON schema without a Python type: the arguments of a hand-made `FunctionTool`, an answer.

Checked is what a schema says of shape: `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`,
`anyOf`, `oneOf`, `allOf`, and `$ref` into the schema itself. Whatever else it says (`pattern`, `format`, `minimum`, ...) is the
tool's: what is not understood here refuses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from agentsdk.core.problems import MAX_NAME, describe_kind, list_problems
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import InvalidArgumentsError

_MAX_REFERENCES = 64

KIND_NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
}


def check_arguments(schema: JsonObject, arguments: Mapping[str, object]) -> None:
    """Raises `InvalidArgumentsError` naming each argument that is wrong, missing or unknown, and what was expected."""
    if problems := problems_with(schema, dict(arguments)):
        raise InvalidArgumentsError(list_problems(problems))


def problems_with(schema: JsonObject, value: object) -> list[str]:
    """What in a JSON value does not fit `schema`, and what was expected."""
    problems: list[str] = []
    try:
        _check(schema, value, "", schema, problems)
    except RecursionError:  # a schema that refers to itself for the same value says nothing
        return []
    return problems


def _check(given: object, value: object, path: str, root: JsonObject, problems: list[str]) -> None:
    schema = resolved(given, root)
    if schema is None:
        return
    where = path or "the whole"
    kinds = kinds_of(schema.get("type"))
    if kinds and not any(_is(kind, value) for kind in kinds):
        problems.append(f"{where}: expected {' or '.join(map(KIND_NAMES.__getitem__, kinds))}, got {describe_kind(value)}")
        return
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list) and not any(_equal(choice, value) for choice in cast("list[object]", choices)):
        expected = ", ".join(repr(choice) for choice in cast("list[object]", choices))
        problems.append(f"{where}: expected one of {expected}, got {describe_kind(value)}")
        return
    for keyword in ("anyOf", "oneOf"):
        arms = schema.get(keyword)
        if isinstance(arms, list) and arms:
            _check_any(cast("list[object]", arms), value, path, root, problems)
    every = schema.get("allOf")
    if isinstance(every, list):
        for arm in cast("list[object]", every):
            _check(arm, value, path, root, problems)
    if isinstance(value, dict):
        _check_object(schema, cast(JsonObject, value), path, root, problems)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for position, entry in enumerate(cast("list[object]", value)):
            _check(schema["items"], entry, f"{path}[{position}]", root, problems)


def _check_any(arms: list[object], value: object, path: str, root: JsonObject, problems: list[str]) -> None:
    """One arm must fit; if none does, the problems of the arm with the fewest are reported."""
    best: list[str] | None = None
    for arm in arms:
        found: list[str] = []
        _check(arm, value, path, root, found)
        if not found:
            return
        if best is None or len(found) < len(best):
            best = found
    problems.extend(best or ())


def _check_object(schema: JsonObject, value: JsonObject, path: str, root: JsonObject, problems: list[str]) -> None:
    given = schema.get("properties")
    properties: JsonObject = cast(JsonObject, given) if isinstance(given, dict) else {}
    required = schema.get("required")
    for name in cast("list[object]", required) if isinstance(required, list) else ():
        if isinstance(name, str) and name not in value:
            kinds = kinds_of((resolved(properties.get(name), root) or {}).get("type"))
            expected = f", expected {' or '.join(map(KIND_NAMES.__getitem__, kinds))}" if kinds else ""
            problems.append(f"{_at(path, name)}: missing{expected}")
    more = schema.get("additionalProperties")
    for name, inner in value.items():
        if name in properties:
            _check(properties[name], inner, _at(path, name), root, problems)
        elif more is False and "patternProperties" not in schema:
            problems.append(f"{_at(path, name)}: unknown, expected only {list(properties)}")
        elif isinstance(more, dict):
            _check(cast(object, more), inner, _at(path, name), root, problems)


def resolved(given: object, root: JsonObject) -> JsonObject | None:
    """The schema itself, references into `root` followed; None for what cannot be."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(given, dict):
            return None
        schema = cast(JsonObject, given)
        reference = schema.get("$ref")
        if reference is None:
            return schema
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        given = cast(object, root)
        for step in reference.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            given = cast(JsonObject, given).get(name) if isinstance(given, dict) else None
    return None


def kinds_of(given: object) -> list[str]:
    """The kinds that a `type` names; none where it names one that is not JSON's."""
    kinds = [given] if isinstance(given, str) else given
    if not isinstance(kinds, list):
        return []
    named = [kind for kind in cast("list[object]", kinds) if isinstance(kind, str) and kind in KIND_NAMES]
    return named if len(named) == len(cast("list[object]", kinds)) else []


def _is(kind: str, value: object) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _equal(choice: object, value: object) -> bool:
    """Equal as JSON: true is not 1."""
    return choice == value and isinstance(choice, bool) == isinstance(value, bool)


def _at(path: str, name: str) -> str:
    return f"{path}.{name[:MAX_NAME]}" if path else name[:MAX_NAME]
