"""`OpenAIChatCompletionsModel`: one reply from a chat completions server, proven whole or refused with a typed error."""

from __future__ import annotations

import os
import random as _random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from agentsdk.models.errors import error_from_object, error_from_response
from agentsdk.models.http import EventStream, Exchange, ModelTimeouts, Transport, as_transport
from agentsdk.models.loose import as_object
from agentsdk.models.network import check_header, check_url
from agentsdk.models.openai_chat.encode import MessageEncoder, encode_output, encode_tools, to_json
from agentsdk.models.openai_chat.reply import Chunk, ReplyAssembler, parse_chunk
from agentsdk.models.retry import SystemClock, parse_retry_after, with_retries
from agentsdk.models.sse import ServerSentEvent
from agentsdk.ports.clock import Clock
from agentsdk.ports.model import ModelRequest
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import (
    IncompleteResponseError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ProviderError,
    UserError,
)
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec

if TYPE_CHECKING:
    import httpx

DEFAULT_BASE_URL = "https://api.openai.com/v1"
# How long the usage may lag behind the finish reason, when the server neither sends it nor ends the stream.
_USAGE_GRACE = 1.0
_CACHED_TOOLS = 64

MaxTokensField = Literal["max_tokens", "max_completion_tokens"]


class OpenAIChatCompletionsModel:
    """A model behind `POST {base_url}/chat/completions`, at OpenAI or any compatible server.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; the key of the environment goes only to the
    `base_url` of the environment (or OpenAI's), so another `base_url` needs its own `api_key`, or none. `provider` names where
    reasoning comes from and may be sent back to; by default the host. `max_tokens_field` is how the cap on output tokens is
    sent: by default `max_completion_tokens` to OpenAI, whose reasoning models take nothing else, and `max_tokens` elsewhere.
    `incomplete_text_ok` is for servers that never send a finish reason: their text is accepted, their calls never.
    `include_usage=False` is for servers that refuse `stream_options`. `http_client` is an `httpx.AsyncClient` or a `Transport`
    and is never closed here; without one, all models of an event loop share a client. `clock` and `random` are for tests.

    Raises `UserError` for a `base_url`, key or header that cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        http_client: httpx.AsyncClient | Transport | None = None,
        timeouts: ModelTimeouts | None = None,
        retry: ModelRetrySettings | None = None,
        headers: Mapping[str, str] | None = None,
        provider: str | None = None,
        max_tokens_field: MaxTokensField | None = None,
        incomplete_text_ok: bool = False,
        include_usage: bool = True,
        clock: Clock | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        home = check_url(os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        self.name = model
        self.base_url = home if base_url is None else check_url(base_url)
        if api_key is None and _origin(self.base_url) == _origin(home):
            api_key = os.environ.get("OPENAI_API_KEY")
        host = urlsplit(self.base_url).netloc
        self.provider = provider or host
        self._key = api_key or ""
        self._needs_key = _origin(self.base_url) == _origin(DEFAULT_BASE_URL)
        self._who = f"model {model!r} at {host!r}"
        self._url = f"{self.base_url}/chat/completions"
        self._headers = _headers(self._key, headers or {})
        self._transport = as_transport(http_client)
        self._timeouts = timeouts or ModelTimeouts()
        self._retry = retry or ModelRetrySettings()
        self._cap = max_tokens_field or ("max_completion_tokens" if self._needs_key else "max_tokens")
        self._incomplete_text_ok = incomplete_text_ok
        self._include_usage = include_usage
        self._clock = clock or SystemClock()
        self._random = random
        self._encoder = MessageEncoder(self.provider)
        self._tools: dict[int, tuple[Sequence[ToolSpec | HandoffSpec], Raw]] = {}

    def __repr__(self) -> str:
        return f"OpenAIChatCompletionsModel({self.name!r}, base_url={self.base_url!r})"

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`.

        Raises `UserError` for a missing key or a request that chat completions cannot carry; the generator, only `ModelError`s.
        """
        headers, body = self._headers_for(request), self.body(request)
        settings = request.settings.retry or self._retry
        return with_retries(lambda: self._attempt(request, headers, body), settings, self._clock, self._random)

    def body(self, request: ModelRequest) -> bytes:
        """The request's body: settings and tools around the encoded messages."""
        settings = request.settings
        fields: JsonObject = {"model": self.name, **_sampling(settings)}
        if settings.max_tokens is not None:
            fields[self._cap] = settings.max_tokens
        if request.tools:
            fields["tools"] = self._encoded_tools(request.tools)
            if settings.tool_choice is not None:
                fields["tool_choice"] = _tool_choice(settings.tool_choice)
            if settings.parallel_tool_calls is not None:
                fields["parallel_tool_calls"] = settings.parallel_tool_calls
        if request.output is not None:
            fields["response_format"] = Raw(encode_output(request.output))
        fields["stream"] = request.stream
        if request.stream and self._include_usage:
            fields["stream_options"] = {"include_usage": True}
        if settings.extra_body:
            if "messages" in settings.extra_body:
                raise UserError("extra_body holds 'messages', which are the run's own; pass them as input or instructions")
            fields.update(settings.extra_body)
        messages = self._encoder.encode(request.items, request.tail)
        if request.instructions:
            system = to_json({"role": "system", "content": request.instructions})
            messages = b"%b,%b" % (system, messages) if messages else system
        return b'%b,"messages":[%b]}' % (to_json(fields)[:-1], messages)

    def _encoded_tools(self, tools: Sequence[ToolSpec | HandoffSpec]) -> Raw:
        """`tools` as JSON, encoded once per tuple: an agent hands over the same one turn after turn."""
        known = self._tools.get(id(tools))
        if known is None or known[0] is not tools:
            if len(self._tools) >= _CACHED_TOOLS:
                self._tools.clear()
            known = self._tools[id(tools)] = (tools, Raw(encode_tools(tools)))
        return known[1]

    def _headers_for(self, request: ModelRequest) -> dict[str, str]:
        if self._needs_key and not self._key:
            raise UserError(
                f"no key for {self._who}: set the environment variable OPENAI_API_KEY or pass api_key=; "
                "for another server pass base_url="
            )
        headers = {**self._headers, "accept": "text/event-stream" if request.stream else "application/json"}
        if request.request_id:
            headers["idempotency-key"] = request.request_id
        if request.settings.extra_headers:
            headers.update(_checked_headers(request.settings.extra_headers))
        return headers

    async def _attempt(
        self, request: ModelRequest, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        assembler = ReplyAssembler(self.provider, fallback_id=request.request_id)
        streamed = request.stream
        async with await Exchange.start(self._transport, self._url, headers, body, self._timeouts, stream=streamed) as exchange:
            if not 200 <= exchange.status < 300:
                raise await self._refusal(exchange)
            if streamed and _may_be_events(exchange.headers):
                stream = EventStream(exchange)
                try:
                    while not assembler.complete and (events := await stream.read()):
                        for event in events:
                            if (chunk := self._chunk_of(event, stream)) is None:
                                break
                            for delta in assembler.add(chunk):
                                yield delta
                        if assembler.finished:
                            exchange.end_within(_USAGE_GRACE)
                except ModelConnectionError as error:
                    if not assembler.begun:
                        raise
                    message = f"the connection to {self._who} broke in mid-reply"
                    raise IncompleteResponseError(message, partial=assembler.text) from error
            else:
                assembler.add_whole(self._checked(await exchange.read_all()))
            response = assembler.response(unfinished_text_ok=self._incomplete_text_ok)
            await exchange.finish()
        if streamed:
            for delta in assembler.done_events(response):
                yield delta
        yield ResponseCompleted(response)

    def _chunk_of(self, event: ServerSentEvent, stream: EventStream) -> Chunk | None:
        """The chunk in `event`; None at the end of the stream, which may have cut the last event."""
        if event.data == "[DONE]":
            stream.done = True
            return None
        if event.event == "error":
            raise error_from_object(self._who, _loosely(event.data), secret=self._key)
        try:
            return self._checked(event.data)
        except MalformedResponseError:
            if stream.done:
                return None
            raise

    def _checked(self, data: str | bytes) -> Chunk:
        """The chunk in `data`. Raises a `ProviderError` if it tells an error."""
        chunk = parse_chunk(data)
        if chunk.error:
            raise error_from_object(self._who, chunk.error, secret=self._key)
        if chunk.kind == "error":
            raise error_from_object(self._who, _loosely(data), secret=self._key)
        return chunk

    async def _refusal(self, exchange: Exchange) -> ProviderError:
        try:
            body = await exchange.read_all()
        except ModelError:  # the status says enough
            body = b""
        retry_after = parse_retry_after(exchange.headers, self._clock.time())
        return error_from_response(
            self._who, exchange.status, exchange.headers, body, secret=self._key, retry_after=retry_after
        )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _headers(key: str, extra: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "agentsdk"}
    if key:
        check_header("api_key", key)
        headers["authorization"] = f"Bearer {key}"
    return {**headers, **_checked_headers(extra)}


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        check_header(f"the header {name!r}", value)
    return {name.lower(): value for name, value in headers.items()}


def _sampling(settings: ModelSettings) -> JsonObject:
    given = {name: getattr(settings, name) for name in _SAMPLING}
    return {name: value for name, value in given.items() if value is not None}


_SAMPLING = (
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "stop",
    "seed",
    "reasoning_effort",
    "metadata",
)


def _tool_choice(choice: str) -> object:
    return choice if choice in ("auto", "required", "none") else {"type": "function", "function": {"name": choice}}


def _may_be_events(headers: Mapping[str, str]) -> bool:
    """Whether the body can be an event stream: some servers name no content type, or a wrong one that is not JSON or HTML."""
    kind = headers.get("content-type", "")
    return "json" not in kind and "html" not in kind


def _loosely(data: str | bytes) -> object:
    """What an error event carries: its `error`, the object itself, or its text."""
    try:
        decoded: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return data if isinstance(data, str) else ""
    return as_object(decoded).get("error") or decoded
