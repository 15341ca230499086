"""`ScriptedModel`: a model whose replies are written down."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast

from typing_extensions import TypedDict

from agentsdk.compat.openai_agents._bridge.openai_types import built, built_item
from agentsdk.compat.openai_agents.items import ModelResponse, field_of, plain
from agentsdk.compat.openai_agents.model_settings import ModelSettings
from agentsdk.compat.openai_agents.models.interface import Model, ModelTracing
from agentsdk.compat.openai_agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
from agentsdk.compat.openai_agents.usage import Usage


class ModelScriptError(Exception):
    """The script is wrong, or not followed."""


class InvalidModelStep(ModelScriptError):
    """A step is none."""

    def __init__(self, message: str, *, reason: str, input_index: int) -> None:
        super().__init__(message)
        self.reason = reason
        self.input_index = input_index


class UnexpectedModelCall(ModelScriptError):
    """The model was asked once more than there are steps."""

    def __init__(self, message: str, *, call: ModelCall, call_index: int) -> None:
        super().__init__(message)
        self.call = call
        self.call_index = call_index


class UnconsumedModelSteps(ModelScriptError):
    """Steps are left over."""

    def __init__(self, message: str, *, remaining_steps: int) -> None:
        super().__init__(message)
        self.remaining_steps = remaining_steps


@dataclass
class ModelCall:
    """What the model was asked."""

    system_instructions: str | None
    input: Any
    model_settings: ModelSettings
    tools: list[Any]
    output_schema: Any
    handoffs: list[Any]
    tracing: ModelTracing
    previous_response_id: str | None
    conversation_id: str | None
    prompt: Any
    streamed: bool


@dataclass
class ModelStep:
    """One reply, or an error; or what gives either for the call."""

    output: Sequence[Any] = field(default_factory=tuple)
    usage: Usage = field(default_factory=Usage)
    response_id: str | None = "resp-789"
    request_id: str | None = None
    raw_usage: dict[str, Any] | None = None
    error: Exception | None = None
    responder: ModelResponder | None = None
    stream_events: Sequence[Any] | ModelStreamFactory | None = None
    retry_advice: ModelRetryAdvice | None = None

    @classmethod
    def raise_error(cls, error: Exception, *, retry_advice: ModelRetryAdvice | None = None) -> ModelStep:
        """A step that raises."""
        return cls(error=error, retry_advice=retry_advice)

    @classmethod
    def respond(cls, responder: ModelResponder) -> ModelStep:
        """A step that the call decides."""
        return cls(responder=responder)

    @classmethod
    def stream(
        cls,
        events: Sequence[Any] | ModelStreamFactory,
        *,
        output: Sequence[Any] = (),
        usage: Usage | None = None,
        response_id: str | None = "resp-789",
    ) -> ModelStep:
        """A step with these events."""
        given = events if callable(events) else tuple(events)
        return cls(output=output, usage=usage or Usage(), response_id=response_id, stream_events=given)


class ModelStepSpec(TypedDict, total=False):
    """A step as a dict."""

    output: Sequence[Any]
    usage: Usage
    response_id: str | None
    request_id: str | None
    raw_usage: dict[str, Any] | None
    error: Exception | None
    responder: Any
    stream_events: Any
    retry_advice: ModelRetryAdvice | None


ModelScriptItem = ModelStep | ModelStepSpec | ModelResponse | Sequence[Any] | Exception
ModelResponder = Callable[[ModelCall], "ModelScriptItem | Awaitable[ModelScriptItem]"]
ModelStreamFactory = Callable[[ModelCall], AsyncIterator[Any]]


class ScriptedModel(Model):
    """A model that gives one step after the other, and keeps what it was asked."""

    def __init__(
        self, steps: Iterable[ModelScriptItem] = (), *, emit_traces: bool = False, default_usage: Usage | None = None
    ) -> None:
        self._steps = [_step(step, at) for at, step in enumerate(steps)]
        self._default_usage = copy.deepcopy(default_usage)
        self._calls: list[ModelCall] = []
        self._advice: list[tuple[Exception, ModelRetryAdvice]] = []

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """What it was asked."""
        return tuple(map(copy.copy, self._calls))

    @property
    def remaining_steps(self) -> int:
        """Steps that are left."""
        return len(self._steps)

    @property
    def first_call(self) -> ModelCall | None:
        """What it was asked first."""
        return copy.copy(self._calls[0]) if self._calls else None

    @property
    def last_call(self) -> ModelCall | None:
        """What it was asked last."""
        return copy.copy(self._calls[-1]) if self._calls else None

    def enqueue(self, step: ModelScriptItem) -> None:
        """Add a step."""
        self._steps.append(_step(step, 0))

    def extend(self, steps: Iterable[ModelScriptItem]) -> None:
        """Add steps."""
        self._steps += [_step(step, at) for at, step in enumerate(steps)]

    def set_default_usage(self, usage: Usage | None) -> None:
        """The usage of steps that give none."""
        self._default_usage = copy.deepcopy(usage)

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """The advice that a step's error came with."""
        return next((copy.deepcopy(advice) for error, advice in self._advice if error is request.error), None)

    def assert_complete(self) -> None:
        """Raises `UnconsumedModelSteps` where steps are left."""
        if self._steps:
            raise UnconsumedModelSteps(
                f"{len(self._steps)} step(s) of the script are left, expected none", remaining_steps=len(self._steps)
            )

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: Any | None,
    ) -> ModelResponse:
        """The next step's reply."""
        asked = (system_instructions, input, model_settings, tools, output_schema, handoffs, tracing)
        call = self._call(asked, previous_response_id, conversation_id, prompt, streamed=False)
        step = await self._next(call)
        if step.error is not None:
            raise step.error
        return ModelResponse(_items(step.output), step.usage, step.response_id, step.request_id, step.raw_usage)

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: Any | None,
    ) -> AsyncIterator[Any]:
        """The events of the next step."""
        asked = (system_instructions, input, model_settings, tools, output_schema, handoffs, tracing)
        call = self._call(asked, previous_response_id, conversation_id, prompt, streamed=True)
        step = await self._next(call)
        if step.error is not None:
            raise step.error
        if callable(step.stream_events):
            async for event in step.stream_events(call):
                yield event
            return
        for event in _events(step) if step.stream_events is None else step.stream_events:
            yield event

    def _call(
        self,
        asked: tuple[Any, ...],
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: Any,
        *,
        streamed: bool,
    ) -> ModelCall:
        instructions, given, settings, tools, schema, handoffs, tracing = asked
        call = ModelCall(
            instructions,
            copy.deepcopy(given),
            copy.copy(settings),
            list(tools),
            schema,
            list(handoffs),
            tracing,
            previous_response_id,
            conversation_id,
            copy.deepcopy(prompt),
            streamed,
        )
        self._calls.append(call)
        return copy.copy(call)

    async def _next(self, call: ModelCall) -> ModelStep:
        if not self._steps:
            at = len(self._calls) - 1
            raise UnexpectedModelCall(f"call {at + 1} of the model finds no step left in its script", call=call, call_index=at)
        step = self._steps.pop(0)
        while step.responder is not None:
            given = step.responder(call)
            step = _step(await given if inspect.isawaitable(given) else given, 0)
        if step.error is not None and step.retry_advice is not None:
            self._advice.append((step.error, step.retry_advice))
        if step.usage == Usage():
            usage = Usage(requests=1) if self._default_usage is None else self._default_usage
            step = replace(step, usage=copy.deepcopy(usage))
        return step


_NAMES = frozenset(one.name for one in fields(ModelStep))
Reason = Literal["invalid_input", "unsupported_field", "invalid_error", "conflicting_outcomes"]


def _step(given: Any, at: int) -> ModelStep:
    """A step of whatever stands for one. Raises `InvalidModelStep`."""
    if isinstance(given, ModelStep):
        step = replace(given)
    elif isinstance(given, ModelResponse):
        step = ModelStep(given.output, given.usage, given.response_id, given.request_id, given.raw_usage)
    elif isinstance(given, Exception):
        step = ModelStep(error=given)
    elif isinstance(given, Mapping):
        unknown = sorted(set(cast("Mapping[str, Any]", given)) - _NAMES)
        if unknown:
            raise InvalidModelStep(f"step {at + 1} has {unknown}", reason="unsupported_field", input_index=at)
        step = ModelStep(**cast("dict[str, Any]", given))
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        step = ModelStep(output=tuple(cast("Sequence[Any]", given)))
    else:
        raise InvalidModelStep(
            f"step {at + 1} is {type(given).__name__!r}, expected a ModelStep, items or an exception",
            reason="invalid_input",
            input_index=at,
        )
    if step.error is not None and not isinstance(cast(object, step.error), Exception):
        raise InvalidModelStep(f"step {at + 1} has an error that is none", reason="invalid_error", input_index=at)
    outcomes = (step.error, step.responder, step.stream_events)
    if sum(one is not None for one in outcomes) > 1 or (step.error is not None and step.output):
        raise InvalidModelStep(f"step {at + 1} has two outcomes", reason="conflicting_outcomes", input_index=at)
    return step


def _items(output: Sequence[Any]) -> list[Any]:
    return [
        built_item(cast("Mapping[str, Any]", item)) if isinstance(item, Mapping) else copy.deepcopy(item) for item in output
    ]


def assistant_message(text: str, *, item_id: str = "scripted-message") -> Any:
    """A message of the model."""
    part: dict[str, Any] = {"text": text, "type": "output_text", "annotations": [], "logprobs": []}
    fields_: dict[str, Any] = {"id": item_id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return built_item(fields_)


def function_call(
    name: str,
    arguments: str | Mapping[str, Any],
    *,
    call_id: str,
    item_id: str | None = None,
    namespace: str | None = None,
) -> Any:
    """A call of the model."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    call = {"id": item_id or call_id, "call_id": call_id, "type": "function_call", "name": name, "arguments": text}
    return built_item(call if namespace is None else {**call, "namespace": namespace})


class _Events:
    """Events of the Responses stream, numbered."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def add(self, of: str, kind: str, /, **more: Any) -> None:
        """One more."""
        self.made.append(built(of, {"type": kind, "sequence_number": len(self.made), **more}))


def _events(step: ModelStep) -> list[Any]:
    """The events of a reply, as the Responses API sends them."""
    items = [plain(item) for item in step.output]
    usage = step.usage
    spent = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_details": {"cached_tokens": usage.input_tokens_details.cached_tokens, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": usage.output_tokens_details.reasoning_tokens},
    }
    base: dict[str, Any] = {
        "id": step.response_id or "resp-789",
        "created_at": 123,
        "model": "test_model",
        "object": "response",
        "tool_choice": "none",
        "tools": [],
        "parallel_tool_calls": False,
    }
    begun: dict[str, Any] = {**base, "output": [], "status": "in_progress"}
    events = _Events()
    events.add("ResponseCreatedEvent", "response.created", response=begun)
    events.add("ResponseInProgressEvent", "response.in_progress", response=begun)
    for at, item in enumerate(items):
        _item_events(events, at, item, step.output[at])
    # A counted usage goes back as it is; a default one is what makes the reply count as one request.
    response = {**base, "output": items, "status": "completed", "usage": spent}
    events.add("ResponseCompletedEvent", "response.completed", response=response)
    return events.made


def _item_events(events: _Events, at: int, item: dict[str, Any], raw: Any) -> None:
    kind, item_id = item.get("type"), str(item.get("id") or "")
    place = {"output_index": at, "item_id": item_id}
    blanks: dict[str, dict[str, Any]] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "reasoning": {"summary": []},
    }
    empty = blanks.get(str(kind), {})
    begun: dict[str, Any] = {**item, **empty, "status": "in_progress"}
    events.add("ResponseOutputItemAddedEvent", "response.output_item.added", item=begun, output_index=at)
    if kind == "function_call":
        text, name = item.get("arguments") or "", item.get("name")
        events.add("ResponseFunctionCallArgumentsDeltaEvent", "response.function_call_arguments.delta", delta=text, **place)
        events.add(
            "ResponseFunctionCallArgumentsDoneEvent",
            "response.function_call_arguments.done",
            arguments=text,
            name=name,
            **place,
        )
    elif kind == "reasoning":
        for number, part in enumerate(item.get("summary") or []):
            where = {**place, "summary_index": number}
            blank = {"text": "", "type": "summary_text"}
            text = part.get("text") or ""
            events.add("ResponseReasoningSummaryPartAddedEvent", "response.reasoning_summary_part.added", part=blank, **where)
            events.add("ResponseReasoningSummaryTextDeltaEvent", "response.reasoning_summary_text.delta", delta=text, **where)
            events.add("ResponseReasoningSummaryTextDoneEvent", "response.reasoning_summary_text.done", text=text, **where)
            events.add("ResponseReasoningSummaryPartDoneEvent", "response.reasoning_summary_part.done", part=part, **where)
    elif kind == "message":
        for number, part in enumerate(item.get("content") or []):
            where = {**place, "content_index": number}
            if part.get("type") == "output_text":
                text = part.get("text") or ""
                blank = {**part, "text": ""}
                events.add("ResponseContentPartAddedEvent", "response.content_part.added", part=blank, **where)
                events.add("ResponseTextDeltaEvent", "response.output_text.delta", delta=text, logprobs=[], **where)
                events.add("ResponseTextDoneEvent", "response.output_text.done", text=text, logprobs=[], **where)
            else:
                text = part.get("refusal") or ""
                events.add("ResponseContentPartAddedEvent", "response.content_part.added", part=part, **where)
                events.add("ResponseRefusalDeltaEvent", "response.refusal.delta", delta=text, **where)
                events.add("ResponseRefusalDoneEvent", "response.refusal.done", refusal=text, **where)
            events.add("ResponseContentPartDoneEvent", "response.content_part.done", part=part, **where)
    done = item if field_of(raw, "type") is None else raw
    events.made.append(
        built(
            "ResponseOutputItemDoneEvent",
            {"type": "response.output_item.done", "sequence_number": len(events.made), "item": plain(done), "output_index": at},
        )
    )
