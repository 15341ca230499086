"""Migrations of older saved runs to the present schema version: one step per version, each a function of plain JSON.

What is recorded (events, items, usage) may change in its shape only together with the schema version, so that an older
program names what it cannot read. To change it once `codec.VERSION` has been released:

1. Raise `codec.VERSION` and write the step from the version before into `STEPS`. It gets a whole saved run, or the events of a
   stored one by one. A field with a default, appended at the end, and a new kind of event need no work: the step passes them.
2. `python -m tests.core.released` pins the new shape in `tests/core/fixtures/v<version>/schema.txt`. Until the version is
   released the shape may change again: run it again.
3. Give every new event and field a place in `tests.core.released.EVERY_EVENT`.
4. With the release set `RELEASED` there, and run it once more, and `python -m tests.stores.released`: they save runs as this
   version leaves them, in states and in every store. From then on these files never change, and must always resume.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import StateCorruptError, StateVersionError


class _Envelope(msgspec.Struct):
    version: int


_envelope = msgspec.json.Decoder(_Envelope)


_LIMITS_OF_VERSION_1 = {"working_time": "active_time", "repeats": "repeated_rounds"}
_NAME_A_LIMIT = ("near", "limit", "raised")


def _with_names_of_2(event: object) -> object:
    if not isinstance(event, list):
        return event
    parts = cast("list[object]", event)
    if len(parts) == 3 and parts[0] == "nested":
        return [*parts[:2], _with_names_of_2(parts[2])]
    if len(parts) > 1 and parts[0] in _NAME_A_LIMIT and isinstance(limit := parts[1], str):
        return [parts[0], _LIMITS_OF_VERSION_1.get(limit, limit), *parts[2:]]
    return parts


def _from_1(data: JsonObject) -> JsonObject:
    """Version 2 calls two limits by other names. Its new events, and new fields at the end of events, have their defaults."""
    migrated: JsonObject = {**data, "version": 2}
    for events in ("log", "decisions"):
        if isinstance(recorded := data.get(events), list):
            migrated[events] = [_with_names_of_2(event) for event in cast("list[object]", recorded)]
    return migrated


def _from_2(data: JsonObject) -> JsonObject:
    """Version 3 has new events, and new fields at the end of events."""
    return {**data, "version": 3}


STEPS: dict[int, Callable[[JsonObject], JsonObject]] = {1: _from_1, 2: _from_2}
"""`STEPS[n]` turns a saved run of version n into one of version n + 1."""


def migrated(text: str | bytes, to: int) -> str | bytes:
    """`text` as a saved run of version `to`: itself when it is that already.

    Raises `StateVersionError` for a newer one and `StateCorruptError` for a version that never was.
    """
    version = _envelope.decode(text).version
    if version == to:
        return text
    name = str(version)[:24]  # a damaged one may have thousands of digits
    if version > to:
        raise StateVersionError(
            f"saved run has schema version {name}, expected at most {to}; resume it with the newer agentsdk that wrote it"
        )
    data: JsonObject = msgspec.json.decode(text)
    for step in range(version, to):
        if step not in STEPS:
            raise StateCorruptError(f"saved run has schema version {name}, which never existed; load an untouched copy")
        data = STEPS[step](data)
    return msgspec.json.encode(data)
