"""Parameter types simple enough to do without pydantic: their JSON schema and their check, by hand.

Text, numbers, booleans, None, `Literal` strings, lists of these and unions of these make up most tools. By hand a tool of
them costs a few microseconds, where a pydantic model costs hundreds and its import tens of milliseconds.
"""

from __future__ import annotations

from types import UnionType
from typing import Literal, NamedTuple, Union, cast, get_args, get_origin

from agentsdk.core.problems import describe_kind, name_of_kind
from agentsdk.types.base import JsonObject

_NONE = type(None)
_NAMES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean", _NONE: "null", list: "array"}


class PlainType(NamedTuple):
    """A union of JSON kinds; `choices` narrows its strings, `items` is what its lists hold."""

    kinds: tuple[type, ...]
    choices: tuple[str, ...] = ()
    items: PlainType | None = None

    def check(self, value: object, path: str, problems: list[str]) -> object:
        """The value, lists copied, an integer as float where only numbers fit; what does not fit is added to `problems`."""
        kind = type(value)
        if kind in self.kinds:
            if kind is list and self.items is not None:
                check = self.items.check
                entries = cast("list[object]", value)
                return [check(entry, f"{path}[{position}]", problems) for position, entry in enumerate(entries)]
            if not self.choices or kind is not str or value in self.choices:
                return value
        elif kind is int and float in self.kinds:
            try:
                return float(cast(int, value))
            except OverflowError:
                problems.append(f"{path}: expected a number, got one that is too large")
                return value
        problems.append(f"{path}: expected {self.expected()}, got {describe_kind(value)}")
        return value

    def expected(self) -> str:
        """What fits, as text."""
        choices = "one of " + ", ".join(map(repr, self.choices))
        return " or ".join(choices if kind is str and self.choices else name_of_kind(kind) for kind in self.kinds)

    def schema(self) -> JsonObject:
        """The JSON schema."""
        arms = [self._arm(kind) for kind in self.kinds]
        return arms[0] if len(arms) == 1 else {"anyOf": arms}

    def _arm(self, kind: type) -> JsonObject:
        arm: JsonObject = {"type": _NAMES[kind]}
        if kind is str and self.choices:
            arm["enum"] = list(self.choices)
        if kind is list and self.items is not None:
            arm["items"] = self.items.schema()
        return arm


_SCALARS = {kind: PlainType((kind,)) for kind in (str, int, float, bool, _NONE)}


def plain_type(annotation: object) -> PlainType | None:
    """The plain form of a type annotation, or None where it takes pydantic."""
    if isinstance(annotation, type) and annotation in _SCALARS:
        return _SCALARS[annotation]
    if annotation is None:
        return _SCALARS[_NONE]
    origin = get_origin(annotation)
    if origin is list:
        items = plain_type(get_args(annotation)[0])
        return items and PlainType((list,), (), items)
    if origin is Literal:
        values = get_args(annotation)
        return PlainType((str,), values) if all(type(value) is str for value in values) else None
    if origin is UnionType or origin is Union:
        return _union([plain_type(arm) for arm in get_args(annotation)])
    return None


def _union(arms: list[PlainType | None]) -> PlainType | None:
    kinds: list[type] = []
    choices: tuple[str, ...] = ()
    items: PlainType | None = None
    for arm in arms:
        if arm is None or any(kind in kinds for kind in arm.kinds):
            return None
        kinds.extend(arm.kinds)
        choices = choices or arm.choices
        items = items or arm.items
    return PlainType(tuple(kinds), choices, items)
