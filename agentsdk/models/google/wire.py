"""The chunks of `generateContent` as they come. Only what is needed is named, and all of it may be missing."""

from __future__ import annotations

from msgspec import Raw, Struct

from agentsdk.models.decode import decoder_of
from agentsdk.models.errors import ErrorInReply
from agentsdk.types.base import JsonObject

_EXPECTED = "generateContent's"
NULL = Raw(b"null")


class WireCall(Struct, rename="camel"):
    """A function call; the last two fields mark one that is sent in pieces."""

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
    """A chunk of a stream, or a reply in one piece."""

    candidates: list[WireCandidate] | None = None
    prompt_feedback: object = None
    usage_metadata: Raw = NULL
    model_version: object = None
    response_id: object = None
    model_status: object = None
    error: object = None


parse_part = decoder_of(WirePart, _EXPECTED)
"""A part. Raises `MalformedResponseError`, as all of these do."""
parse_object = decoder_of(JsonObject, _EXPECTED)
"""An object of any fields."""
parse_any = decoder_of(object, _EXPECTED)
"""Any value."""
_chunk = decoder_of(Chunk, _EXPECTED)


def parse_chunk(data: str) -> Chunk:
    """A chunk of a stream, or a reply in one piece. Raises `ErrorInReply` if it reports an error."""
    chunk = _chunk(data)
    if chunk.error:
        raise ErrorInReply(chunk.error)
    return chunk
