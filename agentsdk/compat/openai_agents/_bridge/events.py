"""Raw events of a stream, as openai's own types."""

from __future__ import annotations

from typing import Any

from agentsdk.compat.openai_agents._bridge.openai_types import built, shaped
from agentsdk.compat.openai_agents._bridge.raw import built_of, to_dict
from agentsdk.types import deltas
from agentsdk.types.usage import Usage

_TEXTS: dict[type[Any], str] = {
    deltas.OutputTextDelta: "ResponseTextDeltaEvent",
    deltas.RefusalDelta: "ResponseRefusalDeltaEvent",
    deltas.FunctionCallArgumentsDelta: "ResponseFunctionCallArgumentsDeltaEvent",
}


def text_delta(delta: deltas.OutputTextDelta) -> Any:
    """The event of a piece of text, which streams are made of."""
    fields: dict[str, Any] = {
        "content_index": 0,
        "delta": delta.delta,
        "item_id": "",
        "logprobs": [],
        "output_index": delta.output_index,
        "sequence_number": 0,
        "type": "response.output_text.delta",
    }
    return shaped("ResponseTextDeltaEvent", fields)


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
