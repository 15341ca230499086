"""Paths into JSON values: `order.lines.0.cents`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

MISSING = object()
"""What a path leads to that leads nowhere."""


def value_at(values: Mapping[str, object], path: str) -> object:
    """What a path leads to, `MISSING` where it leads nowhere."""
    found: object = values
    for name in path.split("."):
        found = _inner(found, name)
    return found


def is_index(name: str) -> bool:
    """Whether a name in a path is a place in a list."""
    return name.isascii() and name.isdecimal() and len(name) < 10


def _inner(value: object, name: str) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name, MISSING)
    if isinstance(value, list) and is_index(name):
        entries = cast("Sequence[object]", value)
        return entries[int(name)] if int(name) < len(entries) else MISSING
    return MISSING
