"""The Responses API as a server writes it, for `FakeResponsesServer`."""

from __future__ import annotations

from typing import cast

import msgspec

from agentsdk.core.deltas import words
from agentsdk.testing.server import FakeServer, ServerScript, is_or_is_below
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall, Message, OutputText, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.usage import Usage

_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class FakeResponsesServer(FakeServer):
    """A fake server of the Responses API.

    async with FakeResponsesServer(["Hello!"]) as server:
        model = OpenAIResponsesModel("gpt-test", base_url=server.base_url)
    """

    def __init__(self, script: ServerScript) -> None:
        super().__init__(script, ResponsesDialect())

    def _serves(self, path: str) -> bool:
        return is_or_is_below(path, self._dialect.path)


class ResponsesDialect:
    """`POST /v1/responses`."""

    path = "/v1/responses"

    def whole(self, response: ModelResponse, request: JsonObject) -> JsonObject:
        """A response object."""
        return {
            **_head(response, request),
            **_ending(response.finish),
            "output": [_item(item, position) for position, item in enumerate(response.output)],
            "usage": _usage(response.usage),
        }

    def events(self, response: ModelResponse, request: JsonObject) -> list[JsonObject | str]:
        """The events of a streamed response."""
        whole = self.whole(response, request)
        begun: JsonObject = {**_head(response, request), "status": "in_progress", "output": [], "usage": None}
        events: list[JsonObject] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for position, item in enumerate(response.output):
            events.extend(_item_events(item, position))
        events.append({"type": f"response.{whole['status']}", "response": whole})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def adjust(self, message: JsonObject, finish: str | None, usage: JsonObject | str | None) -> JsonObject:
        """`message` with another finish reason or usage; empty when it is only there to tell the reason that is left out."""
        if "response" in message:
            reply = cast(JsonObject, message["response"])
            if reply["status"] == "in_progress":
                return message
            if finish == "":
                return {}
            adjusted = self.adjust(reply, finish, usage)
            return {**message, "type": f"response.{adjusted['status']}", "response": adjusted}
        if "usage" not in message:
            return message
        adjusted = dict(message)
        if finish is not None:
            adjusted |= _ending(finish)
        if finish == "":
            del adjusted["status"]
        if usage != "default":
            adjusted["usage"] = usage
        return adjusted


def _head(response: ModelResponse, request: JsonObject) -> JsonObject:
    return {
        "id": response.response_id or "resp_fake",
        "object": "response",
        "created_at": 1,
        "model": response.model or request.get("model", ""),
        "instructions": request.get("instructions"),
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": request.get("tool_choice", "auto"),
        "tools": request.get("tools", []),
        "top_p": 1.0,
        "error": None,
        "incomplete_details": None,
    }


def _ending(finish: str) -> JsonObject:
    if finish in ("stop", "tool_calls"):
        return {"status": "completed"}
    if finish == "error":
        return {"status": "failed", "error": {"code": "server_error", "message": "the model failed"}}
    return {"status": "incomplete", "incomplete_details": {"reason": _REASONS.get(finish, finish)}}


def _item(item: OutputItem, position: int) -> JsonObject:
    match item:
        case Message():
            content = (OutputText(item.content),) if isinstance(item.content, str) else item.content
            parts: list[JsonObject] = []
            for part in content:
                if isinstance(part, Refusal):
                    parts.append({"type": "refusal", "refusal": part.refusal})
                elif isinstance(part, OutputText):
                    text = {"type": "output_text", "text": part.text, "annotations": list(part.annotations), "logprobs": []}
                    parts.append(cast(JsonObject, text))
            message = {"id": item.id or f"msg_{position}", "type": "message", "status": "completed", "role": "assistant"}
            return {**message, "content": parts, **({"phase": item.phase} if item.phase else {})}
        case FunctionCall():
            return _call(item, position)
        case Reasoning():
            summary = [{"type": "summary_text", "text": text} for text in item.summary or (item.text,) if text]
            sealed = item.encrypted or None
            return {"id": item.id or f"rs_{position}", "type": "reasoning", "summary": summary, "encrypted_content": sealed}
        case ProviderItem():
            return item.data


def _call(item: FunctionCall, position: int) -> JsonObject:
    """A call as an item of its kind."""
    head: JsonObject = {"id": item.id or f"fc_{position}", "status": "completed", "call_id": item.call_id}
    if item.namespace:
        head["namespace"] = item.namespace
    if item.caller is not None:
        head["caller"] = {"type": item.caller.kind, "caller_id": item.caller.id}
    arguments: JsonObject = msgspec.json.decode(item.arguments) if item.kind != "function" else {}
    match item.kind:
        case "function" | "text_editor" | "memory":
            return {**head, "type": "function_call", "name": item.name, "arguments": item.arguments}
        case "custom":
            return {**head, "type": "custom_tool_call", "name": item.name, "input": arguments["input"]}
        case "shell":
            return {**head, "type": "shell_call", "action": arguments, "environment": {"type": "local"}}
        case "apply_patch":
            return {**head, "type": "apply_patch_call", "operation": arguments}
        case "computer":
            return {**head, "type": "computer_call", "pending_safety_checks": [], **arguments}
        case "mcp_approval":
            asked = {"name": item.name, "arguments": item.arguments, "server_label": item.namespace}
            return {"type": "mcp_approval_request", "id": item.call_id, **asked}


def _item_events(item: OutputItem, position: int) -> list[JsonObject]:
    data = _item(item, position)
    at: JsonObject = {"output_index": position}
    begun: JsonObject = {**data, "status": "in_progress"}
    for name in ("content", "summary"):
        if name in begun:
            begun[name] = []
    for name in ("arguments", "input"):
        if name in begun:
            begun[name] = ""
    if isinstance(item, Reasoning):
        del begun["status"]
    at_item: JsonObject = {**at, "item_id": data.get("id", "")}
    inner: list[JsonObject] = []
    match item:
        case Message():
            for index, part in enumerate(cast("list[JsonObject]", data["content"])):
                inner.extend(_part_events(part, {**at_item, "content_index": index}))
        case FunctionCall(kind="function"):
            half = len(item.arguments) // 2
            kind = "response.function_call_arguments"
            inner = [
                {"type": f"{kind}.delta", **at_item, "delta": half_of}
                for half_of in (item.arguments[:half], item.arguments[half:])
            ]
            inner.append({"type": f"{kind}.done", **at_item, "name": item.name, "arguments": item.arguments})
        case FunctionCall(kind="custom"):
            kind = "response.custom_tool_call_input"
            inner = [{"type": f"{kind}.delta", **at_item, "delta": word} for word in words(str(data["input"]))]
            inner.append({"type": f"{kind}.done", **at_item, "input": data["input"]})
        case FunctionCall():
            pass
        case Reasoning():
            for index, part in enumerate(cast("list[JsonObject]", data["summary"])):
                inner.extend(_summary_events(part, {**at_item, "summary_index": index}))
        case ProviderItem():
            inner = [{"type": f"response.{data.get('type')}.completed", **at_item}]
    return [
        {"type": "response.output_item.added", **at, "item": begun},
        *inner,
        {"type": "response.output_item.done", **at, "item": data},
    ]


def _part_events(part: JsonObject, at: JsonObject) -> list[JsonObject]:
    field = "refusal" if part["type"] == "refusal" else "text"
    kind = f"response.{part['type']}"
    text = str(part[field])
    return [
        {"type": "response.content_part.added", **at, "part": {**part, field: ""}},
        *({"type": f"{kind}.delta", **at, "delta": word, "logprobs": []} for word in words(text)),
        {"type": f"{kind}.done", **at, field: text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
    ]


def _summary_events(part: JsonObject, at: JsonObject) -> list[JsonObject]:
    kind = "response.reasoning_summary_text"
    text = str(part["text"])
    return [
        {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}},
        *({"type": f"{kind}.delta", **at, "delta": word} for word in words(text)),
        {"type": f"{kind}.done", **at, "text": text},
        {"type": "response.reasoning_summary_part.done", **at, "part": part},
    ]


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
