"""How a run is written down: closed-schema JSON, versioned, sealed on request. No pickle, no import, no code."""

from __future__ import annotations

import hashlib
import hmac

import msgspec

from agentsdk.core.migrations import migrated
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import StateCorruptError, StateTamperedError
from agentsdk.types.events import RunEvent


class SavedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A saved run: the log, the decisions that wait to be its next events, and a seal over both."""

    version: int
    log: tuple[RunEvent, ...]
    decisions: tuple[RunEvent, ...] = ()
    seal: str = ""


VERSION = 1
"""The schema version written. Every version ever released still loads; see `core.migrations`."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(SavedRun)


def encode(log: tuple[RunEvent, ...], decisions: tuple[RunEvent, ...], key: bytes | None) -> bytes:
    """The saved form of a run, sealed with an HMAC-SHA256 under `key` if there is one."""
    saved = SavedRun(VERSION, log, decisions)
    body = _encoder.encode(saved)
    if key is None:
        return body
    return _encoder.encode(msgspec.structs.replace(saved, seal=_seal(_canonical(msgspec.json.decode(body)), key)))


def decode(text: str | bytes, key: bytes | None) -> SavedRun:
    """Read a saved run.

    Raises `StateCorruptError` for anything else, `StateVersionError` for a newer version, `StateTamperedError` when a `key` is
    given and the seal does not fit. The messages hold no value of the state.
    """
    try:
        if key is None:
            return _read(text)
        data = msgspec.json.decode(text, type=JsonObject)
        seal = data.pop("seal", None)
        body = _canonical(data)
        # What is read is the very text that is checked: of a key given twice no two readers could take different ones.
        saved = _read(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise StateCorruptError(
            f"not a saved run ({_place(error)}), expected what RunState.to_string() wrote; load an untouched copy"
        ) from None
    if not isinstance(seal, str) or not hmac.compare_digest(_seal(body, key).encode(), seal.encode()):
        raise StateTamperedError(
            "the saved run's seal does not fit, expected the state_key it was saved with; refuse it, or load an untouched copy"
        )
    return saved


def _read(text: str | bytes) -> SavedRun:
    """The envelope is looked at first only where the text is not plainly of the present version: it costs a second pass."""
    try:
        saved = _decoder.decode(text)
    except msgspec.ValidationError:
        return _decoder.decode(migrated(text, VERSION))
    return saved if saved.version == VERSION else _decoder.decode(migrated(text, VERSION))


def to_json(text: bytes) -> JsonObject:
    """The saved form as plain objects."""
    data: JsonObject = msgspec.json.decode(text)
    return data


def _canonical(data: JsonObject) -> bytes:
    """What a seal covers: the plain JSON, whatever the order of its keys, so that a seal outlives the schema of its version."""
    return msgspec.json.encode(data, order="deterministic")


def _seal(body: bytes, key: bytes) -> str:
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def _place(error: Exception) -> str:
    """Where the decoder stopped, without the value it found there."""
    _, at, path = str(error).rpartition(" - at ")
    return f"{type(error).__name__} at {path}" if at and len(path) < 100 else type(error).__name__
