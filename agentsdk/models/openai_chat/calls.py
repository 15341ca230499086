"""Tool calls put together from pieces, whatever the server left out.

A piece belongs to the call with its index (unless it brings another id), else to the call with its id, else to the call that is
open. Calls end up ordered by index, those without one as they came. The work is linear in what comes, however it is divided.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentsdk.models.loose import as_object, is_object, storable_json
from agentsdk.models.openai_chat.wire import WireCall
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall
from agentsdk.types.text import clean_text

_MAX_NAME = 1_000
_MARKS = re.compile(r'["\\{}\[\]]')


class OpenCall:
    """A call that is being put together; `number` counts them as they begin.

    `kind` is its type where that is none of a function's, `extra` what came beside it that must go back with it.
    """

    __slots__ = (
        "_arguments",
        "_is_named",
        "_scan",
        "extra",
        "fallback_id",
        "id",
        "index",
        "kind",
        "name",
        "number",
        "output_index",
    )

    def __init__(self, number: int, index: int | None) -> None:
        self.number = number
        self.index = index
        self.id = ""
        self.name = ""
        self.fallback_id = ""
        self.output_index = 0
        self.kind = ""
        self.extra: JsonObject = {}
        self._arguments: list[str] = []
        self._is_named = False  # arguments came after its name, which is complete then
        self._scan = _ObjectScan()

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self._arguments)

    def add(self, wire: WireCall) -> str:
        """Take a piece; the arguments it brings."""
        self.id = self.id or wire.id or ""
        if wire.extra_content is not None:
            self.extra = as_object(wire.extra_content) or self.extra
        function = wire.function
        if function is None:
            self.kind = self.kind or ("" if wire.type in (None, "function") else wire.type or "")
            return ""
        self._add_name(function.name or "")
        arguments = _json_text(function.arguments)
        if arguments:
            self._arguments.append(arguments)
            self._is_named = bool(self.name)
        return arguments

    def _add_name(self, name: str) -> None:
        """One name repeated with every piece is one name; one that comes in pieces comes without arguments between them."""
        if name and not self._is_named and len(self.name) < _MAX_NAME:
            self.name = name if name.startswith(self.name) else self.name + name

    @property
    def is_whole(self) -> bool:
        """Whether it has its name, and arguments after that are one complete object."""
        return self._is_named and self._scan.is_whole(self._arguments)

    def item(self, *, arguments: str | None = None) -> FunctionCall:
        """The call as an item; a server that sends no arguments at all means none."""
        text = clean_text(self.arguments) or "{}" if arguments is None else arguments
        return FunctionCall(clean_text(self.id) or self.fallback_id, clean_text(self.name), text)


class CallAssembler:
    """The calls of one reply."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}  # the newest of each
        self._by_id: dict[str, OpenCall] = {}  # the first of each

    @property
    def kinds(self) -> list[str]:
        """The types of calls that are none of a function."""
        return [call.kind for call in self._calls if call.kind]

    def add(self, wire: WireCall, position: int | None) -> tuple[OpenCall, str, bool]:
        """Take a piece, or (given its `position` in the list) a complete call.

        Returns the call, the arguments it brings, and whether it is new.
        """
        call = self._find(wire) if position is None else None
        is_new = call is None
        if call is None:
            call = OpenCall(len(self._calls), position if position is not None else wire.index)
            self._calls.append(call)
            if call.index is not None:
                self._by_index[call.index] = call
        arguments = call.add(wire)
        if wire.id:
            self._by_id.setdefault(wire.id, call)
        return call, arguments, is_new

    def _find(self, wire: WireCall) -> OpenCall | None:
        if not self._calls:
            return None
        if wire.index is not None:
            call = self._by_index.get(wire.index)
            if call is None or (wire.id and call.id and wire.id != call.id):
                return None
            return None if not wire.id and self._is_next(call, wire, same_name_too=False) else call
        if wire.id:
            return self._by_id.get(wire.id)
        call = self._calls[-1]
        return None if self._is_next(call, wire, same_name_too=True) else call

    def _is_next(self, call: OpenCall, wire: WireCall, *, same_name_too: bool) -> bool:
        """Whether a piece without an id begins another call: it names a function, and the call before it is complete."""
        name = wire.function.name if wire.function else None
        return bool(name) and (same_name_too or name != call.name) and call.is_whole

    def in_order(self) -> Sequence[OpenCall]:
        """The calls, ordered."""
        return sorted(self._calls, key=lambda call: call.number if call.index is None else call.index)

    def items(self) -> list[FunctionCall]:
        """The calls as items, ordered."""
        return [call.item() for call in self.in_order()]


class _ObjectScan:
    """Whether text that comes in pieces is one complete JSON object by now. Each piece is scanned once."""

    __slots__ = ("_depth", "_is_escaped", "_is_text", "_seen", "_verdict")

    def __init__(self) -> None:
        self._seen = 0
        self._depth = 0
        self._is_text = self._is_escaped = False
        self._verdict: bool | None = None  # once the outermost bracket has closed

    def is_whole(self, pieces: list[str]) -> bool:
        """Whether the joined `pieces`, to which some may have been added since it was last asked, are one."""
        while self._seen < len(pieces):
            piece = pieces[self._seen]
            self._seen += 1
            if self._verdict is None:
                if self._closes(piece):
                    self._verdict = is_object("".join(pieces[: self._seen]))
            elif piece.strip():
                self._verdict = False
        return self._verdict is True

    def _closes(self, piece: str) -> bool:
        skipped = 0 if self._is_escaped and piece else -1  # what a backslash at the end of the last piece escapes
        self._is_escaped = self._is_escaped and not piece
        for found in _MARKS.finditer(piece):
            mark, at = found.group(), found.start()
            if at == skipped:
                continue
            if self._is_text:
                if mark == "\\":
                    skipped = at + 1
                    self._is_escaped = skipped == len(piece)
                self._is_text = mark != '"'
            elif mark == '"':
                self._is_text = True
            elif mark in "{[":
                self._depth += 1
            elif mark in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return True
        return False


def _json_text(arguments: object) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else storable_json(arguments)
