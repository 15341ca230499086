"""The chunks and replies of chat completions as they come.

Vendors differ more than their documentation says, so what is not needed is not decoded, and what may be missing is optional.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from agentsdk.models.decode import decoder_of


class WireFunction(Struct):
    """The function of a call, or a piece of it. Some servers send `arguments` as an object."""

    name: str | None = None
    arguments: object = None


class WireCall(Struct):
    """A tool call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: WireFunction | None = None
    extra_content: object = None


class WireMessage(Struct):
    """A message, or what a chunk adds to it."""

    content: str | list[object] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: object = None
    reasoning_details: object = None
    tool_calls: list[WireCall] | None = None
    function_call: WireFunction | None = None
    annotations: object = None
    extra_content: object = None


class WireChoice(Struct):
    """One answer; only the first of several is read."""

    index: int | None = None
    delta: WireMessage | None = None
    message: WireMessage | None = None
    finish_reason: str | None = None
    logprobs: object = None


class Chunk(Struct):
    """A chunk of a stream, or a reply in one piece."""

    id: object = None
    model: object = None
    kind: object = field(default=None, name="object")
    choices: list[WireChoice] | None = None
    usage: object = None
    error: object = None

    def plain_text(self) -> str | None:
        """The text of a chunk that brings nothing else, as nearly all of a text's do; None of any other chunk."""
        choices = self.choices
        if not choices or len(choices) > 1 or self.usage is not None:
            return None
        choice = choices[0]
        message = choice.delta
        if message is None or choice.finish_reason or choice.logprobs or choice.index:
            return None
        if message.tool_calls or message.function_call or message.refusal or message.annotations or message.extra_content:
            return None
        if message.reasoning_content or message.reasoning or message.reasoning_details:
            return None
        text = message.content
        return text if isinstance(text, str) else None


class ChoiceExtras(Struct):
    """What a choice holds beside its message."""

    stop_reason: object = None
    native_finish_reason: object = None
    content_filter_results: object = None


class ChunkExtras(Struct):
    """What a chunk holds beside its choices. Decoded apart, where it is needed: most chunks of a stream only repeat it."""

    choices: list[ChoiceExtras] | None = None
    service_tier: object = None
    system_fingerprint: object = None
    provider: object = None
    prompt_filter_results: object = None
    citations: object = None
    search_results: object = None


EXTRAS = msgspec.json.Decoder(ChunkExtras)
parse_chunk = decoder_of(Chunk, "a chat completion", halves=True)
"""A chunk of a stream, or a reply in one piece. Raises `MalformedResponseError`, without the data."""
