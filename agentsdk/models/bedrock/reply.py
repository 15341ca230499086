"""Converse's reply, put together: one assembler for the events of a stream and for a reply that comes in one piece.

```
messageStart (contentBlockStart? contentBlockDelta* contentBlockStop)* messageStop metadata
```
A reply is a list of content blocks, and an event names its block by an index; a block of text or reasoning begins with its
first delta. Text blocks that follow each other are one message. What proves a reply complete is its stop reason, in
`messageStop`; `metadata` tells what it cost. `response` returns nothing without a stop reason, and no call whose block was not
ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.models.bedrock.block import Block, Kind, add_other, add_reasoning, kind_of, texts_of, whole_other
from agentsdk.models.bedrock.usage import read_usage
from agentsdk.models.bedrock.wire import WireEvent, WireReply, input_of, parse_event, parse_object, parse_reply
from agentsdk.models.errors import ErrorInReply
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
from agentsdk.types.items import FunctionCall, Message, OutputText, Part, ProviderItem, Reasoning
from agentsdk.types.response import Finish, ModelResponse, OutputItem
from agentsdk.types.text import clean_text
from agentsdk.types.usage import Usage

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
_MALFORMED = ("malformed_model_output", "malformed_tool_use")
_COUNTED = ("inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
_NOTED = ("trace", "service_tier", "performance_config", "additional_model_response_fields")


class ReplyAssembler:
    """Puts a reply together. `model` is the name it was asked by, as the API tells none; `fallback_id` is for calls."""

    def __init__(self, provider: str, *, model: str = "", fallback_id: str = "") -> None:
        self._provider = provider
        self._model = model
        self._fallback_id = fallback_id
        self._started = False
        self._stop = ""
        self._usage: JsonObject = {}
        self._provider_data: JsonObject = {}
        self._blocks: list[Block] = []
        self._by_index: dict[int, Block] = {}
        self._calls = 0
        self._outputs = 0
        self._items: list[tuple[OutputItem, int]] = []
        self.complete = False
        """Whether nothing more is needed."""

    @property
    def begun(self) -> bool:
        """Whether any content has come."""
        return bool(self._blocks)

    @property
    def finished(self) -> bool:
        """Whether the server said why it stopped."""
        return bool(self._stop)

    @property
    def usage(self) -> Usage | None:
        """What the reply has cost, as far as the provider has reported."""
        return read_usage(self._usage) if self._usage else None

    @property
    def text(self) -> str:
        """The text so far."""
        return clean_text("".join(block.text for block in self._blocks if block.kind == "text"))

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event; the deltas it makes."""
        if event.event == "error":
            raise ErrorInReply(_told(event.data))
        wire = parse_event(event.data)
        events: list[ModelStreamEvent] = []
        match event.event:
            case "contentBlockDelta":
                self._add_delta(wire.content_block_index, as_object(wire.delta), events)
            case "contentBlockStart":
                fields = as_object(wire.start)
                self._start(wire.content_block_index, kind_of(fields), fields, events)
            case "contentBlockStop":
                if (block := self._find(wire.content_block_index)) is not None:
                    block.stopped = True
            case "messageStart":
                self._begin(events)
            case "messageStop":
                self._stop = wire.stop_reason or ""
                self._note(wire)
            case "metadata":
                self._usage = as_object(wire.usage)
                self._note(wire)
                self.complete = bool(self._stop)
            case _:  # whatever is added to the protocol
                pass
        return events

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece."""
        wire = parse_reply(body)
        content = wire.output.message.content if wire.output is not None and wire.output.message is not None else None
        if content is None:
            if (error := parse_object(body).get("error")) is not None:
                raise ErrorInReply(error)
            raise MalformedResponseError("the reply has no content; expected one of Bedrock's Converse")
        unseen: list[ModelStreamEvent] = []
        self._begin(unseen)
        self._usage = as_object(wire.usage)
        self._note(wire)
        for index, raw in enumerate(content):
            fields = parse_object(raw)
            if not fields:
                raise MalformedResponseError("the reply is not one of Converse: a content block is not an object")
            block = self._start(index, kind_of(fields), fields, unseen)
            block.stopped = True
            if block.kind == "call":
                block.pieces = [input_of(raw)]
            elif block.kind == "text":
                block.pieces = [texts_of(fields)]
                block.citations = list(map(as_object, as_list(as_object(fields.get("citationsContent")).get("citations"))))
            elif block.kind == "reasoning":
                block.pieces = [add_reasoning(block, as_object(fields.get("reasoningContent")))]
        self._stop = wire.stop_reason or ""
        self.complete = True

    def _begin(self, events: list[ModelStreamEvent]) -> None:
        if not self._started:
            self._started = True
            events.append(ResponseCreated(""))

    def _note(self, wire: WireEvent | WireReply) -> None:
        found = {name: getattr(wire, name) for name in _NOTED}
        self._provider_data.update({name: value for name, value in found.items() if value is not None})

    def _start(self, index: int | None, kind: Kind, fields: JsonObject, events: list[ModelStreamEvent]) -> Block:
        last = self._blocks[-1] if self._blocks else None
        block = Block(index if index is not None else len(self._blocks), kind, fields, self._calls)
        self._blocks.append(block)
        self._by_index[block.index] = block
        self._calls += kind == "call"
        if kind == "text" and last is not None and last.kind == "text":
            block.output_index = last.output_index  # one message, in several blocks
            return block
        block.output_index = self._outputs
        self._outputs += 1
        events.append(OutputItemAdded(self._opening(block), block.output_index))
        return block

    def _opening(self, block: Block) -> OutputItem:
        match block.kind:
            case "text":
                return Message("assistant", "")
            case "reasoning":
                return Reasoning(provider=self._provider)
            case "call":
                return self._call(block, "")
            case "other":
                return ProviderItem(self._provider, storable(block.fields))

    def _find(self, index: int | None) -> Block | None:
        if index is None:
            return self._blocks[-1] if self._blocks else None
        return self._by_index.get(index)

    def _add_delta(self, index: int | None, delta: JsonObject, events: list[ModelStreamEvent]) -> None:
        kind = kind_of(delta)
        block = self._find(index)
        if block is None:
            if kind == "call":
                raise MalformedResponseError("the reply is not one of Converse: arguments of a call without its beginning")
            block = self._start(index, kind, {}, events)
        if block.kind == "other":
            add_other(block, delta)
        elif block.kind == "call":
            self._add_piece(block, as_text(as_object(delta.get("toolUse")).get("input")), events)
        elif block.kind == "reasoning":
            self._add_piece(block, add_reasoning(block, as_object(delta.get("reasoningContent"))), events)
        else:
            if citation := as_object(delta.get("citation")):
                block.citations.append(citation)
            self._add_piece(block, as_text(delta.get("text")), events)

    def _add_piece(self, block: Block, piece: str, events: list[ModelStreamEvent]) -> None:
        if not piece:
            return
        block.pieces.append(piece)
        shown = clean_text(piece)
        if block.kind == "text":
            events.append(OutputTextDelta(shown, block.output_index))
        elif block.kind == "reasoning":
            events.append(ReasoningTextDelta(shown, block.output_index))
        else:
            events.append(FunctionCallArgumentsDelta(shown, block.output_index))

    def response(self) -> ModelResponse:
        """The reply, if it is proven complete.

        Raises `MalformedResponseError` when no message came or the model wrote none that can be read, `ContentFilterError`, and
        `IncompleteResponseError` when the server did not say why it stopped, or stopped where a call may be truncated.
        """
        if not (self._started or self._blocks):
            raise MalformedResponseError("the reply holds no message; expected one of Bedrock's Converse")
        if not self._stop:
            raise self._incomplete("the reply ended without a stop reason, so nothing proves it complete")
        if self._stop in _MALFORMED:
            raise MalformedResponseError(f"the model wrote what Bedrock could not read ({self._stop}); ask again")
        finish = _FINISHES.get(self._stop)
        if finish is None:
            raise self._incomplete(
                f"the reply has an unknown stop reason ({self._stop[:100]!r}), so nothing proves it complete"
            )
        if finish == "content_filter":
            what = "a guardrail" if self._stop == "guardrail_intervened" else "the provider's content filter"
            raise ContentFilterError(f"{what} stopped the reply ({self._stop}); change the input")
        calls = [block for block in self._blocks if block.kind == "call"]
        if finish == "length" and (calls or not self.text):
            what = "in a tool call" if calls else "before any text"
            window = self._stop == "model_context_window_exceeded"
            remedy = "it filled the model's context window: shorten the input" if window else "raise max_tokens"
            raise self._incomplete(f"the reply reached its token limit {what}; {remedy}")
        if calls and (self._stop == "stop_sequence" or not all(call.stopped for call in calls)):
            raise self._incomplete("the reply holds tool calls, but nothing proves them complete: it did not stop after them")
        self._items = self._output()
        data = provider_data({**self._provider_data, "usage": uncounted(self._usage, _COUNTED)})
        output = tuple(item for item, _ in self._items)
        return ModelResponse(output, read_usage(self._usage), finish, "", self._model, data)

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """The items of `response`, each complete, under the position they were streamed at."""
        return [OutputItemDone(item, position) for item, position in self._items]

    def _incomplete(self, message: str) -> IncompleteResponseError:
        return IncompleteResponseError(message, partial=self.text)

    def _output(self) -> list[tuple[OutputItem, int]]:
        """The items and where they were streamed: blocks of text that follow each other are one message."""
        found: list[tuple[OutputItem | list[Part], int]] = []
        for block in sorted(self._blocks, key=lambda block: block.index):
            text, position = clean_text(block.text), block.output_index
            match block.kind:
                case "text":
                    if text:
                        part = OutputText(text, tuple(storable(block.citations)))
                        if found and isinstance(last := found[-1][0], list):
                            last.append(part)
                        else:
                            found.append(([part], position))
                case "reasoning":
                    signature, encrypted = clean_text("".join(block.signatures)), clean_text(block.encrypted)
                    if text or signature or encrypted:
                        item = Reasoning(text, signature=signature, encrypted=encrypted, provider=self._provider)
                        found.append((item, position))
                case "call":
                    found.append((self._call(block, text or "{}"), position))
                case "other":
                    if (fields := whole_other(block)) is not None:
                        found.append((ProviderItem(self._provider, storable(fields)), position))
        return [(_message(item) if isinstance(item, list) else item, position) for item, position in found]

    def _call(self, block: Block, arguments: str) -> FunctionCall:
        fields = as_object(block.fields.get("toolUse"))
        call_id = clean_text(as_text(fields.get("toolUseId"))) or f"call_{self._fallback_id}_{block.number}"
        return FunctionCall(call_id, clean_text(as_text(fields.get("name"))), arguments)


def _told(data: str) -> object:
    """What the server reported in the stream, in the form of its other errors."""
    told = parse_object(data)
    message = as_text(told.get("message"))
    try:
        told_inside = parse_object(message)
    except MalformedResponseError:
        told_inside = {}
    inside = as_object(told_inside.get("error")) or told_inside
    return {"code": told.get("exception"), **inside} if inside else {"code": told.get("exception"), "message": message}


def _message(parts: list[Part]) -> Message:
    if len(parts) == 1 and isinstance(part := parts[0], OutputText) and not part.annotations:
        return Message("assistant", part.text)
    return Message("assistant", tuple(parts))
