"""The events and replies of the Messages API as they come. Only what is needed is named, and all of it may be missing."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from agentsdk.models.decode import Data, decoder_of
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
    """A reply in one piece. Blocks stay as they came: the arguments of a call are the model's own text."""

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


parse_event = decoder_of(WireEvent, _EXPECTED, halves=True)
"""An event of a stream. Raises `MalformedResponseError`, as all of these do."""
parse_reply = decoder_of(WireReply, _EXPECTED)
"""A reply that came in one piece."""
_any = decoder_of(object, _EXPECTED, halves=True)
_input = msgspec.json.Decoder(WireInput).decode


def parse_object(data: Data) -> JsonObject:
    """`data` if it is an object, else an empty one."""
    return as_object(_any(data))


def input_of(block: Raw) -> str:
    """The arguments of a call, as the model wrote them."""
    return bytes(_input(block).input).decode()
