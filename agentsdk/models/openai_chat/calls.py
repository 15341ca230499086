"""Tool calls put together from pieces, whatever the server left out.

A piece belongs to the call with its index (unless it brings another id), else to the call with its id, else to the call that is
open. Calls end up ordered by index, those without one as they came.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from agentsdk.models.loose import is_object
from agentsdk.types.items import FunctionCall
from agentsdk.types.text import clean_text


class WireFunction(Struct):
    """The function of a call, or a piece of it. Some servers send `arguments` as an object."""

    name: str | None = None
    arguments: object = None


class WireCall(Struct):
    """A tool call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: WireFunction | None = None


class OpenCall:
    """A call that is being put together; `number` counts them as they begin."""

    __slots__ = ("_arguments", "fallback_id", "id", "index", "name", "number", "output_index")

    def __init__(self, number: int, index: int | None) -> None:
        self.number = number
        self.index = index
        self.id = ""
        self.name = ""
        self.fallback_id = ""
        self.output_index = 0
        self._arguments: list[str] = []

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        return "".join(self._arguments)

    def add(self, wire: WireCall) -> str:
        """Take a piece; the arguments it brings."""
        self.id = self.id or wire.id or ""
        function = wire.function
        if function is None:
            return ""
        self._add_name(function.name or "")
        arguments = _json_text(function.arguments)
        if arguments:
            self._arguments.append(arguments)
        return arguments

    def _add_name(self, name: str) -> None:
        """One name repeated with every piece is one name; one that comes in pieces comes before any argument."""
        if name and not self._arguments:
            self.name = name if name.startswith(self.name) else self.name + name

    def item(self, *, arguments: str | None = None) -> FunctionCall:
        """The call as an item; a server that sends no arguments at all means none."""
        text = clean_text(self.arguments) or "{}" if arguments is None else arguments
        return FunctionCall(clean_text(self.id) or self.fallback_id, clean_text(self.name), text)


class CallAssembler:
    """The calls of one reply."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []

    def add(self, wire: WireCall, position: int | None) -> tuple[OpenCall, str, bool]:
        """Take a piece, or (given its `position` in the list) a whole call.

        Returns the call, the arguments it brings, and whether it is new.
        """
        call = self._find(wire) if position is None else None
        is_new = call is None
        if call is None:
            call = OpenCall(len(self._calls), position if position is not None else wire.index)
            self._calls.append(call)
        return call, call.add(wire), is_new

    def _find(self, wire: WireCall) -> OpenCall | None:
        if not self._calls:
            return None
        if wire.index is not None:
            call = next((call for call in reversed(self._calls) if call.index == wire.index), None)
            if call is None or (wire.id and call.id and wire.id != call.id):
                return None
            return None if not wire.id and self._is_next(call, wire, same_name_too=False) else call
        if wire.id:
            return next((call for call in self._calls if call.id == wire.id), None)
        call = self._calls[-1]
        return None if self._is_next(call, wire, same_name_too=True) else call

    def _is_next(self, call: OpenCall, wire: WireCall, *, same_name_too: bool) -> bool:
        """Whether a piece without an id begins another call: it names a function, and the call before it is whole."""
        name = wire.function.name if wire.function else None
        return bool(name) and (same_name_too or name != call.name) and is_object(call.arguments)

    def in_order(self) -> Sequence[OpenCall]:
        """The calls, ordered."""
        return sorted(self._calls, key=lambda call: call.number if call.index is None else call.index)

    def items(self) -> list[FunctionCall]:
        """The calls as items, ordered."""
        return [call.item() for call in self.in_order()]


def _json_text(arguments: object) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
