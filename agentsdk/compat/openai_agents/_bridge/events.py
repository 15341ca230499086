"""Raw events of a stream, as openai's own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agentsdk.compat.openai_agents._bridge.openai_types import built, class_of, shaped
from agentsdk.compat.openai_agents._bridge.raw import built_of, to_dict
from agentsdk.types import deltas
from agentsdk.types.usage import Usage

_TEXTS: dict[type[Any], str] = {
    deltas.OutputTextDelta: "ResponseTextDeltaEvent",
    deltas.RefusalDelta: "ResponseRefusalDeltaEvent",
    deltas.FunctionCallArgumentsDelta: "ResponseFunctionCallArgumentsDeltaEvent",
}


class ResponseTextDeltaEvent(Struct):
    """Stands for openai's event of that name, of which streams are made: to build one takes longer than all else that a delta
    costs.

    It has the fields that programs read, and is an instance of openai's class to `isinstance` and `match`. Whatever else is
    asked of it, one of openai's answers, which is built then.
    """

    delta: str
    output_index: int = 0
    content_index: int = 0
    item_id: str = ""
    sequence_number: int = 0
    logprobs: list[Any] = []
    type: str = "response.output_text.delta"

    if not TYPE_CHECKING:

        @property
        def __class__(self):
            return class_of("ResponseTextDeltaEvent")

        def __getattr__(self, name):
            return getattr(_whole(self), name)

        def __eq__(self, other):
            return _whole(self) == (_whole(other) if type(other) is ResponseTextDeltaEvent else other)

        __hash__ = None

        def __repr__(self):
            return repr(_whole(self))

        def __iter__(self):
            return iter(_whole(self))

        def __copy__(self):
            return _whole(self)

        def __reduce_ex__(self, protocol):
            return _whole(self).__reduce_ex__(protocol)


def _whole(delta: Any) -> Any:
    """openai's own."""
    return shaped("ResponseTextDeltaEvent", {name: getattr(delta, name) for name in ResponseTextDeltaEvent.__struct_fields__})


def text_deltas() -> Callable[[str, int], Any]:
    """What makes the event of a piece of text, of the text and the place of its item."""
    if class_of("ResponseTextDeltaEvent") is None:
        return lambda delta, output_index: _whole(ResponseTextDeltaEvent(delta, output_index))
    return ResponseTextDeltaEvent


def built_event(delta: deltas.ModelStreamEvent) -> Any:
    """The event that a delta of agentsdk's models is."""
    fields: dict[str, Any] = {"type": delta.type, "sequence_number": 0}
    if (name := _TEXTS.get(type(delta))) is not None:
        text: Any = delta
        fields |= {"delta": text.delta, "output_index": text.output_index, "item_id": ""}
        if name != "ResponseFunctionCallArgumentsDeltaEvent":
            fields |= {"content_index": 0, "logprobs": []}
        return built(name, fields)
    match delta:
        case deltas.ReasoningTextDelta():
            fields |= {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
            fields |= {"delta": delta.delta, "output_index": delta.output_index, "item_id": ""}
            return built("ResponseReasoningSummaryTextDeltaEvent", fields)
        case deltas.OutputItemDone():
            fields |= {"item": built_of(delta.item), "output_index": delta.output_index}
            return shaped("ResponseOutputItemDoneEvent", fields)
        case deltas.OutputItemAdded():
            item = to_dict(delta.item)
            if item.get("type") == "message":
                item |= {"content": [], "status": "in_progress"}
            fields |= {"item": item, "output_index": delta.output_index}
            return built("ResponseOutputItemAddedEvent", fields)
        case deltas.ResponseCreated():
            fields["response"] = _response(delta.response_id, "", [], Usage(), "in_progress")
            return shaped("ResponseCreatedEvent", fields)
        case deltas.ResponseCompleted():
            reply = delta.response
            output = [built_of(item) for item in reply.output]
            fields["response"] = _response(reply.response_id, reply.model, output, reply.usage, "completed")
            return shaped("ResponseCompletedEvent", fields)
        case _:
            return built("", {**fields, "reason": getattr(delta, "reason", "")})


def _response(response_id: str, model: str, output: list[Any], usage: Usage, status: str) -> Any:
    fields: dict[str, Any] = {
        "id": response_id,
        "created_at": 0.0,
        "model": model,
        "object": "response",
        "output": output,
        "status": status,
        "usage": None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }
    if status == "completed":
        given = {"cached_tokens": usage.cached_tokens}
        made = {"reasoning_tokens": usage.reasoning_tokens}
        fields["usage"] = shaped(
            "response_usage.ResponseUsage",
            {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": shaped("response_usage.InputTokensDetails", given),
                "output_tokens": usage.output_tokens,
                "output_tokens_details": shaped("response_usage.OutputTokensDetails", made),
                "total_tokens": usage.total_tokens,
            },
        )
    return shaped("Response", fields)
