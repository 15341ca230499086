"""From older saved runs to the present schema: one step per version, each a function of plain JSON."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.errors import StateCorruptError, StateVersionError


class _Envelope(msgspec.Struct):
    version: int


_envelope = msgspec.json.Decoder(_Envelope)

STEPS: dict[int, Callable[[JsonObject], JsonObject]] = {}
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
