"""The chunks of `generateContent` as they come. Only what is needed is named, and all of it may be missing."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from agentsdk.models.decode import decode_json
from agentsdk.models.errors import ErrorInReply
from agentsdk.types.base import JsonObject

_EXPECTED = "generateContent's"
NULL = Raw(b"null")


class WireCall(Struct, rename="camel"):
    """A function call; the last two fields tell of one that is sent in pieces."""

    id: str | None = None
    name: str | None = None
    args: Raw = Raw(b"{}")
    partial_args: object = None
    will_continue: bool | None = None


class WireBlob(Struct, rename="camel"):
    """Media the model made."""

    mime_type: str = ""
    data: str = ""


class WirePart(Struct, rename="camel"):
    """A part of the reply. One that has none of these fields is the provider's own."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: WireCall | None = None
    inline_data: WireBlob | None = None


class WireContent(Struct):
    """The parts."""

    parts: list[Raw] | None = None


class WireCandidate(Struct, rename="camel"):
    """One answer; only the first of several is read."""

    index: int | None = None
    content: WireContent | None = None
    finish_reason: str | None = None
    citation_metadata: object = None
    grounding_metadata: object = None
    url_context_metadata: object = None
    safety_ratings: object = None
    avg_logprobs: object = None
    logprobs_result: object = None
    finish_message: object = None


class Chunk(Struct, rename="camel"):
    """A stream chunk, or a whole reply."""

    candidates: list[WireCandidate] | None = None
    prompt_feedback: object = None
    usage_metadata: Raw = NULL
    model_version: object = None
    response_id: object = None
    model_status: object = None
    error: object = None


_CHUNK = msgspec.json.Decoder(Chunk)
_PART = msgspec.json.Decoder(WirePart)
_ANY: msgspec.json.Decoder[object] = msgspec.json.Decoder(object)
_OBJECT: msgspec.json.Decoder[JsonObject] = msgspec.json.Decoder(JsonObject)


def parse_chunk(data: str) -> Chunk:
    """The chunk in `data`. Raises `MalformedResponseError`, without the data, and `ErrorInReply` if it tells an error."""
    chunk = decode_json(_CHUNK, data, _EXPECTED)
    if chunk.error:
        raise ErrorInReply(chunk.error)
    return chunk


def parse_part(raw: Raw) -> WirePart:
    """A part. Raises `MalformedResponseError`."""
    return decode_json(_PART, raw, _EXPECTED)


def parse_object(raw: Raw) -> JsonObject:
    """An object of any fields. Raises `MalformedResponseError`."""
    return decode_json(_OBJECT, raw, _EXPECTED)


def parse_any(raw: Raw) -> object:
    """Any value. Raises `MalformedResponseError`."""
    return decode_json(_ANY, raw, _EXPECTED)
