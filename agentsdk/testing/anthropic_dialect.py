"""The Anthropic Messages API as a server writes it, and `FakeAnthropicServer`."""

from __future__ import annotations

import re
from typing import cast

import msgspec

from agentsdk.core.deltas import words
from agentsdk.testing.server import CapturedRequest, FakeServer, ServerScript, is_or_is_below
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall, Message, OutputText, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.usage import Usage

_VERTEX_PATH = re.compile(
    r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/(?P<model>[^/:]+):(stream)?[rR]awPredict"
)
_CLIENT_TOOLS = {"shell": "bash", "text_editor": "str_replace_based_edit_tool", "memory": "memory"}
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class AnthropicDialect:
    """`POST /v1/messages`."""

    path = "/v1/messages"

    def whole(self, response: ModelResponse, request: JsonObject) -> JsonObject:
        """A message."""
        blocks = [block for item in response.output for block in _blocks(item)]
        message = _head(response, request)
        return {**message, "content": blocks, "stop_reason": _stop(response), "usage": _usage(response.usage)}

    def events(self, response: ModelResponse, request: JsonObject) -> list[JsonObject | str]:
        """The events of a streamed message."""
        start = {**_usage(response.usage), "output_tokens": 1}
        events: list[JsonObject | str] = [
            {"type": "message_start", "message": {**_head(response, request), "usage": start}},
            {"type": "ping"},
        ]
        blocks = [block for item in response.output for block in _blocks(item)]
        for index, block in enumerate(blocks):
            opening, deltas = _in_pieces(block)
            events.append({"type": "content_block_start", "index": index, "content_block": opening})
            events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
            events.append({"type": "content_block_stop", "index": index})
        delta: JsonObject = {"stop_reason": _stop(response), "stop_sequence": None}
        usage = _usage(response.usage)
        return [*events, {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]

    def adjust(self, message: JsonObject, finish: str | None, usage: JsonObject | str | None) -> JsonObject:
        """`message` with another stop reason or usage."""
        adjusted = dict(message)
        for name in ("message", "delta"):
            if name in message:
                adjusted[name] = self.adjust(cast(JsonObject, message[name]), finish, usage)
        if finish is not None and message.get("stop_reason"):
            adjusted["stop_reason"] = finish or None
        if "usage" in message and usage != "default":
            adjusted["usage"] = usage
        return adjusted


class FakeAnthropicServer(FakeServer):
    """A server that speaks the Anthropic Messages API, at Vertex AI's addresses too. A request beyond the script is answered
    with status 400.

    ```python
    async with FakeAnthropicServer(["Hello!"]) as server:
        model = AnthropicModel("claude-test", base_url=server.base_url)
    ```
    """

    def __init__(self, script: ServerScript) -> None:
        super().__init__(script, AnthropicDialect())

    def _serves(self, path: str) -> bool:
        return is_or_is_below(path, self._dialect.path) or _VERTEX_PATH.fullmatch(path) is not None

    def _asked(self, request: CapturedRequest) -> JsonObject:
        asked = super()._asked(request)
        found = _VERTEX_PATH.fullmatch(request.path)
        return asked if found is None else {"model": found["model"], **asked}

    @property
    def base_url(self) -> str:
        """What to give a model as `base_url`."""
        return self.url


def _head(response: ModelResponse, request: JsonObject) -> JsonObject:
    model = response.model or request.get("model", "")
    return {
        "id": response.response_id or "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop(response: ModelResponse) -> str:
    if any(isinstance(item, Message) and item.refusal for item in response.output):
        return "refusal"
    return _STOPS.get(response.finish, response.finish)


def _blocks(item: OutputItem) -> list[JsonObject]:
    match item:
        case Message():
            parts = (OutputText(item.content),) if isinstance(item.content, str) else item.content
            texts = [part for part in parts if isinstance(part, OutputText)]
            return [
                {"type": "text", "text": text.text, **({"citations": list(text.annotations)} if text.annotations else {})}
                for text in texts
            ]
        case Reasoning() if item.encrypted:
            return [{"type": "redacted_thinking", "data": item.encrypted}]
        case Reasoning():
            return [{"type": "thinking", "thinking": item.text, "signature": item.signature or "c2lnbmF0dXJl"}]
        case FunctionCall():
            return [_call(item)]
        case ProviderItem():
            return [item.data]


def _call(item: FunctionCall) -> JsonObject:
    """A call as a block: of a tool of the API's own by its name there, of a computer in the form that it keeps of its own."""
    name: object = item.name
    given: object = msgspec.Raw(item.arguments.encode())
    arguments: JsonObject = msgspec.json.decode(item.arguments) if item.kind in ("shell", "computer") else {}
    name = _CLIENT_TOOLS.get(item.kind, name)
    if item.kind == "shell":
        commands = cast("list[str]", arguments.get("commands") or [])
        given = {"command": commands[0]} if commands else arguments
    elif item.kind == "computer" and "call" in arguments:
        own = cast(JsonObject, arguments["call"])
        name, given = own["name"], own["arguments"]
    block: JsonObject = {"type": "tool_use", "id": item.call_id, "name": name, "input": given}
    if item.namespace:
        block["toolset_name"] = item.namespace
    if item.caller is not None:
        block["caller"] = {"type": item.caller.kind, "tool_id": item.caller.id}
    return block


def _in_pieces(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """How a block begins in a stream, and what is added to it."""
    kind = block["type"]
    if kind == "text":
        deltas: list[JsonObject] = [{"type": "text_delta", "text": word} for word in words(str(block["text"]))]
        notes = cast("list[JsonObject]", block.get("citations") or [])
        deltas.extend({"type": "citations_delta", "citation": note} for note in notes)
        return {"type": "text", "text": ""}, deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": word} for word in words(str(block["thinking"]))]
        signature: JsonObject = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if kind in ("tool_use", "server_tool_use"):
        text = msgspec.json.encode(block["input"]).decode()
        half = len(text) // 2
        pieces = ("", text[:half], text[half:])
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block, []


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
