"""Chat completions as a server writes them, for `FakeOpenAIServer`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

import msgspec

from agentsdk.core.deltas import words
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall, Message, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

_TOKEN = re.compile(r"\w{1,4}|[^\w\s]|\s{4,}")


def count_tokens(text: str) -> int:
    """The tokens of a text by an encoding that is no model's: pieces of words, signs, and long gaps."""
    return len(_TOKEN.findall(text))


def request_tokens(request: JsonObject, count: Callable[[str], int]) -> int:
    """What a request's messages and tools come to."""
    messages = cast("list[JsonObject]", request.get("messages") or [])
    texts = [msgspec.json.encode(request[field]).decode() for field in ("tools", "response_format") if request.get(field)]
    for message in messages:
        content, calls = message.get("content") or "", message.get("tool_calls")
        texts.append(content if isinstance(content, str) else msgspec.json.encode(content).decode())
        if calls:
            texts.append(msgspec.json.encode(calls).decode())
    return 3 + 4 * len(messages) + sum(map(count, texts))


class ChatDialect:
    """`POST /v1/chat/completions`."""

    path = "/v1/chat/completions"

    def whole(self, response: ModelResponse, request: JsonObject) -> JsonObject:
        """A chat completion."""
        message: JsonObject = {"role": "assistant", "content": response.text or None}
        for item in response.output:
            if isinstance(item, Message) and item.refusal:
                message["refusal"] = item.refusal
            elif isinstance(item, Reasoning):
                message["reasoning_content"] = item.text
        calls = [_call(item) for item in response.output if isinstance(item, FunctionCall)]
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": response.finish}
        return {**_head(response, request, "chat.completion"), "choices": [choice], "usage": _usage(response.usage)}

    def events(self, response: ModelResponse, request: JsonObject) -> list[JsonObject | str]:
        """The chunks of a streamed completion, and `[DONE]`."""
        deltas: list[JsonObject] = [{"role": "assistant", "content": ""}]
        calls = 0
        for item in response.output:
            match item:
                case Message():
                    deltas.extend({"content": word} for word in words(item.text))
                    if item.refusal:
                        deltas.append({"refusal": item.refusal})
                case Reasoning():
                    deltas.extend({"reasoning_content": word} for word in words(item.text))
                case FunctionCall():
                    deltas.append({"tool_calls": [{"index": calls, **_call(item, "")}]})
                    half = len(item.arguments) // 2
                    pieces = (item.arguments[:half], item.arguments[half:])
                    deltas.extend({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]} for piece in pieces)
                    calls += 1
                case _:
                    pass
        head = _head(response, request, "chat.completion.chunk")
        events: list[JsonObject | str] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": response.finish}]})
        options = request.get("stream_options")
        if isinstance(options, dict) and cast(JsonObject, options).get("include_usage"):
            events.append({**head, "choices": [], "usage": _usage(response.usage)})
        return [*events, "[DONE]"]

    def adjust(self, message: JsonObject, finish: str | None, usage: JsonObject | str | None) -> JsonObject:
        """`message` with another finish reason or usage; empty when nothing is left of it."""
        adjusted = dict(message)
        choices = cast("list[JsonObject]", message.get("choices") or [])
        if finish is not None and any(choice.get("finish_reason") for choice in choices):
            adjusted["choices"] = [{**choice, "finish_reason": finish or None} for choice in choices]
        if "usage" in message and usage != "default":
            adjusted["usage"] = usage
            if usage is None and not choices:
                return {}
        return adjusted


def _head(response: ModelResponse, request: JsonObject, kind: str) -> JsonObject:
    model = response.model or request.get("model", "")
    return {"id": response.response_id or "chatcmpl-fake", "object": kind, "created": 1, "model": model}


def _call(item: FunctionCall, arguments: str | None = None) -> JsonObject:
    function = {"name": item.name, "arguments": item.arguments if arguments is None else arguments}
    return {"id": item.call_id, "type": "function", "function": function}


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
