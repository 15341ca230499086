"""Amazon Bedrock's Converse as a server writes it, and `FakeBedrockServer`."""

from __future__ import annotations

import re
import struct
from typing import cast
from urllib.parse import unquote
from zlib import crc32

import msgspec

from agentsdk.core.deltas import words
from agentsdk.testing.server import CapturedRequest, FakeServer, ServerScript
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall, Message, OutputText, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.usage import Usage

_PATH = re.compile(r"/model/(?P<model>[^/]+)/(?P<method>converse|converse-stream|count-tokens)")
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "content_filtered"}


class BedrockDialect:
    """`POST /model/{model}/converse` and `converse-stream`. Of an event the one key is its type, as boto3 shows it."""

    path = "/model"
    stream_type = "application/vnd.amazon.eventstream"

    def whole(self, response: ModelResponse, request: JsonObject) -> JsonObject:
        """A reply in one piece."""
        blocks = [block for item in response.output for block in _blocks(item)]
        message = {"role": "assistant", "content": blocks}
        stop = _STOPS.get(response.finish, response.finish)
        usage = _usage(response.usage)
        return {"output": {"message": message}, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 1}}

    def events(self, response: ModelResponse, request: JsonObject) -> list[JsonObject | str]:
        """The events of a streamed reply."""
        events: list[JsonObject | str] = [{"messageStart": {"role": "assistant"}}]
        blocks = [block for item in response.output for block in _blocks(item)]
        for index, block in enumerate(blocks):
            start, deltas = _in_pieces(block)
            at: JsonObject = {"contentBlockIndex": index}
            if start is not None:
                events.append({"contentBlockStart": {"start": start, **at}})
            events.extend({"contentBlockDelta": {"delta": delta, **at}} for delta in deltas)
            events.append({"contentBlockStop": at})
        stop: JsonObject = {"stopReason": _STOPS.get(response.finish, response.finish)}
        metadata: JsonObject = {"usage": _usage(response.usage), "metrics": {"latencyMs": 1}}
        return [*events, {"messageStop": stop}, {"metadata": metadata}]

    def adjust(self, message: JsonObject, finish: str | None, usage: JsonObject | str | None) -> JsonObject:
        """`message` with another stop reason or usage."""
        adjusted = dict(message)
        for name in ("messageStop", "metadata"):
            if name in message:
                adjusted[name] = self.adjust(cast(JsonObject, message[name]), finish, usage)
        if finish is not None and "stopReason" in message:
            adjusted["stopReason"] = finish or None
        if "usage" in message and usage != "default":
            adjusted["usage"] = usage
        return adjusted

    def frame(self, event: str | JsonObject) -> bytes:
        """An event: an exception by the name of one, an error by `"error"`; a text is the data of a delta."""
        if isinstance(event, str):
            return frame(event.encode(), event_type="contentBlockDelta")
        kind = next((name for name in event if name == "error" or name.endswith("Exception")), None) or next(iter(event))
        data = msgspec.json.encode(event if kind == "error" else event[kind])
        if kind == "error":
            return frame(data, message_type="error", error_code="error")
        if kind.endswith("Exception"):
            return frame(data, message_type="exception", exception_type=kind)
        return frame(data, event_type=kind)

    @property
    def ping(self) -> bytes:
        """An event that says nothing."""
        return frame(b"{}", event_type="ping")


class FakeBedrockServer(FakeServer):
    """A server that speaks Bedrock's Converse. A request beyond the script is answered with status 400.

    ```python
    async with FakeBedrockServer(["Hello!"]) as server:
        model = BedrockModel("claude-test", base_url=server.base_url, api_key="test")
    ```
    """

    def __init__(self, script: ServerScript) -> None:
        super().__init__(script, BedrockDialect())

    @property
    def base_url(self) -> str:
        """What to give a model as `base_url`."""
        return self.url

    def _serves(self, path: str) -> bool:
        return _PATH.fullmatch(path) is not None

    def _asked(self, request: CapturedRequest) -> JsonObject:
        asked = super()._asked(request)
        if found := _PATH.fullmatch(request.path):
            asked |= {"model": unquote(found["model"]), "stream": found["method"] == "converse-stream"}
        return asked


def frame(payload: bytes, *, message_type: str = "event", **headers: str) -> bytes:
    """A frame of an AWS event stream; `event_type="x"` is its header `:event-type`."""
    named = {"message-type": message_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
    told = b"".join(_header(f":{name}", value) for name, value in named.items())
    prelude = struct.pack(">II", 16 + len(told) + len(payload), len(told))
    checked = prelude + struct.pack(">I", crc32(prelude)) + told + payload
    return checked + struct.pack(">I", crc32(checked))


def _header(name: str, value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(encoded)) + encoded


def _blocks(item: OutputItem) -> list[JsonObject]:
    match item:
        case Message():
            parts = (OutputText(item.content),) if isinstance(item.content, str) else item.content
            return [{"text": part.text} for part in parts if isinstance(part, OutputText)]
        case Reasoning() if item.encrypted:
            return [{"reasoningContent": {"redactedContent": item.encrypted}}]
        case Reasoning():
            return [{"reasoningContent": {"reasoningText": {"text": item.text, "signature": item.signature or "c2ln"}}}]
        case FunctionCall():
            given = msgspec.Raw(item.arguments.encode())
            return [{"toolUse": {"toolUseId": item.call_id, "name": item.name, "input": given}}]
        case ProviderItem():
            return [item.data]


def _in_pieces(block: JsonObject) -> tuple[JsonObject | None, list[JsonObject]]:
    """How a block begins in a stream, if it does, and its deltas."""
    if "text" in block:
        return None, [{"text": word} for word in words(str(block["text"]))]
    if "reasoningContent" in block:
        told = cast(JsonObject, block["reasoningContent"])
        if "redactedContent" in told:
            return None, [{"reasoningContent": told}]
        whole = cast(JsonObject, told["reasoningText"])
        pieces: list[JsonObject] = [{"text": word} for word in words(str(whole["text"]))]
        return None, [{"reasoningContent": piece} for piece in [*pieces, {"signature": whole["signature"]}]]
    if "toolUse" in block:
        call = cast(JsonObject, block["toolUse"])
        text = msgspec.json.encode(call["input"]).decode()
        start: JsonObject = {name: value for name, value in call.items() if name != "input"}
        half = len(text) // 2
        return {"toolUse": start}, [{"toolUse": {"input": piece}} for piece in ("", text[:half], text[half:])]
    return block, []


def _usage(usage: Usage) -> JsonObject:
    return {
        "inputTokens": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
        "cacheReadInputTokens": usage.cached_tokens,
        "cacheWriteInputTokens": usage.cache_write_tokens,
    }
