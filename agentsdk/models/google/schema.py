"""JSON schema as Google takes it: what it does not know is left out, or expressed in what it knows.

What is left out only constrains less: the SDK checks arguments and outputs against the whole schema itself.
"""

from __future__ import annotations

from agentsdk.models.loose import as_list, as_object
from agentsdk.types.base import JsonObject

_KEPT = frozenset(
    {
        "$ref",
        "$id",
        "$anchor",
        "type",
        "title",
        "description",
        "enum",
        "required",
        "format",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "propertyOrdering",
    }
)
_FORMATS = ("date-time", "date", "time", "duration")


def to_google(schema: object) -> object:
    """`schema` in Google's subset. A schema that is no object (`true`) stays as it is."""
    given = as_object(schema)
    if not given:
        return schema
    made: JsonObject = {}
    for name, value in given.items():
        if name in ("properties", "$defs"):
            made[name] = {key: to_google(inner) for key, inner in as_object(value).items()}
        elif name in ("items", "additionalProperties"):
            made[name] = to_google(value)
        elif name in ("anyOf", "oneOf"):
            made["anyOf"] = [to_google(inner) for inner in as_list(value)]
        elif name == "prefixItems":
            made[name] = [to_google(inner) for inner in as_list(value)]
        elif name == "const":
            made["enum"] = [value]
        elif name in _KEPT and not (name == "format" and value not in _FORMATS and given.get("type") == "string"):
            made[name] = value
    for part in as_list(given.get("allOf")):
        made = _both(as_object(to_google(part)), made)
    return made


def _both(one: JsonObject, other: JsonObject) -> JsonObject:
    """What fits both, as far as the top level goes."""
    made = {**one, **other}
    for name in ("properties", "$defs"):
        if name in one and name in other:
            made[name] = {**as_object(one[name]), **as_object(other[name])}
    if "required" in one and "required" in other:
        made["required"] = list(dict.fromkeys([*as_list(one["required"]), *as_list(other["required"])]))
    return made
