"""What of a run Temporal is given: plain JSON within its limits, and encrypted where a key is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from agentsdk.databases.cipher import Cipher
from agentsdk.durable.rest import Rest
from agentsdk.types.errors import UserError

MAX_BYTES = 1_500_000
"""The most that is given to the server in one piece, which takes 2 MB: the rest is for encryption, and what is around it."""

MAX_TEXT = 2_000
"""Characters of a waiting call's arguments, or its question, that are given to the server; longer ones are in the store."""

_ENCODING, _PLACE = b"binary/agentsdk-encrypted", "payload"


def given_json(what: str, value: object) -> Any:
    """`value` as plain JSON. Raises `UserError` where it has none, or is more than the server takes."""
    try:
        text = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{what} has no JSON form, expected plain data: {error}; pass what JSON can hold") from error
    if len(text) > MAX_BYTES:
        raise UserError(
            f"{what} is {len(text)} bytes as JSON, expected at most {MAX_BYTES}, as Temporal takes no more; put the run "
            "into its store with Runner.submit and begin it with resume, or pass a reference"
        )
    return msgspec.json.decode(text)


def fitting(rest: Rest) -> dict[str, Any]:
    """A rest as JSON that the server takes: `left_out` says that the output, or texts of the calls, are in the store only."""
    calls = [call if _is_short(call.arguments + call.question) else call.without_content() for call in rest.calls]
    short = msgspec.structs.replace(rest, calls=tuple(calls))
    is_cut = short.calls != rest.calls
    if len(msgspec.json.encode(short)) > MAX_BYTES:
        calls = [call.without_content() for call in rest.calls]
        short, is_cut = msgspec.structs.replace(rest, calls=tuple(calls), output=None), True
    given: dict[str, Any] = msgspec.to_builtins(short)
    return {**given, "left_out": True} if is_cut else given


def _is_short(text: str) -> bool:
    return len(text) <= MAX_TEXT


class EncryptedPayloads(PayloadCodec):
    """Encrypts what Temporal keeps: inputs, signals, results, heartbeats. Give it to the client of programs and workers alike:
    `DataConverter(payload_codec=EncryptedPayloads(key))`.

    `key` is 32 secret bytes or more, or several: the first encrypts, all decrypt. What is readable still: workflow ids, names,
    times, search attributes, and messages of failures unless the converter encodes those too.

    Raises `UserError` for a bad key, and without the package `cryptography`.
    """

    def __init__(self, key: bytes | Sequence[bytes]) -> None:
        self._cipher = Cipher(key, "payload")

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Each payload, encrypted."""
        return [
            Payload(metadata={"encoding": _ENCODING}, data=self._cipher.seal("temporal", _PLACE, one.SerializeToString()))
            for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Each payload as it was; those that were never encrypted pass. Raises `StateTamperedError`."""
        return [self._opened(one) for one in payloads]

    def _opened(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != _ENCODING:
            return payload
        return Payload.FromString(self._cipher.open("temporal", _PLACE, payload.data))
