"""Raw events of a stream, as openai's own types."""

from __future__ import annotations

from typing import Any

from agentsdk.compat.openai_agents._bridge.openai_types import built
from agentsdk.compat.openai_agents._bridge.raw import to_dict
from agentsdk.types import deltas
from agentsdk.types.usage import Usage

_TEXTS: dict[type[Any], str] = {
    deltas.OutputTextDelta: "ResponseTextDeltaEvent",
    deltas.RefusalDelta: "ResponseRefusalDeltaEvent",
    deltas.FunctionCallArgumentsDelta: "ResponseFunctionCallArgumentsDeltaEvent",
}


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
        case deltas.OutputItemAdded() | deltas.OutputItemDone():
            done = isinstance(delta, deltas.OutputItemDone)
            item = to_dict(delta.item)
            if item.get("type") == "message" and not done:
                item |= {"content": [], "status": "in_progress"}
            fields |= {"item": item, "output_index": delta.output_index}
            return built("ResponseOutputItemDoneEvent" if done else "ResponseOutputItemAddedEvent", fields)
        case deltas.ResponseCreated():
            fields["response"] = _response(delta.response_id, "", [], Usage(), "in_progress")
            return built("ResponseCreatedEvent", fields)
        case deltas.ResponseCompleted():
            reply = delta.response
            output = [to_dict(item) for item in reply.output]
            fields["response"] = _response(reply.response_id, reply.model, output, reply.usage, "completed")
            return built("ResponseCompletedEvent", fields)
        case _:
            return built("", {**fields, "reason": getattr(delta, "reason", "")})


def _response(response_id: str, model: str, output: list[dict[str, Any]], usage: Usage, status: str) -> dict[str, Any]:
    counted = {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
    return {
        "id": response_id,
        "created_at": 0.0,
        "model": model,
        "object": "response",
        "output": output,
        "status": status,
        "usage": counted if status == "completed" else None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }
