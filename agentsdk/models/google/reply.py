"""Google's reply, put together: one assembler for the chunks of a stream and for a reply that comes in one piece.

A chunk carries parts, and what is one text may come as several of them: text is joined until a part of another kind, or a
signature, ends it. A finish reason is not the end here, as some servers send one with every chunk: the end of the stream is.

A thought signature belongs to the part it came with. One on a thought is that `Reasoning`'s; one on another part becomes a
`Reasoning` of its own, whose `id` names that part:
```
Reasoning(id="call", signature)  FunctionCall       the call behind it
Message  Reasoning(id="part:N", signature)          part N of the message before it, or an empty one after its last
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import Raw, structs

from agentsdk.models.errors import ErrorInReply
from agentsdk.models.google.calls import read_call
from agentsdk.models.google.message import OpenMessage
from agentsdk.models.google.usage import read_usage
from agentsdk.models.google.wire import (
    NULL,
    Chunk,
    WireBlob,
    WireCall,
    WireCandidate,
    parse_any,
    parse_chunk,
    parse_object,
    parse_part,
)
from agentsdk.models.loose import as_list, as_object, as_text, storable
from agentsdk.models.provider_data import provider_data, uncounted
from agentsdk.models.sse import ServerSentEvent
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import (
    FunctionCallArgumentsDelta,
    ModelStreamEvent,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ReasoningTextDelta,
    ResponseCreated,
)
from agentsdk.types.errors import ContentFilterError, IncompleteResponseError, MalformedResponseError
from agentsdk.types.items import (
    FunctionCall,
    InputAudio,
    InputFile,
    InputImage,
    InputVideo,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
)
from agentsdk.types.response import Finish, ModelResponse, OutputItem
from agentsdk.types.spec import ToolSpec
from agentsdk.types.text import clean_text, escaped
from agentsdk.types.usage import Usage

_FILTERED = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "MODEL_ARMOR",
)
_FAILED = (
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "MALFORMED_RESPONSE",
    "NO_IMAGE",
    "IMAGE_OTHER",
    "CONTINUATION",  # there is more, which only another request would bring
)
_FINISHES: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERED, "content_filter"),
    **dict.fromkeys(_FAILED, "error"),
}
_CANDIDATE_DATA = {
    "safety_ratings": "safetyRatings",
    "avg_logprobs": "avgLogprobs",
    "finish_message": "finishMessage",
}
_COUNTED = (
    "promptTokenCount",
    "candidatesTokenCount",
    "totalTokenCount",
    "toolUsePromptTokenCount",
    "cachedContentTokenCount",
    "thoughtsTokenCount",
)
_NOTES = {
    "citation_metadata": "citationMetadata",
    "grounding_metadata": "groundingMetadata",
    "url_context_metadata": "urlContextMetadata",
}


class ReplyAssembler:
    """Puts a reply together. `fallback_id` names calls whose id the server left out, if it left out the reply's id too.

    `computer` is the agent's computer tool, whose functions are Google's.
    """

    def __init__(self, provider: str, *, fallback_id: str = "", computer: ToolSpec | None = None) -> None:
        self._computer = computer
        self._provider = provider
        self._fallback_id = fallback_id
        self._id = ""
        self._model = ""
        self._created = False
        self._candidates_seen = False
        self._finish = ""
        self._blocked = ""
        self._provider_data: JsonObject = {}
        self._logprobs: dict[str, list[object]] = {}
        self._usage = NULL  # every chunk brings one, and only the last is read
        self._text: list[str] = []
        self._notes: dict[bytes, JsonObject] = {}  # by their JSON, as a stream repeats them
        self._items: list[tuple[int, OutputItem]] = []  # those that are complete, each with its output_index
        self._message: OpenMessage | None = None  # the one that is being written
        self._thought: list[str] | None = None
        self._thought_at = 0
        self._calls = 0
        self._begun_items = 0
        self.begun = False
        """Whether any text, reasoning, call or other item has come."""
        self.complete = False
        """Only the end of the stream is its end: some servers send a finish reason with every chunk."""

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return clean_text("".join(self._text))

    @property
    def finished(self) -> bool:
        """Whether the server said why it stopped."""
        return bool(self._finish or self._blocked)

    @property
    def usage(self) -> Usage | None:
        """What the reply has cost, as far as the provider has reported."""
        return None if self._usage == NULL else read_usage(parse_any(self._usage))

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event of a stream; the deltas it makes. Raises `ErrorInReply`."""
        if event.event == "error":
            raise ErrorInReply(event.data)
        return self._add(parse_chunk(event.data))

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece. Raises `ErrorInReply`."""
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise MalformedResponseError(f"the reply is not UTF-8: {error.reason} at byte {error.start}") from None
        self._add(parse_chunk(text))

    def _add(self, chunk: Chunk) -> list[ModelStreamEvent]:
        events: list[ModelStreamEvent] = []
        if not self._id and isinstance(chunk.response_id, str):
            self._id = clean_text(chunk.response_id)
        if not self._created:
            self._created = True
            events.append(ResponseCreated(self._id))
        if not self._model and isinstance(chunk.model_version, str):
            self._model = clean_text(chunk.model_version)
        if chunk.usage_metadata != NULL:
            self._usage = chunk.usage_metadata
        if chunk.model_status is not None:
            self._provider_data["modelStatus"] = chunk.model_status
        if chunk.prompt_feedback is not None:
            self._provider_data["promptFeedback"] = chunk.prompt_feedback
            self._blocked = self._blocked or clean_text(as_text(as_object(chunk.prompt_feedback).get("blockReason")))
        for candidate in chunk.candidates or ():
            if candidate.index:
                continue
            self._candidates_seen = True
            for name, kind in _CANDIDATE_DATA.items():
                if (given := getattr(candidate, name)) is not None:
                    self._provider_data[kind] = given
            if candidate.logprobs_result is not None:
                for name, tokens in as_object(candidate.logprobs_result).items():
                    if isinstance(tokens, list):
                        self._logprobs.setdefault(name, []).extend(as_list(cast(object, tokens)))
            for raw in (candidate.content.parts if candidate.content else None) or ():
                self._add_part(raw, events)
            if candidate.citation_metadata or candidate.grounding_metadata or candidate.url_context_metadata:
                self._add_notes(candidate)
            self._finish = candidate.finish_reason or self._finish
        return events

    def _add_notes(self, candidate: WireCandidate) -> None:
        for name, kind in _NOTES.items():
            if note := as_object(getattr(candidate, name)):
                noted: JsonObject = storable({"type": kind, **note})
                self._notes.setdefault(msgspec.json.encode(noted), noted)

    def _add_part(self, raw: Raw, events: list[ModelStreamEvent]) -> None:
        part = parse_part(raw)
        signature = clean_text(part.thought_signature or "")
        if part.function_call is not None:
            self._add_call(part.function_call, signature, events)
        elif part.inline_data is not None and not part.thought:  # media that was only thought is left as it is
            message = self._in_message(events)
            message.parts.append(_media(part.inline_data))
            if signature:
                self._sign(message, signature, events)
        elif part.text is not None and part.inline_data is None:
            if part.thought:
                self._add_thought(part.text, signature, events)
            elif part.text or signature:
                self._add_text(part.text, signature, events)
        else:
            self._add_own(raw, events)

    def _add_text(self, text: str, signature: str, events: list[ModelStreamEvent]) -> None:
        if not text and self._message is None:
            self._close()
            self._add_item(Reasoning(id="part:0", signature=signature, provider=self._provider), events)
            return
        message = self._in_message(events)
        message.add(text, apart=bool(signature))
        if text:
            self._text.append(text)
            events.append(OutputTextDelta(clean_text(text), message.index))
        if signature:
            self._sign(message, signature, events)

    def _sign(self, message: OpenMessage, signature: str, events: list[ModelStreamEvent]) -> None:
        index = self._begin()
        message.sign(signature, index)
        events.append(OutputItemAdded(Reasoning(provider=self._provider), index))

    def _add_own(self, raw: Raw, events: list[ModelStreamEvent]) -> None:
        """Keep a part of Google's own tools, or of a kind not known here, as it is; one that holds nothing is left out."""
        data = parse_object(raw)
        if any(value is not None and name != "thought" for name, value in data.items()):
            self._close()
            self._add_item(ProviderItem(self._provider, storable(data)), events)

    def _add_thought(self, text: str, signature: str, events: list[ModelStreamEvent]) -> None:
        if not text and not signature:
            return
        if self._thought is None:
            self._close()
            self._thought = []
            self._thought_at = self._begin()
            events.append(OutputItemAdded(Reasoning(provider=self._provider), self._thought_at))
        if text:
            self._thought.append(text)
            events.append(ReasoningTextDelta(clean_text(text), self._thought_at))
        if signature:
            self._close(signature)

    def _add_call(self, wire: WireCall, signature: str, events: list[ModelStreamEvent]) -> None:
        if wire.partial_args is not None or wire.will_continue:
            raise MalformedResponseError("the reply holds a call in pieces; do not ask for streamFunctionCallArguments")
        self._close()
        if signature:
            self._add_item(Reasoning(id="call", signature=signature, provider=self._provider), events)
        arguments = bytes(wire.args).decode()
        call_id = clean_text(wire.id or "") or f"call_{self._id or self._fallback_id}_{self._calls}"
        self._calls += 1
        call = FunctionCall(call_id, clean_text(wire.name or ""), "{}" if arguments == "null" else arguments)
        if self._computer is not None:
            call = read_call(self._computer, call)
        self._add_item(call, events)
        if call.arguments and call.kind == "function":
            events.append(FunctionCallArgumentsDelta(call.arguments, self._items[-1][0]))

    def _add_item(self, item: OutputItem, events: list[ModelStreamEvent]) -> None:
        """Take an item that came in one piece."""
        index = self._begin()
        begins = structs.replace(item, arguments="") if isinstance(item, FunctionCall) else item
        events.append(OutputItemAdded(begins, index))
        self._items.append((index, item))

    def _begin(self) -> int:
        self.begun = True
        self._begun_items += 1
        return self._begun_items - 1

    def _in_message(self, events: list[ModelStreamEvent]) -> OpenMessage:
        if self._message is None:
            self._close()
            self._message = OpenMessage(self._begin())
            events.append(OutputItemAdded(Message("assistant", ""), self._message.index))
        return self._message

    def _close(self, signature: str = "") -> None:
        """End what is being written, a thought with its `signature`."""
        if self._thought is not None:
            text = clean_text("".join(self._thought))
            self._items.append((self._thought_at, Reasoning(text, signature=signature, provider=self._provider)))
            self._thought = None
        if self._message is not None:
            self._items.extend(self._message.items(self._provider))
            self._message = None

    def response(self) -> ModelResponse:
        """The reply, if it is proven complete.

        Raises `MalformedResponseError` when no candidate came, `ContentFilterError`, and `IncompleteResponseError` when the
        server did not say why it stopped, or stopped where a call may be truncated.
        """
        if self._blocked:
            raise ContentFilterError(f"the provider refused the prompt ({escaped(self._blocked[:100])}); change the input")
        if not self._candidates_seen:
            raise MalformedResponseError("the reply has no candidates; expected one of generateContent")
        finish = _FINISHES.get(self._finish)
        if finish == "content_filter":
            raise ContentFilterError(f"the provider's content filter stopped the reply ({self._finish}); change the input")
        if finish == "error":
            raise self._incomplete(f"the model broke off its reply ({self._finish}); ask again, or simplify the tools")
        if not self._finish:
            raise self._incomplete("the reply ended without a finish reason, so nothing proves it complete")
        if finish is None:
            raise self._incomplete(
                f"the reply has an unknown finish reason ({self._finish[:100]!r}), so nothing proves it complete"
            )
        if finish == "length" and (self._calls or not self._text):
            what = "in a tool call" if self._calls else "before any text"
            raise self._incomplete(f"the reply reached its token limit {what}; raise max_tokens")
        self._close()
        self._annotate()
        output = tuple(item for _, item in self._items)
        usage = parse_any(self._usage)
        more = {"logprobsResult": self._logprobs, "usageMetadata": uncounted(usage, _COUNTED)}
        data = provider_data({**self._provider_data, **more})
        finish = "tool_calls" if self._calls else finish
        return ModelResponse(output, read_usage(usage), finish, self._id, self._model, data)

    def _annotate(self) -> None:
        """Give what was cited to the last text, of calls without any to an empty one: it tells of what the model has read."""
        if not self._notes:
            return
        notes = tuple(self._notes.values())
        for position in range(len(self._items) - 1, -1, -1):
            index, item = self._items[position]
            if not isinstance(item, Message):
                continue
            parts = (OutputText(item.content),) if isinstance(item.content, str) else item.content
            for number in range(len(parts) - 1, -1, -1):
                if isinstance(part := parts[number], OutputText):
                    noted = OutputText(part.text, notes)
                    self._items[position] = (index, Message("assistant", (*parts[:number], noted, *parts[number + 1 :])))
                    return
        if self._calls:
            self._items.append((self._begin(), Message("assistant", (OutputText("", notes),))))

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """The items of `response`, each complete, under the position they were streamed at."""
        return [OutputItemDone(item, index) for index, item in self._items]

    def _incomplete(self, message: str) -> IncompleteResponseError:
        return IncompleteResponseError(message, partial=self.text)


def _media(blob: WireBlob) -> Part:
    kind, _, form = blob.mime_type.partition("/")
    if kind == "audio":
        return InputAudio(blob.data, form)
    url = f"data:{blob.mime_type};base64,{blob.data}"
    if kind == "video":
        return InputVideo(url)
    return InputImage(url) if kind == "image" else InputFile(file_data=url)
