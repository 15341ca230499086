"""How a run is written down: closed-schema JSON, versioned, sealed on request. No pickle, no import, no code.

Whole, as one text (`encode`, `decode`), or event by event, as stores keep it (`encode_event`, `decode_events`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import msgspec

from agentsdk.core.migrations import migrated
from agentsdk.types.base import Compact, JsonObject
from agentsdk.types.errors import StateCorruptError, StateError, StateTamperedError, UserError
from agentsdk.types.events import RunEvent


class SavedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A saved run: the log, the decisions that wait to be its next events, and a seal over both."""

    version: int
    log: tuple[RunEvent, ...]
    decisions: tuple[RunEvent, ...] = ()
    seal: str = ""


class StoredEvent(Compact):
    """An event as a store keeps it, with the version of the schema it is written in."""

    version: int
    event: RunEvent


VERSION = 1
"""The schema version written. Every version ever released still loads; see `core.migrations`."""

MIN_KEY_BYTES = 32
"""The shortest `state_key`: an empty one, of an unset variable say, would seal nothing."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(SavedRun)
_event_decoder = msgspec.json.Decoder(StoredEvent)


def encode(log: tuple[RunEvent, ...], decisions: tuple[RunEvent, ...], key: bytes | None) -> bytes:
    """The saved form of a run, sealed with an HMAC-SHA256 under `key` if there is one.

    Raises `UserError` for a key shorter than `MIN_KEY_BYTES`, `StateError` for what JSON cannot carry.
    """
    saved = SavedRun(VERSION, log, decisions)
    body = _written(saved)
    if key is None:
        return body
    return _encoder.encode(msgspec.structs.replace(saved, seal=_seal(to_json(body), key)))


def decode(text: str | bytes, key: bytes | None) -> SavedRun:
    """Read a saved run.

    Raises `StateCorruptError` for anything else, `StateVersionError` for a newer version, `StateTamperedError` when a `key` is
    given and the seal does not fit, `UserError` for a short key. The messages hold no value of the state.
    """
    try:
        if key is None:
            return _read(text)
        data = msgspec.json.decode(text, type=JsonObject)
        seal = data.pop("seal", None)
        # What is checked is what is read: were the text read again, of a key given twice the other one might count.
        saved = _read(msgspec.json.encode(data))
        proof = _seal(data, key)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise StateCorruptError(
            f"not a saved run ({_place(error)}), expected what RunState.to_string() wrote; load an untouched copy"
        ) from None
    if not isinstance(seal, str) or not hmac.compare_digest(proof.encode(), seal.encode()):
        raise StateTamperedError(
            "the saved run's seal does not fit, expected the state_key it was saved with; refuse it, or load an untouched copy"
        )
    return saved


def encode_event(event: RunEvent) -> bytes:
    """An event as a store keeps it. Raises `StateError` for what JSON cannot carry."""
    return _written(StoredEvent(VERSION, event))


def decode_events(stored: Sequence[bytes]) -> tuple[RunEvent, ...]:
    """The events of a store. Raises `StateCorruptError`, and `StateVersionError` for one of a newer version; value-free."""
    return tuple([_event(record, number) for number, record in enumerate(stored)])


def _event(record: bytes, number: int) -> RunEvent:
    try:
        try:
            stored = _event_decoder.decode(record)
            if stored.version == VERSION:
                return stored.event
        except msgspec.ValidationError:
            pass
        # The steps between versions are written once, for a saved run: this is one of a single event.
        version, event = msgspec.json.decode(record, type=tuple[int, object])
        lifted = migrated(msgspec.json.encode({"version": version, "log": [event]}), VERSION)
        return _decoder.decode(lifted).log[0]
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise StateCorruptError(
            f"stored event {number} is none ({_place(error)}), expected what a run recorded; restore the store from a backup"
        ) from None


def _written(value: SavedRun | StoredEvent) -> bytes:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(
            f"the run holds what JSON cannot carry ({type(error).__name__}), expected plain data without lone surrogates; "
            "mend the model that gave it"
        ) from None


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


def _seal(data: JsonObject, key: bytes) -> str:
    """The seal of plain JSON, whatever the order of its keys: it outlives the schema of the version it was written in."""
    if len(key) < MIN_KEY_BYTES:
        raise UserError(f"the state_key has {len(key)} bytes, expected at least {MIN_KEY_BYTES}; use secrets.token_bytes(32)")
    return hmac.new(key, msgspec.json.encode(data, order="deterministic"), hashlib.sha256).hexdigest()


def _place(error: Exception) -> str:
    """Where the decoder stopped, without the value it found there."""
    _, at, path = str(error).rpartition(" - at ")
    return f"{type(error).__name__} at {path}" if at and len(path) < 100 else type(error).__name__
