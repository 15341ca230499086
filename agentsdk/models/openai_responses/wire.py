"""The events and replies of the Responses API as they come. Only what is needed is named, and all of it may be missing."""

from __future__ import annotations

from msgspec import Raw, Struct, field

from agentsdk.models.decode import decoder_of
from agentsdk.types.base import JsonObject

_EXPECTED = "of the Responses API"


class WireEvent(Struct):
    """An event of a stream. What is large is parsed only where it counts."""

    type: str = ""
    delta: object = None
    output_index: int | None = None
    summary_index: int | None = None
    item: JsonObject | None = None
    response: Raw = Raw(b"null")
    error: object = None


class WireResponse(Struct):
    """A reply, finished or not."""

    id: object = None
    kind: object = field(default=None, name="object")
    model: object = None
    status: object = None
    error: object = None
    incomplete_details: object = None
    output: list[JsonObject] | None = None
    usage: object = None
    service_tier: object = None
    conversation: object = None
    system_fingerprint: object = None
    cost: object = None


parse_event = decoder_of(WireEvent, _EXPECTED)
"""An event of a stream. Raises `MalformedResponseError`."""
parse_response = decoder_of(WireResponse, _EXPECTED)
"""A reply. Raises `MalformedResponseError`."""
