"""The events and replies of Converse as they come. Only what is needed is named, and all of it may be missing."""

from __future__ import annotations

from msgspec import Raw, Struct, field

from agentsdk.models.decode import Data, decoder_of
from agentsdk.models.loose import as_object
from agentsdk.types.base import JsonObject

_EXPECTED = "one of Bedrock's Converse"


class WireEvent(Struct, rename="camel"):
    """The payload of an event; its type is beside it, in the frame."""

    content_block_index: int | None = None
    start: object = None
    delta: object = None
    stop_reason: str | None = None
    usage: object = None
    trace: object = None
    service_tier: object = None
    performance_config: object = None
    additional_model_response_fields: object = None


class WireMessage(Struct):
    """A message. Blocks stay as they came: the arguments of a call are the model's own text."""

    content: list[Raw] | None = None


class WireOutput(Struct):
    """What holds the message."""

    message: WireMessage | None = None


class WireReply(Struct, rename="camel"):
    """A reply in one piece."""

    output: WireOutput | None = None
    stop_reason: str | None = None
    usage: object = None
    trace: object = None
    service_tier: object = None
    performance_config: object = None
    additional_model_response_fields: object = None


class WireCall(Struct):
    """The input of a call."""

    input: Raw = Raw(b"{}")


class WireBlock(Struct, rename="camel"):
    """A block that may be a call."""

    tool_use: WireCall = field(default_factory=WireCall)


parse_event = decoder_of(WireEvent, _EXPECTED, halves=True)
"""An event of a stream. Raises `MalformedResponseError`, as all of these do."""
parse_reply = decoder_of(WireReply, _EXPECTED)
"""A reply that came in one piece."""
_any = decoder_of(object, _EXPECTED, halves=True)
_block = decoder_of(WireBlock, _EXPECTED)


def parse_object(data: Data) -> JsonObject:
    """`data` if it is an object, else an empty one."""
    return as_object(_any(data))


def input_of(block: Raw) -> str:
    """The arguments of a call, as the model wrote them."""
    return bytes(_block(block).tool_use.input).decode()
