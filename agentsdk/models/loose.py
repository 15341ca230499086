"""Tolerant (lenient) reading of JSON that a provider may have shaped otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar, cast

import msgspec
from msgspec import Raw

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import MalformedResponseError
from agentsdk.types.loose import as_list as as_list
from agentsdk.types.loose import as_object as as_object
from agentsdk.types.loose import as_text as as_text
from agentsdk.types.text import clean_value

T = TypeVar("T")

MAX_DEPTH = 100
"""How deep what is kept of a reply may nest."""

_OBJECT = msgspec.json.Decoder(dict[str, Raw])


def as_count(value: object) -> int | None:
    """`value` as a whole number if it can be a count of tokens, else None."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53:
        return int(value)
    return None


def storable(value: T) -> T:
    """What is stored of a reply, JSON-like: `value` with its lone surrogates replaced.

    Raises `MalformedResponseError` where it nests deeper than `MAX_DEPTH`: it could not be saved, compared or sent again.
    """
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return clean_value(value)
    raise MalformedResponseError(f"the reply nests deeper than {MAX_DEPTH} levels, expected no more; ask again")


def storable_json(value: object) -> str:
    """`value`, JSON-like, as text that can be stored. Raises like `kept`."""
    return json.dumps(storable(value), ensure_ascii=False)


def _inside(value: object) -> Iterable[object]:
    inside: Iterable[object] = cast(JsonObject, value).values() if isinstance(value, dict) else as_list(value)
    return filter(_is_container, inside)


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list)


def is_object(text: str) -> bool:
    """Whether `text` is one complete JSON object."""
    try:
        _OBJECT.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True
