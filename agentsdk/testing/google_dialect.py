"""`generateContent` as Google writes it, and `FakeGoogleServer`."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import cast

import msgspec

from agentsdk.core.deltas import words
from agentsdk.testing.server import CapturedRequest, FakeServer, ServerScript
from agentsdk.types.base import JsonObject
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.media import media_of
from agentsdk.types.response import Finish, ModelResponse, OutputItem
from agentsdk.types.usage import Usage

_PATH = re.compile(
    r"/v1(alpha|beta)?/(projects/[^/]+/locations/[^/]+/)?(publishers/[^/]+/)?(models|endpoints)/(?P<model>[^/:]+)"
    r":(?P<method>generateContent|countTokens|streamGenerateContent\?alt=sse)"
)
_FINISHES: dict[Finish, str] = {"length": "MAX_TOKENS", "content_filter": "SAFETY", "error": "MALFORMED_FUNCTION_CALL"}


class GoogleDialect:
    """`POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent?alt=sse`.

    Model and method stand in the path, so `FakeGoogleServer` adds them to the request as `"model"` and `"stream"`.
    """

    path = "/v1beta/models"

    def whole(self, response: ModelResponse, request: JsonObject) -> JsonObject:
        """The body of `generateContent`."""
        return _chunk(response, request, _parts(response.output, stream=False), last=True)

    def events(self, response: ModelResponse, request: JsonObject) -> list[JsonObject | str]:
        """The chunks of `streamGenerateContent`. The last one says why the model stopped; no end mark follows it."""
        chunks = [_chunk(response, request, [part], last=False) for part in _parts(response.output, stream=True)]
        return [*chunks, _chunk(response, request, [{"text": ""}], last=True)]

    def adjust(self, message: JsonObject, finish: str | None, usage: JsonObject | str | None) -> JsonObject:
        """`message` with another finish reason or usage."""
        adjusted = dict(message)
        candidates = cast("list[JsonObject]", message.get("candidates") or [])
        if finish is not None and any("finishReason" in candidate for candidate in candidates):
            adjusted["candidates"] = [_without_null({**one, "finishReason": finish or None}) for one in candidates]
        if "usageMetadata" in message and usage != "default":
            adjusted["usageMetadata"] = usage
        return _without_null(adjusted)


class FakeGoogleServer(FakeServer):
    """A fake server of Google's Gemini API, which also speaks as Vertex AI does.

    async with FakeGoogleServer(["Hello!"]) as server:
        model = GoogleModel("gemini-test", base_url=server.base_url)
    """

    def __init__(self, script: ServerScript) -> None:
        super().__init__(script, GoogleDialect())

    @property
    def base_url(self) -> str:
        """What to give a model as `base_url`."""
        return self.url

    def _serves(self, path: str) -> bool:
        return _PATH.fullmatch(path) is not None

    def _asked(self, request: CapturedRequest) -> JsonObject:
        asked = super()._asked(request)
        if found := _PATH.fullmatch(request.path):
            asked |= {"model": found["model"], "stream": found["method"] != "generateContent"}
        return asked


def _chunk(response: ModelResponse, request: JsonObject, parts: list[JsonObject], *, last: bool) -> JsonObject:
    candidate: JsonObject = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = _FINISHES.get(response.finish, "STOP")
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(response.usage, last=last),
        "modelVersion": response.model or request.get("model", ""),
        "responseId": response.response_id or "fake",
    }


def _parts(output: tuple[OutputItem, ...], *, stream: bool) -> list[JsonObject]:
    parts: list[JsonObject] = []
    signature: JsonObject = {}  # of the call that comes next
    for item in output:
        match item:
            case Message():
                if item.text or not item.has_media:
                    parts.extend({"text": word} for word in (words(item.text) if stream else [item.text]))
                parts.extend(_media(item))
            case Reasoning() if item.id == "call":
                signature = {"thoughtSignature": item.signature}
            case Reasoning() if item.id:
                parts.append({"text": "", "thoughtSignature": item.signature})
            case Reasoning():
                parts.extend({"text": word, "thought": True} for word in (words(item.text) if stream else [item.text]))
                if item.signature:
                    parts[-1]["thoughtSignature"] = item.signature
            case FunctionCall():
                arguments: JsonObject = msgspec.json.decode(item.arguments or "{}")
                own: JsonObject = {"name": item.name, "arguments": arguments}
                if item.kind == "computer" and "call" in arguments:  # in the form that it keeps of its own
                    own = cast(JsonObject, arguments["call"])
                called = {"id": item.call_id, "name": own["name"], "args": own["arguments"]}
                parts.append({"functionCall": called, **signature})
                signature = {}
            case ProviderItem():
                parts.append(item.data)
    return parts


def _media(message: Message) -> Iterator[JsonObject]:
    for part in () if isinstance(message.content, str) else message.content:
        media = media_of(part)
        if media is not None:
            yield {"inlineData": {"mimeType": media.media_type, "data": base64.b64encode(media.data).decode()}}


def _usage(usage: Usage, *, last: bool) -> JsonObject:
    """Zeros are left out, and until the last chunk so is what the model wrote."""
    counts = {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens if last else 0,
        "thoughtsTokenCount": usage.reasoning_tokens if last else 0,
        "totalTokenCount": usage.total_tokens,
    }
    return {name: count for name, count in counts.items() if count}


def _without_null(message: JsonObject) -> JsonObject:
    return {name: value for name, value in message.items() if value is not None}
