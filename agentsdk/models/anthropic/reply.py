"""The Messages API's reply, put together: one assembler for the events of a stream and for a reply that comes in one piece.

```
message_start (content_block_start content_block_delta* content_block_stop)* message_delta message_stop, and pings between
```
A reply is a list of content blocks, and an event names its block by an index. Each block collects its pieces; deltas are shown
as they come, and the items are made from the blocks once, at the end. Text blocks that follow each other are one message. What
proves a reply complete is its stop reason, in `message_delta`: `response` returns nothing without one, and no call whose block
was not ended. A stop reason can also mean a pause: the reply so far goes back to the provider, which continues (`TurnPaused`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from agentsdk.models.anthropic.block import Block
from agentsdk.models.anthropic.calls import read_call
from agentsdk.models.anthropic.encode import CALL_DETAILS
from agentsdk.models.anthropic.usage import read_usage
from agentsdk.models.anthropic.wire import WireEvent, input_of, parse_event, parse_object, parse_reply
from agentsdk.models.errors import ErrorInReply
from agentsdk.models.hosted import refuse_unanswered
from agentsdk.models.loose import as_object, as_text, storable, storable_json
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
    RefusalDelta,
    ResponseCreated,
)
from agentsdk.types.errors import IncompleteResponseError, MalformedResponseError
from agentsdk.types.items import CallKind, FunctionCall, Message, OutputText, Part, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import Finish, ModelResponse, OutputItem
from agentsdk.types.text import clean_text
from agentsdk.types.usage import Usage

_FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "thinking_tokens",
)
_PAUSES = ("pause_turn", "compaction")
_BLOCK_OF_DELTA = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}


class TurnPaused(IncompleteResponseError):  # noqa: N818 - reads as what happened
    """The provider paused in the middle of its turn: `response` goes back to it, and it continues.

    `events` end what was streamed so far, under output indexes below `width`.
    """

    def __init__(self, response: ModelResponse, events: list[ModelStreamEvent], width: int) -> None:
        super().__init__("the provider paused its turn too often without an end; ask again", partial=response.text)
        self.response = response
        self.events = events
        self.width = width


class ReplyAssembler:
    """Puts a reply together. `fallback_id` names calls whose id the server left out, if it left out the reply's id too.

    `client_tools` are the kinds of the agent's tools that are the API's own, by its names of them.
    """

    def __init__(self, provider: str, *, fallback_id: str = "", client_tools: Mapping[str, CallKind] | None = None) -> None:
        self._provider = provider
        self._fallback_id = fallback_id
        self._client_tools = client_tools or {}
        self._id = ""
        self._model = ""
        self._started = False
        self._stop = ""
        self._stop_details: JsonObject = {}
        self._usage: JsonObject = {}
        self._provider_data: JsonObject = {}
        self._blocks: list[Block] = []
        self._by_index: dict[int, Block] = {}  # the newest of each
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
        """Take an event; the deltas it makes, or None when it is `message_stop`."""
        if event.event == "error":
            raise ErrorInReply(event.data)
        wire = parse_event(event.data)
        events: list[ModelStreamEvent] = []
        match wire.type:
            case "content_block_delta":
                self._add_delta(wire, event.data, events)
            case "content_block_start":
                self._start(wire.index, as_object(wire.content_block), events)
            case "content_block_stop":
                if (block := self._find(wire.index)) is not None:
                    block.stopped = True
            case "message_start":
                message = as_object(wire.message)
                self._begin(as_text(message.get("id")), as_text(message.get("model")), events)
                self._add_usage(message.get("usage"))
                self._note(container=message.get("container"))
            case "message_delta":
                self._add_usage(wire.usage)
                self._note(context_management=wire.context_management)
                if (delta := wire.delta) is not None:
                    self._note(container=delta.container, stop_sequence=delta.stop_sequence, stop_details=delta.stop_details)
                    if delta.stop_reason:
                        self._finish(delta.stop_reason, delta.stop_details, events)
            case "message_stop":
                self.complete = True
                return None
            case "error":
                raise ErrorInReply(event.data)
            case None if parse_object(event.data).get("error"):
                raise ErrorInReply(event.data)
            case _:  # pings, and whatever is added to the protocol
                pass
        return events

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece."""
        wire = parse_reply(body)
        if wire.content is None:
            if wire.type == "error" or parse_object(body).get("error"):
                raise ErrorInReply(body.decode())
            raise MalformedResponseError("the reply has no content; expected an Anthropic message")
        unseen: list[ModelStreamEvent] = []
        self._begin(wire.id or "", wire.model or "", unseen)
        self._add_usage(wire.usage)
        self._note(
            container=wire.container,
            stop_sequence=wire.stop_sequence,
            stop_details=wire.stop_details,
            context_management=wire.context_management,
        )
        for index, raw in enumerate(wire.content):
            fields = parse_object(raw)
            if not fields:
                raise MalformedResponseError("the reply is not an Anthropic message: a content block is not an object")
            block = self._start(index, fields, unseen)
            block.stopped = True
            if block.kind == "tool_use":
                block.pieces = [input_of(raw)]
        if wire.stop_reason:
            self._finish(wire.stop_reason, wire.stop_details, unseen)
        self.complete = True

    def _begin(self, reply_id: str, model: str, events: list[ModelStreamEvent]) -> None:
        if not self._started:
            self._started = True
            self._id, self._model = clean_text(reply_id), clean_text(model)
            events.append(ResponseCreated(self._id))

    def _note(self, **fields: object) -> None:
        self._provider_data.update({name: value for name, value in fields.items() if value is not None})

    def _add_usage(self, usage: object) -> None:
        """The counts of a later event are totals and replace those of an earlier one."""
        self._usage.update({name: value for name, value in as_object(usage).items() if value is not None})

    def _finish(self, reason: str, details: object, events: list[ModelStreamEvent]) -> None:
        self._stop = reason
        self._stop_details = as_object(details)
        if reason == "refusal":
            events.append(RefusalDelta(self._refusal(), max(0, self._outputs - 1)))

    def _start(self, index: int | None, fields: JsonObject, events: list[ModelStreamEvent]) -> Block:
        last = self._blocks[-1] if self._blocks else None
        block = Block(index if index is not None else len(self._blocks), fields, self._calls)
        self._blocks.append(block)
        self._by_index[block.index] = block
        if block.kind == "tool_use":
            self._calls += 1
            block.is_function = self._call(block, "").kind not in ("shell", "computer")
        if block.kind == "text" and last is not None and last.kind == "text":
            block.output_index = last.output_index  # one message, in several blocks
        else:
            if block.kind == "tool_use" and block.call_details:
                self._outputs += 1
            block.output_index = self._outputs
            self._outputs += 1
            events.append(OutputItemAdded(self._opening(block), block.output_index))
        if block.kind == "text":
            self._add_piece(block, as_text(fields.get("text")), events)
        elif block.kind == "thinking":
            self._add_piece(block, as_text(fields.get("thinking")), events)
        return block

    def _opening(self, block: Block) -> OutputItem:
        match block.kind:
            case "text":
                return Message("assistant", "")
            case "thinking" | "redacted_thinking":
                return Reasoning(provider=self._provider)
            case "tool_use":
                return self._call(block, "")
            case _:
                return ProviderItem(self._provider, storable(block.fields))

    def _find(self, index: int | None) -> Block | None:
        if index is None:
            return self._blocks[-1] if self._blocks else None
        return self._by_index.get(index)

    def _add_delta(self, wire: WireEvent, data: str, events: list[ModelStreamEvent]) -> None:
        delta = wire.delta
        if delta is None:
            return
        kind = delta.type or ""
        block = self._find(wire.index)
        if block is None:
            if kind not in _BLOCK_OF_DELTA:
                raise MalformedResponseError(f"the reply is not an Anthropic message: {kind[:40]!r} without its content block")
            block = self._start(wire.index, {"type": _BLOCK_OF_DELTA[kind]}, events)
        if kind == "text_delta":
            self._add_piece(block, delta.text or "", events)
        elif kind == "thinking_delta":
            self._add_piece(block, delta.thinking or "", events)
        elif kind == "signature_delta":
            block.signatures.append(delta.signature or "")
        elif kind == "input_json_delta":
            self._add_piece(block, delta.partial_json or "", events)
        elif kind == "citations_delta":
            block.citations.append(as_object(delta.citation))
        else:
            block.merge(as_object(parse_object(data).get("delta")))

    def _add_piece(self, block: Block, piece: str, events: list[ModelStreamEvent]) -> None:
        if not piece:
            return
        block.pieces.append(piece)
        if block.kind == "text":
            events.append(OutputTextDelta(clean_text(piece), block.output_index))
        elif block.kind == "thinking":
            events.append(ReasoningTextDelta(clean_text(piece), block.output_index))
        elif block.is_function:
            events.append(FunctionCallArgumentsDelta(clean_text(piece), block.output_index))

    def _refusal(self) -> str:
        explanation = as_text(self._stop_details.get("explanation"))
        return clean_text(explanation) or "The model declined to answer."

    def response(self) -> ModelResponse:
        """The reply, if it is proven complete.

        Raises `MalformedResponseError` when no message came, `IncompleteResponseError` when the server did not say why it
        stopped or stopped where a call may be truncated, and `TurnPaused`.
        """
        if not (self._started or self._blocks):
            raise MalformedResponseError("the reply holds no message; expected an Anthropic message")
        if not self._stop:
            raise self._incomplete("the reply ended without a stop reason, so nothing proves it complete")
        finish: Finish | None = "stop" if self._stop in _PAUSES else _FINISHES.get(self._stop)
        if finish is None:
            raise self._incomplete(
                f"the reply has an unknown stop reason ({self._stop[:100]!r}), so nothing proves it complete"
            )
        calls = [block for block in self._blocks if block.kind == "tool_use"]
        if finish == "content_filter":
            calls = []
        if finish == "length" and (calls or not self.text):
            what = "in a tool call" if calls else "before any text"
            window = self._stop == "model_context_window_exceeded"
            remedy = "it filled the model's context window: shorten the input" if window else "raise max_tokens"
            raise self._incomplete(f"the reply reached its token limit {what}; {remedy}")
        if calls and (self._stop in _PAUSES or self._stop == "stop_sequence" or not all(call.stopped for call in calls)):
            raise self._incomplete("the reply holds tool calls, but nothing proves them complete: it did not stop after them")
        if finish == "stop" and self._stop not in _PAUSES:  # else the provider continues with them
            refuse_unanswered(self._unanswered())
        self._items = self._output()
        output = tuple(item for item, _ in self._items)
        data = provider_data({**self._provider_data, "usage": uncounted(self._usage, _COUNTED)})
        response = ModelResponse(output, read_usage(self._usage), finish, self._id, self._model, data)
        if self._stop in _PAUSES:
            raise TurnPaused(response, self.done_events(response), self._outputs)
        return response

    def _unanswered(self) -> list[str]:
        """The kinds of calls of the provider's own tools that have no result in the reply: it ended without running them."""
        answered = {as_text(block.fields.get("tool_use_id")) for block in self._blocks}
        uses = [block for block in self._blocks if block.kind.endswith("_tool_use")]
        return [block.kind for block in uses if as_text(block.fields.get("id")) not in answered]

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """The items of `response`, each complete, under the position they were streamed at."""
        return [OutputItemDone(item, position) for item, position in self._items]

    def _incomplete(self, message: str) -> IncompleteResponseError:
        return IncompleteResponseError(message, partial=self.text)

    def _output(self) -> list[tuple[OutputItem, int]]:
        """The items and where they were streamed: blocks of text that follow each other are one message."""
        found: list[tuple[OutputItem | list[Part], int]] = []
        refused = self._stop == "refusal"
        for block in sorted(self._blocks, key=lambda block: block.index):
            block.finish()
            position = block.output_index
            text = clean_text(block.text)
            match block.kind:
                case "text":
                    _add_to_message(found, OutputText(text, tuple(storable(block.citations))) if text else None, position)
                case "thinking":
                    signature = clean_text("".join(block.signatures))
                    if text or signature:
                        found.append((Reasoning(text, signature=signature, provider=self._provider), position))
                case "redacted_thinking":
                    data = clean_text(as_text(block.fields.get("data")))
                    found.append((Reasoning(encrypted=data, provider=self._provider), position))
                case "tool_use" if refused:
                    pass
                case "tool_use":
                    if details := block.call_details:
                        beside = ProviderItem(self._provider, {"type": CALL_DETAILS, **storable(details)})
                        found.append((beside, position - 1))
                    found.append((self._call(block, text or storable_json(as_object(block.fields.get("input")))), position))
                case _:
                    if (item := self._provider_item(block)) is not None:
                        found.append((item, position))
        if refused:
            _add_to_message(found, Refusal(self._refusal()), max(0, self._outputs - 1))
        return [(_message(item) if isinstance(item, list) else item, position) for item, position in found]

    def _call(self, block: Block, arguments: str) -> FunctionCall:
        fields = block.fields
        call_id = clean_text(as_text(fields.get("id"))) or f"call_{self._id or self._fallback_id}_{block.number}"
        return read_call(fields, call_id, arguments, self._client_tools)

    def _provider_item(self, block: Block) -> ProviderItem | None:
        """A block of the provider's own; None where the end of the reply truncated its input."""
        fields = block.fields
        if block.pieces:
            try:
                fields = {**fields, "input": json.loads(block.text)}
            except (ValueError, RecursionError):
                return None
        return ProviderItem(self._provider, storable(fields))


def _add_to_message(found: list[tuple[OutputItem | list[Part], int]], part: Part | None, position: int) -> None:
    if part is None:
        return
    last = found[-1][0] if found else None
    if isinstance(last, list):
        last.append(part)
    else:
        found.append(([part], position))


def _message(parts: list[Part]) -> Message:
    if len(parts) == 1 and isinstance(part := parts[0], OutputText) and not part.annotations:
        return Message("assistant", part.text)
    return Message("assistant", tuple(parts))
