"""A chat completion, put together: one assembler for the chunks of a stream and for a reply that comes in one piece.

Text, reasoning and calls are collected as they come, and each delta is shown at once under the output index that its item was
announced with. The items are made from what was collected, once, at the end. What proves a reply complete is a finish reason
(some servers never send one: see `unfinished_text_ok`), so `response` is the one place that returns calls, and it raises where
one may be truncated. The usage may come after the finish reason, in a chunk without choices.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import structs

from agentsdk.models.errors import ErrorInReply
from agentsdk.models.hosted import refuse_unanswered
from agentsdk.models.loose import as_list, as_object, as_text, storable, storable_json
from agentsdk.models.openai_chat.calls import CallAssembler
from agentsdk.models.openai_chat.encode import EXTRA
from agentsdk.models.openai_chat.usage import COUNTED, read_usage
from agentsdk.models.openai_chat.wire import EXTRAS, ChoiceExtras, Chunk, WireCall, WireMessage, parse_chunk
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
from agentsdk.types.text import clean_text
from agentsdk.types.usage import Usage

_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "error": "error",
}


class ReplyAssembler:
    """Puts a reply together.

    `fallback_id` names calls whose id the server left out, if it left out the reply's id too. `unfinished_text_ok` lets text,
    never calls, through although the server did not say why it stopped; `whole_is_finished` takes a reply that came in one
    piece as finished.
    """

    def __init__(
        self,
        provider: str,
        *,
        fallback_id: str = "",
        unfinished_text_ok: bool = False,
        whole_is_finished: bool = False,
    ) -> None:
        self._provider = provider
        self._unfinished_text_ok = unfinished_text_ok
        self._whole_is_finished = whole_is_finished
        self._is_whole = False
        self._fallback_id = fallback_id
        self._id = ""
        self._model = ""
        self._created = False
        self._choices_seen = False
        self._finish = ""
        self._usage: Usage | None = None
        self._provider_data: JsonObject = {}
        self._logprobs: dict[str, list[object]] = {}
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._details: list[JsonObject] = []
        self._growing: dict[str, list[str]] = {}  # the texts of the last of them
        self._annotations: list[JsonObject] = []
        self._extra: JsonObject = {}  # what came beside the message that must go back with it
        self._calls = CallAssembler()
        self._begun_items = 0
        self._message_at = self._reasoning_at = -1  # their output_index once they have begun
        self.begun = False
        """Whether any text, reasoning or call has come."""
        self.complete = False
        """Whether the finish reason and, no earlier, the usage have come: nothing more is needed."""

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return clean_text("".join(self._text))

    @property
    def finished(self) -> bool:
        """Whether the server said why it stopped."""
        return bool(self._finish)

    @property
    def usage(self) -> Usage | None:
        """What the reply has cost, as far as the server has reported."""
        return self._usage

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event of a stream; the deltas it makes, None at its end mark. Raises `ErrorInReply`."""
        data = event.data
        if data == "[DONE]":
            return None
        if event.event == "error":
            raise ErrorInReply(data)
        chunk = parse_chunk(data)
        if chunk.error or chunk.kind == "error":
            raise self._reported_error(chunk, data)
        if self._message_at >= 0 and (text := chunk.plain_text()):
            self._text.append(text)
            return (OutputTextDelta(clean_text(text), self._message_at),)
        return self._add(chunk, data, whole=False)

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece. Raises `ErrorInReply`."""
        reply = parse_chunk(body)
        if reply.error or reply.kind == "error":
            raise self._reported_error(reply, body)
        self._is_whole = True
        self._add(reply, body, whole=True)

    def _reported_error(self, chunk: Chunk, data: str | bytes) -> ErrorInReply:
        if chunk.usage is not None:
            self._usage = read_usage(chunk.usage)
        return ErrorInReply(chunk.error or data)

    def _add(self, chunk: Chunk, data: str | bytes, *, whole: bool) -> list[ModelStreamEvent]:
        events: list[ModelStreamEvent] = []
        is_first = not self._created
        if is_first:
            self._created = True
            self._id = clean_text(chunk.id) if isinstance(chunk.id, str) else ""
            events.append(ResponseCreated(self._id))
        if not self._model and isinstance(chunk.model, str):
            self._model = clean_text(chunk.model)
        if chunk.usage is not None:
            self._usage = read_usage(chunk.usage)
            self._provider_data["usage"] = uncounted(chunk.usage, COUNTED)
        for choice in chunk.choices or ():
            if choice.index:
                continue
            self._choices_seen = True
            if choice.logprobs is not None:
                for name, tokens in as_object(choice.logprobs).items():
                    self._logprobs.setdefault(name, []).extend(as_list(tokens))
            # Some servers repeat all that came so far as `message` in every chunk, or put an empty `delta` beside a full one.
            message = (choice.message or choice.delta) if whole else (choice.delta or (None if self.begun else choice.message))
            if message is not None:
                self._add_message(message, events, whole=whole)
            if choice.finish_reason:
                self._finish = choice.finish_reason
        if is_first or self._finish:
            self._note(data)
        if self._finish and chunk.usage is not None:
            self.complete = True
        return events

    def _note(self, data: str | bytes) -> None:
        try:
            extras = EXTRAS.decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):  # what it holds is not worth an error
            return
        choice = (extras.choices or [ChoiceExtras()])[0]
        fields = {**structs.asdict(extras), **structs.asdict(choice)}
        self._provider_data.update({name: value for name, value in fields.items() if value is not None and name != "choices"})

    def _add_message(self, message: WireMessage, events: list[ModelStreamEvent], *, whole: bool) -> None:
        if message.reasoning_content:
            self._add_reasoning(message.reasoning_content, "reasoning_content", events)
        elif isinstance(message.reasoning, str) and message.reasoning:
            self._add_reasoning(message.reasoning, "reasoning", events)
        if details := as_list(message.reasoning_details):
            spoken = bool(message.reasoning_content or message.reasoning)
            self._add_details(details, events, silent=spoken, join=not whole)
        if message.content:
            self._add_content(message.content, events)
        if message.refusal:
            self._refusal.append(message.refusal)
            events.append(RefusalDelta(clean_text(message.refusal), self._in_message(events)))
        self._annotations.extend(storable(note) for note in map(as_object, as_list(message.annotations)) if note)
        if message.extra_content is not None:
            self._extra = as_object(message.extra_content) or self._extra
        calls = list(message.tool_calls or ())
        legacy = message.function_call  # the form that came before tool calls, which some servers send without anything in it
        if legacy is not None and (legacy.name or legacy.arguments):
            calls.append(WireCall(index=0, function=legacy))
        for position, wire in enumerate(calls):
            self._add_call(wire, position if whole else None, events)

    def _add_content(self, content: str | list[object], events: list[ModelStreamEvent]) -> None:
        if isinstance(content, str):
            self._text.append(content)
            events.append(OutputTextDelta(clean_text(content), self._in_message(events)))
            return
        for part in content:
            if isinstance(part, str):
                self._add_content(part, events)
                continue
            if thought := "".join(_text_of(inner) for inner in as_list(as_object(part).get("thinking"))):
                self._add_reasoning(thought, "content", events)
            if text := _text_of(part):
                self._add_content(text, events)

    def _add_reasoning(self, text: str, field: str, events: list[ModelStreamEvent]) -> None:
        self._reasoning_field = field
        self._reasoning.append(text)
        events.append(ReasoningTextDelta(clean_text(text), self._in_reasoning(events)))

    def _add_details(self, details: list[object], events: list[ModelStreamEvent], *, silent: bool, join: bool) -> None:
        """Keep OpenRouter's structured reasoning as it must go back: pieces of one entry joined."""
        for detail in filter(None, map(as_object, details)):
            last = self._details[-1] if self._details else None
            if join and last is not None and all(last.get(key) == detail.get(key) for key in ("type", "index")):
                for key, value in detail.items():
                    known = last.get(key)
                    if key in ("text", "summary", "data") and isinstance(known, str) and isinstance(value, str):
                        self._growing.setdefault(key, [known]).append(value)
                    elif value not in (None, ""):
                        last[key] = value
                        self._growing.pop(key, None)
                    else:
                        last.setdefault(key, None)
            else:
                self._finish_details()
                self._details.append(dict(detail))
            text = detail.get("text") or detail.get("summary")
            if isinstance(text, str) and text and not silent:
                self._add_reasoning(text, "reasoning_details", events)

    def _finish_details(self) -> None:
        """The last entry is complete."""
        for key, pieces in self._growing.items():
            self._details[-1][key] = "".join(pieces)
        self._growing.clear()

    def _add_call(self, wire: WireCall, position: int | None, events: list[ModelStreamEvent]) -> None:
        call, arguments, is_new = self._calls.add(wire, position)
        if is_new:
            call.output_index = self._begin()
            call.fallback_id = f"call_{self._id or self._fallback_id}_{call.number}"
            events.append(OutputItemAdded(call.item(arguments=""), call.output_index))
        if arguments:
            events.append(FunctionCallArgumentsDelta(clean_text(arguments), call.output_index))

    def _begin(self) -> int:
        self.begun = True
        self._begun_items += 1
        return self._begun_items - 1

    def _in_message(self, events: list[ModelStreamEvent]) -> int:
        if self._message_at < 0:
            self._message_at = self._begin()
            events.append(OutputItemAdded(Message("assistant", ""), self._message_at))
        return self._message_at

    def _in_reasoning(self, events: list[ModelStreamEvent]) -> int:
        if self._reasoning_at < 0:
            self._reasoning_at = self._begin()
            events.append(OutputItemAdded(Reasoning(provider=self._provider), self._reasoning_at))
        return self._reasoning_at

    def response(self) -> ModelResponse:
        """The reply, if it is proven complete.

        Raises `MalformedResponseError` when no choice came, `ContentFilterError`, and `IncompleteResponseError` when the server
        did not say why it stopped or stopped where a call may be truncated.
        """
        if not self._choices_seen:
            raise MalformedResponseError("the reply has no choices; expected a chat completion")
        calls = self._calls.items()
        finish = self._finish_of(calls)
        if finish == "content_filter":
            raise ContentFilterError("the provider's content filter stopped the reply; change the input")
        if finish == "error":
            raise self._incomplete("the provider broke off its reply because of an error")
        if finish == "length" and (calls or not (self._text or self._refusal)):
            what = "in a tool call" if calls else "before any text"
            raise self._incomplete(f"the reply reached its token limit {what}; raise max_tokens")
        refuse_unanswered(self._calls.kinds)
        usage = self._usage or Usage(requests=1, known=False)
        logprobs = {name: tokens for name, tokens in self._logprobs.items() if tokens}
        data = provider_data({**self._provider_data, "logprobs": logprobs})
        return ModelResponse(self._output(calls), usage, finish, self._id, self._model, data)

    def _finish_of(self, calls: list[FunctionCall]) -> Finish:
        """Why the server stopped. Raises `IncompleteResponseError` where it gave no reason, or none that is known."""
        if self._finish:
            if (finish := _FINISHES.get(self._finish.lower())) is None:
                shown = repr(self._finish[:100])
                raise self._incomplete(f"the reply has an unknown finish reason ({shown}), so nothing proves it complete")
            return finish
        if self._is_whole and self._whole_is_finished and (calls or self._text or self._refusal):
            return "tool_calls" if calls else "stop"
        if self._unfinished_text_ok and self._text and not calls:
            return "unknown"
        raise self._incomplete("the reply ended without a finish reason, so nothing proves it complete")

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """The items of `response`, each complete, under the position they were streamed at."""
        calls = iter(self._calls.in_order())
        events: list[ModelStreamEvent] = []
        for item in response.output:
            if isinstance(item, FunctionCall):
                position = next(calls).output_index
            elif isinstance(item, ProviderItem):
                position = self._begin()
            else:
                position = max(0, self._message_at if isinstance(item, Message) else self._reasoning_at)
            events.append(OutputItemDone(item, position))
        return events

    def _incomplete(self, message: str) -> IncompleteResponseError:
        return IncompleteResponseError(message, partial=self.text)

    def _output(self, calls: list[FunctionCall]) -> tuple[OutputItem, ...]:
        output: list[OutputItem] = []
        reasoning = clean_text("".join(self._reasoning))
        if reasoning or self._details:
            self._finish_details()
            details = storable_json(self._details) if self._details else ""
            output.append(
                Reasoning(
                    reasoning, id=self._reasoning_field or "reasoning_details", encrypted=details, provider=self._provider
                )
            )
        if self._extra:
            output.append(_kept_beside("message", self._extra, self._provider))
        text, refusal = self.text, clean_text("".join(self._refusal))
        noted = bool(self._annotations) and bool(text or calls)  # without a text they still tell of what the model has read
        if refusal or noted:
            parts: list[Part] = [OutputText(text, tuple(self._annotations))] if text or noted else []
            output.append(Message("assistant", (*parts, Refusal(refusal)) if refusal else tuple(parts)))
        elif text:
            output.append(Message("assistant", text))
        for opened, call in zip(self._calls.in_order(), calls, strict=True):
            if opened.extra:
                output.append(_kept_beside("tool_call", opened.extra, self._provider))
            output.append(call)
        return tuple(output)


def _kept_beside(kind: str, extra: JsonObject, provider: str) -> ProviderItem:
    return ProviderItem(provider, {"type": kind, EXTRA: storable(extra)})


def _text_of(part: object) -> str:
    return as_text(as_object(part).get("text"))
