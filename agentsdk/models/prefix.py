"""Requests that grow: each history item is encoded once, and every request begins with the bytes of the one before.

An adapter cuts the history into groups, each of which becomes whole messages of its protocol. A group that nothing can join any
more is kept, as JSON, in `Tape.derived`; only what follows it is encoded again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

import msgspec

from agentsdk.types.items import Item
from agentsdk.types.tape import Tape
from agentsdk.types.text import clean_value

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64

Group = tuple[int, Sequence[object], bool]
"""Where a group ends, the JSON values it makes, and whether another next item could have joined it."""


class _Encoded:
    """The groups of the first `count` items, comma-separated; `joinable`: another next item could have joined the last."""

    __slots__ = ("count", "data", "joinable")

    def __init__(self) -> None:
        self.data = bytearray()
        self.count = 0
        self.joinable = False


def encode_growing(
    owner: Hashable, items: Tape[Item], tail: Sequence[Item], group: Callable[[Sequence[Item], int], Group]
) -> bytes:
    """The JSON values of `items` and `tail`, comma-separated. Equal owners share what is encoded.

    `group(items, start)` is the group that begins at `start`. What it gives may depend on nothing before `start`, and on what
    follows only as far as `joinable` says.
    """
    known = items.derived.get(owner)
    if not isinstance(known, _Encoded):
        known = items.derived[owner] = _Encoded()
    if known.count > len(items) or (known.joinable and tail and known.count == len(items)):
        known = _Encoded()  # this tape is shorter than the one that was encoded
    new = items[known.count :]
    start = 0
    while start < len(new):
        end, values, joinable = group(new, start)
        if joinable and end == len(new):
            break
        known.data += _joined(known.data, values)
        known.count += end - start
        known.joinable = joinable
        start = end
    rest = [*new[start:], *tail]
    if not rest:
        return bytes(known.data)
    data = known.data[:]
    start = 0
    while start < len(rest):
        start, values, _ = group(rest, start)
        data += _joined(data, values)
    return bytes(data)


def _joined(data: bytearray, values: Sequence[object]) -> bytes:
    encoded = b",".join(map(to_json, values))
    return b"," + encoded if data and encoded else encoded


def to_json(value: object) -> bytes:
    """`value` as JSON; lone surrogates, which UTF-8 cannot carry, are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_value(value))


def usable_name(name: str) -> str:
    """A tool's name that providers take: a garbled one that the model invented would have every later request refused."""
    if name.isidentifier() and name.isascii() and len(name) <= _MAX_NAME:
        return name
    return _NOT_IN_A_NAME.sub("_", name)[:_MAX_NAME] or "unknown"
