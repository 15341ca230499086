"""`HttpModel`: what all adapters share. A request is retried or fails with a typed error; a reply is proven complete.

```
HttpModel (address, key, headers, retries, errors) -> Exchange -> EventStream -> Assembler (the protocol) -> ModelResponse
```
An adapter is a subclass that writes the request's body, and an `Assembler` that reads the reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import ClassVar, Protocol, Unpack

import msgspec
from msgspec import Raw, structs

from agentsdk.models.endpoint import HttpEndpoint
from agentsdk.models.errors import ErrorInReply, error_from_object
from agentsdk.models.exchange import Decoder, EventStream, Exchange
from agentsdk.models.hosted import mcp_secrets
from agentsdk.models.loose import as_object
from agentsdk.models.network import RequestHeaders
from agentsdk.models.options import HttpModelOptions
from agentsdk.models.prefix import Body
from agentsdk.models.retry import with_retries
from agentsdk.models.sse import ServerSentEvent, SSEDecoder
from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import (
    IncompleteResponseError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ProviderError,
    UserError,
)
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import CacheRetention, ModelSettings
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.usage import SpentAttempt, Usage

_CACHED_TOOLS = 64


class Assembler(Protocol):
    """Puts one reply together. Its methods raise `ModelError`s, and `ErrorInReply` for an error that the provider reports."""

    @property
    def begun(self) -> bool:
        """Whether any text, reasoning, call or other item has come."""
        ...

    @property
    def complete(self) -> bool:
        """Whether nothing more is needed."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the server said why it stopped."""
        ...

    @property
    def text(self) -> str:
        """The answer's text so far."""
        ...

    @property
    def usage(self) -> Usage | None:
        """What the reply has cost, as far as the provider has reported; None where it has reported nothing."""
        ...

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event of a stream; the deltas it makes, or None at the protocol's own end mark."""
        ...

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece."""
        ...

    def response(self) -> ModelResponse:
        """The reply, if it is proven complete. Raises a `ModelError` if it is not."""
        ...

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """What a stream ends with: the items of `response` that no event has shown complete yet."""
        ...


class HttpModel(HttpEndpoint, ABC):
    """A model behind an HTTP API. `HttpModelOptions` says what the options mean."""

    _end_grace: ClassVar[float] = 1.0
    """Seconds that the last of a finished reply (its usage) may lag, when the server neither sends it nor ends the stream."""

    _stream_type: ClassVar[str] = "text/event-stream"
    """The media type of a stream."""

    def __init__(self, model: str, **options: Unpack[HttpModelOptions]) -> None:
        super().__init__(model, **options)
        self._tools: dict[tuple[int, int], tuple[Sequence[ToolSpec | HandoffSpec], Sequence[HostedTool], Raw]] = {}

    @abstractmethod
    def body(self, request: ModelRequest) -> Body:
        """The request's body. Raises `UserError` for what the API cannot carry."""

    @abstractmethod
    def _url_for(self, request: ModelRequest) -> str:
        """Where the request goes."""

    @abstractmethod
    def _assembler(self, request: ModelRequest) -> Assembler:
        """What reads the reply."""

    @abstractmethod
    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool]) -> bytes:
        """The tools as JSON. Raises `UserError` for those that the API does not have."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`.

        Raises `UserError` for a missing key or a request that the API cannot carry; the generator, only `ModelError`s.
        """
        headers, body = self._headers_for(request), self.body(request)
        settings = request.settings.retry or self._retry
        return with_retries(lambda: self._attempt(request, headers, body), settings, self._clock, self._random)

    def _decoder(self) -> Decoder:
        """What reads the events of a stream from its bytes."""
        return SSEDecoder()

    def _encoded_tools(self, tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool] = ()) -> Raw:
        """The tools as JSON, encoded once per pair of tuples: an agent hands over the same ones turn after turn."""
        place = id(tools), id(hosted)
        known = self._tools.get(place)
        if known is None or known[0] is not tools or known[1] is not hosted:
            if len(self._tools) >= _CACHED_TOOLS:
                self._tools.clear()
            known = self._tools[place] = (tools, hosted, Raw(self._encode_tools(tools, hosted)))
        return known[2]

    def _headers_for(self, request: ModelRequest) -> RequestHeaders:
        accept = self._stream_type if request.stream else "application/json"
        headers = self._headers_with(accept=accept, request_id=request.request_id, extra=request.settings.extra_headers)
        return headers.with_secrets(mcp_secrets(request.hosted)) if request.hosted else headers

    def _attempt(self, request: ModelRequest, headers: RequestHeaders, body: Body) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of one attempt."""
        return self._receive(request, self._assembler(request), self._url_for(request), headers, body)

    async def _receive(
        self, request: ModelRequest, assembler: Assembler, url: str, headers: RequestHeaders, body: Body | None
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """Send the request (`body` None: GET), and put its reply together to the end."""
        response: ModelResponse | ProviderError
        events: Sequence[ServerSentEvent] = ()
        event: ServerSentEvent | None = None
        streamed, settings = request.stream, request.settings.retry or self._retry
        async with await self._send(url, headers, body, settings, stream=streamed) as exchange:
            try:
                if streamed and _may_be_events(exchange.headers):
                    stream = EventStream(exchange, self._decoder())
                    while not assembler.complete and (events := await stream.read()):
                        goes_on = False
                        try:
                            for event in events:
                                if (deltas := assembler.add_event(event)) is None:
                                    stream.done = True
                                    break
                                goes_on = goes_on or bool(deltas)
                                for delta in deltas:
                                    yield delta
                        except MalformedResponseError:
                            if not stream.done:  # else the end of the body has truncated the event
                                raise
                        if assembler.finished:
                            exchange.end_within(self._end_grace, restart=goes_on)
                else:
                    assembler.add_whole(await exchange.read_all())
                response = assembler.response()
            except ErrorInReply as error:
                response = self._reported(error, assembler, exchange, streamed=streamed)
            except ModelConnectionError as error:
                if not assembler.begun:
                    self._charge(error, assembler, streamed=streamed)
                    raise
                raise self._broken_off(assembler, streamed=streamed) from error
            except ModelError as error:
                self._charge(error, assembler, streamed=streamed)
                error.__context__ = None  # it and the decoder's frames hold the reply as it came
                raise error.with_traceback(None)  # noqa: B904 - it is the one that is handled
            finally:
                events, event = (), None  # a server may repeat a key, and a traceback may be printed with its locals
            if isinstance(response, ProviderError):  # raised here, where what was reported is not its context
                raise response
            await exchange.finish()
        if streamed:
            for delta in assembler.done_events(response):
                yield delta
        yield ResponseCompleted(response)

    def _reported(self, reported: ErrorInReply, assembler: Assembler, exchange: Exchange, *, streamed: bool) -> ProviderError:
        """The error that the provider has reported in its reply."""
        error = error_from_object(self._who, reported.data, secrets=self._secrets(exchange))
        self._charge(error, assembler, streamed=streamed)
        return error

    def _broken_off(self, assembler: Assembler, *, streamed: bool) -> IncompleteResponseError:
        """The error for a connection that broke after a part of the reply had come."""
        error = IncompleteResponseError(f"the connection to {self._who} broke in mid-reply", partial=assembler.text)
        self._charge(error, assembler, streamed=streamed)
        return error

    def _charge(self, error: ModelError, assembler: Assembler, *, streamed: bool) -> None:
        """Have the error carry what the reply that it ends has cost: it is paid for all the same."""
        usage = assembler.usage
        if usage is None and (assembler.begun or assembler.finished):
            usage = Usage(requests=1, known=False)
        if usage is not None:
            is_all = assembler.finished or not streamed  # else the provider would have reported more
            error.attempts = (SpentAttempt(usage if is_all else structs.replace(usage, known=False), self.name),)

    async def _count(self, request: ModelRequest, url: str, body: Body, field: str) -> int:
        """The number that the provider's counting endpoint at `url` returns in `field`. Raises like `stream`."""
        headers = self._headers_for(structs.replace(request, stream=False, request_id=""))
        answer = await self._post(url, headers, body, request.settings.retry or self._retry)
        try:
            count = as_object(msgspec.json.decode(answer)).get(field)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            count = None
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise MalformedResponseError(f"{self._who} answered without a count in {field!r}; check base_url")
        return count


def given_settings(settings: ModelSettings, *names: str) -> dict[str, object]:
    """Those of the named settings that are set."""
    given = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def refuse_settings(settings: ModelSettings, api: str, *names: str) -> None:
    """Raise `UserError` if any of the named settings is set: `api` does not have it."""
    for name in given_settings(settings, *names):
        raise UserError(f"ModelSettings({name}=...) is not available with {api}; leave it out, or pass it in extra_body")


def refuse_hosted(request: ModelRequest, api: str) -> None:
    """Raise `UserError` for a request that names a prompt or a conversation: `api` keeps none."""
    if request.prompt is not None or request.conversation is not None:
        what = "Agent(prompt=...)" if request.prompt is not None else "a conversation_id or previous_response_id"
        raise UserError(f"{what} is not available with {api}, which keeps none; use OpenAIResponsesModel, or leave it out")


OPENAI_RETENTIONS: tuple[CacheRetention, ...] = ("in_memory", "24h")


def cache_retention(settings: ModelSettings, api: str, *known: CacheRetention) -> CacheRetention | None:
    """How long the provider is to keep the prompt's prefix. Raises `UserError` for a word that is another provider's."""
    given = settings.prompt_cache_retention
    if given is None or given in known:
        return given
    raise UserError(
        f"ModelSettings(prompt_cache_retention={given!r}) is not available with {api}, expected one of {known}; choose one, or "
        "leave it out"
    )


def merge_extra_body(fields: dict[str, object], settings: ModelSettings, *own: str) -> None:
    """Merge `extra_body` into `fields`. Raises `UserError` if it holds one of the fields that are the run's `own`."""
    for name in own:
        if name in (settings.extra_body or ()):
            raise UserError(f"extra_body holds {name!r}, which are the run's own; pass them as input or instructions")
    fields.update(settings.extra_body or {})


def _may_be_events(headers: Mapping[str, str]) -> bool:
    """Whether the body can be an event stream: some servers name no content type, or a wrong one that is not JSON or HTML."""
    kind = headers.get("content-type", "")
    return "json" not in kind and "html" not in kind
