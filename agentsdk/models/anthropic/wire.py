"""The events and replies of the Messages API as they come. Only what is needed is named, and all of it may be missing."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from agentsdk.models.decode import decode_json
from agentsdk.models.loose import as_object
from agentsdk.types.base import JsonObject

_EXPECTED = "an Anthropic message"


class WireDelta(Struct):
    """What a `content_block_delta` or a `message_delta` adds."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: object = None
    stop_reason: str | None = None
    stop_details: object = None
    stop_sequence: object = None
    container: object = None


class WireEvent(Struct):
    """An event of the stream."""

    type: str | None = None
    index: int | None = None
    message: object = None
    content_block: object = None
    delta: WireDelta | None = None
    usage: object = None
    context_management: object = None


class WireReply(Struct):
    """A whole reply. Blocks stay as they came: the arguments of a call are the model's own text."""

    type: str | None = None
    id: str | None = None
    model: str | None = None
    content: list[Raw] | None = None
    stop_reason: str | None = None
    stop_details: object = None
    stop_sequence: object = None
    container: object = None
    context_management: object = None
    usage: object = None


class WireInput(Struct):
    """The input of a block."""

    input: Raw = Raw(b"{}")


_EVENT = msgspec.json.Decoder(WireEvent)
_REPLY = msgspec.json.Decoder(WireReply)
_INPUT = msgspec.json.Decoder(WireInput)
_ANY: msgspec.json.Decoder[object] = msgspec.json.Decoder(object)


def parse_event(data: str) -> WireEvent:
    """An event of a stream. Raises `MalformedResponseError`."""
    return decode_json(_EVENT, data, _EXPECTED, halves=True)


def parse_reply(body: bytes) -> WireReply:
    """A reply that came whole. Raises `MalformedResponseError`."""
    return decode_json(_REPLY, body, _EXPECTED)


def parse_object(data: str | bytes | Raw) -> JsonObject:
    """`data` if it is an object, else an empty one. Raises `MalformedResponseError`."""
    return as_object(decode_json(_ANY, data, _EXPECTED, halves=True))


def input_of(block: Raw) -> str:
    """The arguments of a call, as the model wrote them."""
    return bytes(_INPUT.decode(block).input).decode()
