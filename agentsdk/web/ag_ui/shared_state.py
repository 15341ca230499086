"""`SharedState`: the run's context as the state of an AG-UI client, whole at first, and then by what has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
from ag_ui.core import BaseEvent, StateDeltaEvent, StateSnapshotEvent

from agentsdk.types.base import JsonObject


class SharedState:
    """What the client has of the state; `text` is what the run's context was when the answer began."""

    def __init__(self, text: str) -> None:
        self._kept = text
        self._told: object = None

    def snapshot(self) -> Iterator[BaseEvent]:
        """All of it, if there is any."""
        if self._kept:
            self._told = msgspec.json.decode(self._kept)
            yield StateSnapshotEvent(snapshot=self._told)

    def change(self, text: str) -> Iterator[BaseEvent]:
        """The state has become `text`. What is no JSON is not shown."""
        try:
            new = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return
        self._kept = text
        if self._told is None:
            yield from self.snapshot()
        elif patch := list(patches(self._told, new, "")):
            self._told = new
            yield StateDeltaEvent(delta=cast(Any, patch))


def patches(old: object, new: object, path: str) -> Iterator[JsonObject]:
    """What makes `new` of `old`, as JSON Patch (RFC 6902). A list that has changed is replaced."""
    if not _differ(old, new):
        return
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield {"op": "replace", "path": path, "value": new}
        return
    was, now = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
    for key in was.keys() - now.keys():
        yield {"op": "remove", "path": f"{path}/{_token(key)}"}
    for key, value in now.items():
        if key in was:
            yield from patches(was[key], value, f"{path}/{_token(key)}")
        else:
            yield {"op": "add", "path": f"{path}/{_token(key)}", "value": value}


def _differ(old: object, new: object) -> bool:
    """Whether they are not the same JSON: true is not 1."""
    return old != new or msgspec.json.encode(old) != msgspec.json.encode(new)


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
