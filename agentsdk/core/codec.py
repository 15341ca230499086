"""Serialization of runs and events: closed-schema JSON, versioned, sealed on request. No pickle, no import, no code.

Whole, as one text (`encode`, `decode`), or event by event, as stores keep it (`encode_event`, `decode_events`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

import msgspec

from agentsdk.core.migrations import migrated
from agentsdk.types.base import Compact, JsonObject
from agentsdk.types.errors import StateCorruptError, StateError, StateTamperedError, UserError
from agentsdk.types.events import ModelReplied, Nested, RunEvent, ToolFinished, TurnEnded


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


VERSION = 3
"""The schema version written. Every version ever released still loads; see `core.migrations`."""

MIN_KEY_BYTES = 32
"""The shortest `state_key`: an empty one, of an unset variable say, would seal nothing."""

StateKey = bytes | Sequence[bytes]
"""The key that seals states, or several: the first seals, all are tried when a state is read."""

_encoder = msgspec.json.Encoder()


# Made on first use: that takes 2 ms, and few programs load a run.
@cache
def _decoder() -> msgspec.json.Decoder[SavedRun]:
    return msgspec.json.Decoder(SavedRun)


@cache
def _event_decoder() -> msgspec.json.Decoder[StoredEvent]:
    return msgspec.json.Decoder(StoredEvent)


def checked_keys(key: StateKey | None) -> tuple[bytes, ...]:
    """The keys that are given, none or several. Raises `UserError` for what is no key, and for one under `MIN_KEY_BYTES`."""
    if key is None:
        return ()
    keys: tuple[object, ...] = tuple(key) if isinstance(key, Sequence) and not isinstance(key, bytes) else (key,)
    if not keys:
        raise UserError("state_key is an empty list, expected at least one key; give one, or None for no seal")
    for one in keys:
        what = f"has {len(one)} bytes" if isinstance(one, bytes) else f"is {type(one).__name__!r}"
        if not isinstance(one, bytes) or len(one) < MIN_KEY_BYTES:
            raise UserError(f"the state_key {what}, expected at least {MIN_KEY_BYTES} bytes; use secrets.token_bytes(32)")
    return cast("tuple[bytes, ...]", keys)


def encode(log: tuple[RunEvent, ...], decisions: tuple[RunEvent, ...], key: StateKey | None) -> bytes:
    """The saved form of a run, sealed with an HMAC-SHA256 under the first `key` if there is one.

    Raises `UserError` for a key shorter than `MIN_KEY_BYTES`, `StateError` for what JSON cannot carry.
    """
    keys = checked_keys(key)
    saved = SavedRun(VERSION, _short(log), _short(decisions))
    body = _written(saved)
    if not keys:
        return body
    return _encoder.encode(msgspec.structs.replace(saved, seal=_seal(to_json(body), keys[0])))


def decode(text: str | bytes, key: StateKey | None) -> SavedRun:
    """Read a saved run.

    Raises `StateCorruptError` for anything else, `StateVersionError` for a newer version, `StateTamperedError` for a seal that
    fits no `key`, no seal where there is a key and no key where there is a seal, `UserError` for a short key. The messages hold
    no value of the state.
    """
    keys = checked_keys(key)
    try:
        if not keys:
            saved = _read(text)
            if saved.seal:
                raise StateTamperedError(
                    "the saved run is sealed, expected its state_key to check that; load it with state_key=..., or refuse it"
                )
            return saved
        data = msgspec.json.decode(text, type=JsonObject)
        seal = data.pop("seal", None)
        # What is checked is what is read: were the text read again, of a key given twice the other one might count.
        saved = _read(msgspec.json.encode(data))
        proofs = [_seal(data, one) for one in keys]
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise StateCorruptError(
            f"not a saved run ({place_of(error)}), expected what RunState.to_string() wrote; load an untouched copy"
        ) from None
    if not isinstance(seal, str) or not any(_is_equal(proof, seal) for proof in proofs):
        raise StateTamperedError(
            "the saved run's seal does not fit, expected the state_key it was saved with; refuse it, or load an untouched copy"
        )
    return saved


def encode_event(event: RunEvent) -> bytes:
    """An event as a store keeps it. Raises `StateError` for what JSON cannot carry."""
    (short,) = _short((event,))
    return _written(StoredEvent(VERSION, short))


def decode_events(stored: Sequence[bytes]) -> tuple[RunEvent, ...]:
    """The events of a store. Raises `StateCorruptError`, and `StateVersionError` for one of a newer version; value-free."""
    return tuple([_event(record, number) for number, record in enumerate(stored)])


def decode_value(text: str) -> object:
    """The value that an event holds as JSON text. Raises `StateCorruptError`; value-free."""
    try:
        return cast(object, msgspec.json.decode(text))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise StateCorruptError(
            "an event of the run holds text that is no JSON, expected what a run recorded; resume from an untouched copy"
        ) from None


def _short(events: tuple[RunEvent, ...]) -> tuple[RunEvent, ...]:
    """Events as they are written: what comes in every turn without the fields at its end that have their defaults.

    Reading puts these there again. Written out by hand, which takes a third of the time of `structs.astuple`.
    """
    return cast("tuple[RunEvent, ...]", tuple([_without_end(event) for event in events]))  # arrays, as events are


def _without_end(event: RunEvent) -> object:
    if type(event) is ToolFinished and not event.failure and event.not_granted is None and not event.untrusted:
        about = event.call_id, event.output, event.is_error, event.whole, event.is_withheld
        return "result", *about, event.took_ms, event.at
    if type(event) is ModelReplied and not event.snapshot:
        return "reply", event.response, event.at, event.disabled, event.counted, event.asked, event.is_last, event.took_ms
    if type(event) is TurnEnded and not event.added:
        return _TURN
    if type(event) is Nested:
        return "nested", event.call_id, _without_end(event.event)
    return event


_TURN = ("turn",)


def _event(record: bytes, number: int) -> RunEvent:
    try:
        try:
            stored = _event_decoder().decode(record)
            if stored.version == VERSION:
                return stored.event
        except msgspec.ValidationError:
            pass
        # The steps between versions are written once, for a saved run: this is one of a single event.
        version, *rest = msgspec.json.decode(record, type=list[object])
        (event,) = _decoder().decode(migrated(msgspec.json.encode({"version": version, "log": rest}), VERSION)).log
        return event
    except (msgspec.MsgspecError, ValueError, RecursionError, TypeError) as error:
        raise StateCorruptError(
            f"stored event {number} is none ({place_of(error)}), expected what a run recorded; restore the store from a backup"
        ) from None


def _written(value: SavedRun | StoredEvent) -> bytes:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(
            f"the run holds what JSON cannot carry ({type(error).__name__}), expected plain data without lone surrogates; "
            "fix the model that gave it"
        ) from None


def _read(text: str | bytes) -> SavedRun:
    """The envelope is looked at first only where the text is not plainly of the present version: it costs a second pass."""
    try:
        saved = _decoder().decode(text)
    except msgspec.ValidationError:
        return _decoder().decode(migrated(text, VERSION))
    return saved if saved.version == VERSION else _decoder().decode(migrated(text, VERSION))


def to_json(text: bytes) -> JsonObject:
    """The saved form as plain objects."""
    data: JsonObject = msgspec.json.decode(text)
    return data


def _is_equal(proof: str, seal: str) -> bool:
    """Compared in a time that tells nothing of how much of it fits."""
    import hmac

    return hmac.compare_digest(proof.encode(), seal.encode())


def _seal(data: JsonObject, key: bytes) -> str:
    """The seal of plain JSON, whatever the order of its keys: it outlives the schema of the version it was written in."""
    import hashlib  # a seal needs a key, which few programs have
    import hmac

    return hmac.new(key, msgspec.json.encode(data, order="deterministic"), hashlib.sha256).hexdigest()


def place_of(error: Exception) -> str:
    """Where the decoder stopped, without the value it found there."""
    _, at, path = str(error).rpartition(" - at ")
    return f"{type(error).__name__} at {path}" if at and len(path) < 100 else type(error).__name__
