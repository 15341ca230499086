"""Content of spans: messages as the JSON text that the conventions' content attributes carry."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, Part, ProviderItem, Reasoning
from agentsdk.types.spec import HandoffSpec, ToolSpec


def instructions_json(instructions: str) -> str:
    """System instructions as parts."""
    return _json([_text(instructions)])


def messages_json(items: Sequence[Item], finish: str = "") -> str:
    """Items as messages: those of one role that follow each other are one message of several parts."""
    messages: list[JsonObject] = []
    parts: list[JsonObject] = []
    for item in items:
        role = _role(item)
        if not messages or messages[-1]["role"] != role:
            parts = []
            messages.append({"role": role, "parts": parts})
        parts.extend(_parts(item))
    if finish and messages:
        messages[-1]["finish_reason"] = finish
    return _json(messages)


def tools_json(tools: Sequence[ToolSpec | HandoffSpec]) -> str:
    """The tools offered to the model."""
    return _json(
        [
            {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in tools
        ]
    )


def result_text(result: str | Sequence[Part]) -> str:
    """A tool's result: text as it is, parts as JSON."""
    return result if isinstance(result, str) else _json(result)


def progress_json(data: object) -> str:
    """What a tool sent while it ran: any object, as JSON of it or of its text."""
    return msgspec.json.encode(data, enc_hook=str).decode()


def _role(item: Item) -> str:
    if isinstance(item, Message):
        return item.role
    return "tool" if isinstance(item, FunctionCallOutput) else "assistant"


def _parts(item: Item) -> list[JsonObject]:
    match item:
        case Message(content=str(text)):
            return [_text(text)]
        case Message(content=parts):
            return [msgspec.to_builtins(part) for part in parts]
        case FunctionCall():
            return [{"type": "tool_call", "id": item.call_id, "name": item.name, "arguments": item.arguments}]
        case FunctionCallOutput():
            return [{"type": "tool_call_response", "id": item.call_id, "response": msgspec.to_builtins(item.output)}]
        case Reasoning():
            return [{"type": "reasoning", "content": item.text or "\n".join(item.summary)}]
        case ProviderItem():
            return [{"type": item.provider, **item.data}]


def _text(text: str) -> JsonObject:
    return {"type": "text", "content": text}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
