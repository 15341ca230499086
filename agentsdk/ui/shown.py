"""What the page gets of events and states: plain JSON, with secrets masked and long texts cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from agentsdk.core.state import State
from agentsdk.types.base import JsonObject
from agentsdk.types.events import RunEvent
from agentsdk.types.items import Item
from agentsdk.types.tape import Tape
from agentsdk.ui.masks import MASK, masked, names_secret

MAX_TEXT_CHARS = 20_000
"""How much of one text is sent, unless all of it is asked for."""


class Shower:
    """Makes JSON to be shown. `is_cut` says whether a text was cut."""

    def __init__(self, most: int | None = MAX_TEXT_CHARS) -> None:
        self._most = most
        self.is_cut = False

    def event(self, event: RunEvent) -> JsonObject:
        """An event, its fields by their names."""
        return {"type": type(event).__name__, **self._fields(event)}

    def items(self, items: Sequence[Item]) -> list[object]:
        """Items of a conversation."""
        return [self.value(item) for item in items]

    def state(self, state: State) -> JsonObject:
        """A state: of its transcript and view the length only, as they are the conversation; of its log nothing."""
        shown: JsonObject = {}
        for name in State.__struct_fields__:
            value = getattr(state, name)
            if name == "log" or value == _EMPTY.get(name, _MISSING):
                continue
            shown[name] = self.value(value)
        return shown

    def value(self, value: object) -> Any:
        """Any value of a record."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, State):
            return self.state(value)
        if isinstance(value, Struct):
            tag = getattr(type(value), "type", None)
            return {**({"type": tag} if isinstance(tag, str) else {}), **self._fields(value)}
        if isinstance(value, Tape):
            return f"{len(cast('Tape[object]', value))} items"
        if isinstance(value, Mapping):
            return {str(key): self._named(str(key), one) for key, one in cast("Mapping[object, object]", value).items()}
        if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
            return [self.value(one) for one in cast("Sequence[object]", value)]
        return self.value(msgspec.to_builtins(value, enc_hook=str))

    def text(self, text: str) -> str:
        """A text, its secrets masked."""
        if self._most is not None and len(text) > self._most:
            self.is_cut = True
            text = f"{text[: self._most]}… [{len(text) - self._most:,} characters more]"
        return masked(text)

    def _fields(self, value: Struct) -> JsonObject:
        """The fields that are not as they are where nothing is said of them."""
        default = _defaults(type(value))
        given = {name: getattr(value, name) for name in value.__struct_fields__}
        return {name: self._named(name, one) for name, one in given.items() if one != default.get(name, _MISSING)}

    def _named(self, name: str, value: object) -> Any:
        return MASK if isinstance(value, str) and value and names_secret(name) else self.value(value)


def plain(value: object) -> Any:
    """Any value as plain JSON, by its fields."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))


_MISSING: Any = object()


def _defaults(kind: type[Struct]) -> Mapping[str, object]:
    known = _KNOWN.get(kind)
    if known is None:
        known = _KNOWN[kind] = {
            field.name: field.default if field.default is not msgspec.NODEFAULT else _made(field.default_factory)
            for field in msgspec.structs.fields(kind)
        }
    return known


def _made(factory: Any) -> object:
    return _MISSING if factory is msgspec.NODEFAULT else cast("Callable[[], object]", factory)()


_KNOWN: dict[type[Struct], Mapping[str, object]] = {}
_EMPTY: Mapping[str, object] = _defaults(State)


class Change(Struct, frozen=True):
    """What an event changed in a state: at `path`, from `before` to `after`; null where there was, or is, nothing."""

    path: str
    before: object
    after: object


def changes(before: object, after: object, path: str = "") -> list[Change]:
    """Where two values as they are shown differ, the deepest places there are."""
    whole = Change(path, before, after)
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast(JsonObject, before), cast(JsonObject, after)
        names = [*old, *[name for name in new if name not in old]]
        return [one for name in names for one in changes(old.get(name), new.get(name), f"{path}.{name}" if path else name)]
    if before == after:
        return []
    if isinstance(before, list) and isinstance(after, list):
        old_list, new_list = cast("list[object]", before), cast("list[object]", after)
        shared = min(len(old_list), len(new_list))
        if old_list[:shared] == new_list[:shared]:
            added = [Change(f"{path}[{place}]", None, new_list[place]) for place in range(shared, len(new_list))]
            return added + [Change(f"{path}[{place}]", old_list[place], None) for place in range(shared, len(old_list))]
    return [whole]
