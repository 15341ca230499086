"""A request's history as bytes: each item is encoded once in a run, not once in every request.

Every request of a run begins with the items of the one before. So an adapter divides the history into groups, each of which
becomes complete messages of its protocol. A group that no later item can join is final, and its JSON is kept with the items, in
`Tape.derived`. Only what follows the last final group is encoded again. A turn then costs what it adds, and a provider that
caches prefixes receives the same bytes again.

A large value (a picture of 5 MB) is kept as one object that all requests send from where it is; it is never copied into them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.items import Item
from agentsdk.types.tape import Tape
from agentsdk.types.text import clean_value

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64
_decode = msgspec.json.Decoder().decode

Group = tuple[int, Sequence[object], bool]
"""Where a group ends, the JSON values it makes, and whether another next item could have joined it."""


PIECE = 256 * 1024
"""JSON of so many bytes or more (a picture, a long result) stays the one object that all requests send, and is not copied."""


class Pieces:
    """A request's body, or a part of it, that is too large to be copied together: `bytes(pieces)` would do that."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[bytes]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __bytes__(self) -> bytes:
        return b"".join(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pieces) and bytes(self) == bytes(other)

    __hash__ = None  # type: ignore[assignment]

    def startswith(self, prefix: bytes) -> bool:
        """Whether the first part begins with `prefix`."""
        return self.parts[0].startswith(prefix)


Body = bytes | Pieces


def framed(before: bytes, body: Body, after: bytes = b"") -> Body:
    """`body` between `before` and `after`."""
    if isinstance(body, bytes):
        return b"%b%b%b" % (before, body, after)
    return Pieces((before, *body.parts, after) if after else (before, *body.parts))


def sha256_of(body: Body) -> str:
    """The SHA-256 of `body`, in hex."""
    from hashlib import sha256

    digest = sha256()
    for part in (body,) if isinstance(body, bytes) else body.parts:
        digest.update(part)
    return digest.hexdigest()


class _Encoded:
    """The groups of the first `count` items, comma-separated; `joinable`: another next item could have joined the last.

    `data` follows on `parts`, which end where a large value does.
    """

    __slots__ = ("count", "data", "joinable", "parts")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.data = bytearray()
        self.count = 0
        self.joinable = False

    def add(self, values: Sequence[object]) -> None:
        """Append JSON values."""
        for value in values:
            encoded = to_json(value)
            if self.data or self.parts:
                self.data += b","
            if len(encoded) < PIECE:
                self.data += encoded
                continue
            if self.data:
                self.parts.append(bytes(self.data))
                self.data.clear()
            self.parts.append(encoded)

    def copy(self) -> _Encoded:
        """Another one, to be added to. The parts are shared."""
        copy = _Encoded()
        copy.parts = self.parts[:]
        copy.data = self.data[:]
        return copy

    def body(self) -> Body:
        """All of it."""
        if not self.parts:
            return bytes(self.data)
        return Pieces([*self.parts, bytes(self.data)] if self.data else self.parts[:])


def encode_growing(
    owner: Hashable, items: Tape[Item], tail: Sequence[Item], group: Callable[[Sequence[Item], int], Group]
) -> Body:
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
        known.add(values)
        known.count += end - start
        known.joinable = joinable
        start = end
    rest = [*new[start:], *tail]
    if not rest:
        return known.body()
    whole = known.copy()
    start = 0
    while start < len(rest):
        start, values, _ = group(rest, start)
        whole.add(values)
    return whole.body()


def to_json(value: object) -> bytes:
    """`value` as JSON; lone surrogates, which UTF-8 cannot carry, are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(clean_value(value))


def usable_arguments(arguments: str) -> str:
    """A call's arguments as every server reads them: `{}` for those that the run refused, which a strict server would too."""
    try:
        parsed = parse_arguments(arguments)
    except InvalidArgumentsError:
        return "{}"
    if "\\u" not in arguments and arguments.isascii() and "{" in arguments:
        return arguments
    try:
        _decode(arguments)
    except (msgspec.DecodeError, UnicodeError):  # blank, or with half of a surrogate pair
        return to_json(parsed).decode()
    return arguments


def usable_name(name: str) -> str:
    """A tool's name that providers take: a garbled one that the model invented would have every later request refused."""
    if name.isidentifier() and name.isascii() and len(name) <= _MAX_NAME:
        return name
    return _NOT_IN_A_NAME.sub("_", name)[:_MAX_NAME] or "unknown"
