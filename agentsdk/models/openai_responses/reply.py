"""A reply of the Responses API, put together: one assembler for the events of a stream and for a reply that comes in one piece.

The last event of a stream carries the complete reply, so the events before it serve only to show deltas, and what proves a
reply complete is that last event. Where a server leaves the items out of it, those of the `output_item.done` events count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agentsdk.models.errors import ErrorInReply
from agentsdk.models.hosted import refuse_unanswered
from agentsdk.models.loose import as_list, as_object, as_text, storable
from agentsdk.models.openai_responses.calls import kind_of, read_call
from agentsdk.models.openai_responses.encode import joined_summary
from agentsdk.models.openai_responses.usage import COUNTED, read_usage
from agentsdk.models.openai_responses.wire import WireEvent, WireResponse, parse_event, parse_response
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
from agentsdk.types.errors import ContentFilterError, IncompleteResponseError, MalformedResponseError
from agentsdk.types.items import FunctionCall, Message, OutputText, Part, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import Finish, ModelResponse, OutputItem
from agentsdk.types.usage import Usage

_Delta = type[OutputTextDelta | RefusalDelta | ReasoningTextDelta | FunctionCallArgumentsDelta]
_DELTAS: dict[str, _Delta] = {
    "response.output_text.delta": OutputTextDelta,
    "response.refusal.delta": RefusalDelta,
    "response.reasoning_text.delta": ReasoningTextDelta,
    "response.reasoning_summary_text.delta": ReasoningTextDelta,
    "response.function_call_arguments.delta": FunctionCallArgumentsDelta,
}
_LAST = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}


class ResponseAssembler:
    """Puts a reply together. `fallback_id` names calls whose id the server left out, if it left out the reply's id too."""

    def __init__(self, provider: str, *, fallback_id: str = "") -> None:
        self._provider = provider
        self._fallback_id = fallback_id
        self._created = False
        self._text: list[str] = []
        self._done: dict[int, JsonObject] = {}
        self._open: set[int] = set()  # positions of items that have begun and not ended
        self._call_cut = False
        self._logprobs: list[object] = []  # of the texts, in their order
        self._last: WireResponse | None = None
        self._usage: object = None
        self._status = ""
        self._output: list[tuple[int, OutputItem]] = []
        self.begun = False
        """Whether any item has begun."""
        self.complete = False
        """Whether the event has come that ends a reply and carries all of it."""

    @property
    def finished(self) -> bool:
        """Whether the server said why it stopped."""
        return self.complete

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(self._text)

    @property
    def usage(self) -> Usage | None:
        """What the reply has cost, which its last event reports; None before."""
        return None if self._usage is None else read_usage(self._usage)

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event of a stream; the deltas it makes, None at its end mark. Raises `ErrorInReply`."""
        data = event.data
        if data == "[DONE]":
            return None
        if event.event == "error":
            raise ErrorInReply(data)
        wire = parse_event(data)
        kind = wire.type or event.event
        delta = _DELTAS.get(kind)
        if delta is not None:
            text = as_text(wire.delta)
            if not text:
                return ()
            self.begun = True
            if delta is OutputTextDelta:
                self._text.append(text)
            return (delta(text, wire.output_index or 0),)
        if kind in _LAST:
            self._end(parse_response(wire.response), _LAST[kind])
            return ()
        if wire.error or kind == "error":
            raise ErrorInReply(wire.error or data)
        return self._other(kind, wire)

    def _other(self, kind: str, wire: WireEvent) -> Sequence[ModelStreamEvent]:
        position = wire.output_index or 0
        match kind:
            case "response.created" if not self._created:
                self._created = True
                return (ResponseCreated(as_text(parse_response(wire.response).id)),)
            case "response.output_item.added" if (item := self._item(wire.item, position, begun_only=True)) is not None:
                self.begun = True
                self._open.add(position)
                return (OutputItemAdded(item, position),)
            case "response.output_item.done":
                self._open.discard(position)
                if wire.item is None or (item := self._item(wire.item, position)) is None:
                    return ()
                self.begun = True
                self._done[position] = wire.item
                return (OutputItemDone(item, position),)
            case "response.reasoning_summary_part.added" if wire.summary_index:
                return (ReasoningTextDelta(joined_summary(("", "")), position),)
            case _:
                return ()

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece. Raises `ErrorInReply`."""
        whole = parse_response(body)
        if whole.output is None and (whole.error or whole.kind == "error"):
            self._usage = whole.usage
            raise ErrorInReply(whole.error or body)
        if whole.output is None and whole.status is None:
            raise MalformedResponseError("the reply has no output; expected one of the Responses API")
        self._end(whole, as_text(whole.status))

    def _end(self, last: WireResponse, status: str) -> None:
        self._usage = last.usage
        if status == "failed":
            raise ErrorInReply(last.error)
        self._last = last
        self._status = status
        self.complete = True
        came = list(enumerate(last.output)) if last.output else sorted(self._done.items())
        if last.output:
            self._logprobs = _logprobs(last.output)
        answered = _answered([data for _, data in came])
        items = [(position, self._item(data, position, answered=answered)) for position, data in came]
        self._output = [(position, item) for position, item in items if item is not None]
        if not self._text:
            self._text = [item.text for _, item in self._output if isinstance(item, Message)]

    def response(self) -> ModelResponse:
        """The reply, if it is proven complete.

        Raises `MalformedResponseError`, `ContentFilterError`, and `IncompleteResponseError` when the reply's end did not come,
        or it stopped where a call may be truncated.
        """
        last = self._last
        if last is None:
            if not (self.begun or self._created):
                raise MalformedResponseError("the stream holds no reply; expected events of the Responses API")
            raise self._incomplete("the reply ended before it was completed, so nothing proves it complete")
        output = tuple(item for _, item in self._output)
        if last.output is None and not output and self._status == "completed":
            raise MalformedResponseError("the completed reply has no output; expected one of the Responses API")
        finish = self._finish(as_text(as_object(last.incomplete_details).get("reason")), output)
        if self._call_cut or (not last.output and (self._open or (self._text and not output))):
            raise self._incomplete("the reply was completed without an item that it had begun")
        refuse_unanswered(unanswered([item.data for item in output if isinstance(item, ProviderItem)]))
        data = {
            "service_tier": last.service_tier,
            "conversation": last.conversation,
            "system_fingerprint": last.system_fingerprint,
            "cost": last.cost,
            "usage": uncounted(last.usage, COUNTED),
            "logprobs": self._logprobs,
        }
        usage = read_usage(last.usage)
        return ModelResponse(output, usage, finish, as_text(last.id), as_text(last.model), provider_data(data))

    def _finish(self, reason: str, output: tuple[OutputItem, ...]) -> Finish:
        has_calls = any(isinstance(item, FunctionCall) for item in output)
        if self._status == "completed":
            return "tool_calls" if has_calls else "stop"
        if self._status == "incomplete" and reason == "content_filter":
            raise ContentFilterError("the provider's content filter stopped the reply; change the input")
        says = any(isinstance(item, Message) and (item.text or item.refusal) for item in output)
        if self._status == "incomplete" and reason == "max_output_tokens":
            if has_calls or not says:
                what = "in a tool call" if has_calls else "before any text"
                raise self._incomplete(f"the reply reached its token limit {what}; raise max_tokens")
            return "length"
        stopped = ", ".join(word[:100] for word in (self._status, reason) if word)
        raise self._incomplete(f"the reply is not completed ({stopped or 'it has no status'}), so nothing proves it complete")

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """The items that no event has shown complete, under the position they were streamed at."""
        return [OutputItemDone(item, position) for position, item in self._output if position not in self._done]

    def _incomplete(self, message: str) -> IncompleteResponseError:
        return IncompleteResponseError(message, partial=self.text)

    def _item(
        self, data: JsonObject | None, position: int, *, begun_only: bool = False, answered: Collection[str] = ()
    ) -> OutputItem | None:
        """The item in `data`, None for a message without content; `begun_only` leaves its content, yet to come, out.

        Calls of the `answered` ids were run by the provider.
        """
        if not data:
            return None
        item_id = as_text(data.get("id"))
        match data.get("type"):
            case "message":
                phase = as_text(data.get("phase"))
                return Message("assistant", "", item_id, phase) if begun_only else _message(data, item_id, phase)
            case "reasoning":
                return Reasoning(id=item_id, provider=self._provider) if begun_only else self._reasoning(data, item_id)
            case _ if (kind := kind_of(data)) is not None and as_text(data.get("call_id")) not in answered:
                self._call_cut = self._call_cut or (not begun_only and data.get("status") == "incomplete")
                return read_call(kind, data, f"call_{self._fallback_id}_{position}", begun_only=begun_only)
            case _:
                return ProviderItem(self._provider, storable(data))

    def _reasoning(self, data: JsonObject, item_id: str) -> Reasoning:
        summary = tuple(_texts(data.get("summary")))
        text = "".join(_texts(data.get("content"))) or joined_summary(summary)
        sealed = as_text(data.get("encrypted_content"))
        return Reasoning(text, summary, item_id, encrypted=sealed, provider=self._provider)


def unanswered(items: Sequence[JsonObject]) -> list[str]:
    """The types of those of a reply's own items that ask the client for something.

    Calls that the provider runs itself have no `call_id`, or their output is in the same reply. A program waits for the calls
    that it makes itself.
    """
    answered = _answered(items)
    asking: list[str] = []
    for item in items:
        kind, call_id = as_text(item.get("type")), as_text(item.get("call_id"))
        runs_here = bool(call_id) and kind != "program" and not kind.endswith("_output") and item.get("execution") != "server"
        if runs_here and call_id not in answered:
            asking.append(kind)
    return asking


def _answered(items: Sequence[JsonObject]) -> set[str]:
    """The ids of calls whose output is among a reply's own items."""
    outputs = [item for item in items if as_text(item.get("type")).endswith("_output")]
    return {call_id for item in outputs if (call_id := as_text(item.get("call_id")))}


def _logprobs(output: list[JsonObject]) -> list[object]:
    parts = [part for item in output if item.get("type") == "message" for part in as_list(item.get("content"))]
    return [one for part in parts for one in as_list(as_object(part).get("logprobs"))]


def _message(data: JsonObject, item_id: str, phase: str) -> Message | None:
    parts: list[Part] = []
    content = data.get("content")
    for part in map(as_object, [{"type": "output_text", "text": content}] if isinstance(content, str) else as_list(content)):
        if part.get("type") == "refusal":
            parts.append(Refusal(as_text(part.get("refusal"))))
        elif text := as_text(part.get("text")):
            notes = [note for note in map(as_object, as_list(part.get("annotations"))) if note]
            parts.append(OutputText(text, tuple(storable(notes))))
    if not parts:
        return None
    if len(parts) == 1 and isinstance(only := parts[0], OutputText) and not only.annotations:
        return Message("assistant", only.text, item_id, phase)
    return Message("assistant", tuple(parts), item_id, phase)


def _texts(parts: object) -> list[str]:
    return [as_text(as_object(part).get("text")) for part in as_list(parts)]
