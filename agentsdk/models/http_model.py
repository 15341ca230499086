"""`HttpModel`: what all adapters share. A request is retried or fails with a typed error; a reply is proven complete.

```
HttpModel (address, key, headers, retries, errors) -> Exchange -> EventStream -> Assembler (the protocol) -> ModelResponse
```
An adapter is a subclass that writes the request's body, and an `Assembler` that reads the reply.
"""

from __future__ import annotations

import inspect
import os
import random as _random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import ClassVar, Protocol, Unpack
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, structs

from agentsdk.core.keys import header_key
from agentsdk.models.errors import ErrorInReply, error_from_object, error_from_response
from agentsdk.models.exchange import EventStream, Exchange
from agentsdk.models.httpx_transport import as_transport
from agentsdk.models.loose import as_object
from agentsdk.models.network import RequestHeaders, check_header, check_url
from agentsdk.models.options import HttpModelOptions, check_options
from agentsdk.models.prefix import Body, to_json
from agentsdk.models.rate_headers import rate_limit_wait
from agentsdk.models.retry import SystemClock, parse_retry_after, with_retries
from agentsdk.models.sse import ServerSentEvent
from agentsdk.models.transport import ModelTimeouts
from agentsdk.ports.clock import wait_idle
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
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import CacheRetention, ModelRetrySettings, ModelSettings
from agentsdk.types.signature import full_signature
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
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


class HttpModel(ABC):
    """A model behind an HTTP API. `HttpModelOptions` says what the options mean."""

    _default_base_url: ClassVar[str]
    _base_url_variable: ClassVar[str]
    """The environment variable that names another `base_url`."""
    _key_variables: ClassVar[tuple[str, ...]]
    """The environment variables that may hold the key; the first that is set counts."""
    _end_grace: ClassVar[float] = 1.0
    """Seconds that the last of a finished reply (its usage) may lag, when the server neither sends it nor ends the stream."""

    __signature__: ClassVar[inspect.Signature]
    """What `help` and `inspect` show: every option by its name."""

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            signature = full_signature(vars(cls)["__init__"], HttpModelOptions)
            _, *parameters = signature.parameters.values()  # the first is `self`
            cls.__signature__ = signature.replace(parameters=parameters)

    def __init__(self, model: str, **options: Unpack[HttpModelOptions]) -> None:
        check_options(type(self).__name__, model, options)
        self.name = model
        self._set_address(options.get("base_url"), options.get("api_key"))
        self.provider = options.get("provider") or urlsplit(self.base_url).netloc
        self._headers = {
            "content-type": "application/json",
            "user-agent": "agentsdk",
            **self._auth_headers(self._key),
            **_checked_headers(options.get("headers") or {}),
        }
        self._transport = as_transport(options.get("http_client"))
        self._timeouts = options.get("timeouts") or ModelTimeouts()
        self._retry = options.get("retry") or ModelRetrySettings()
        clock, random = options.get("clock"), options.get("random")
        self._clock = SystemClock() if clock is None else clock
        self._random = _random.random if random is None else random
        self._rate_limited_until = 0.0  # Unix timestamp until which nothing remains of a rate limit
        self._tools: dict[int, tuple[Sequence[ToolSpec | HandoffSpec], Raw]] = {}

    def _set_address(self, base_url: str | None, api_key: str | None) -> None:
        """Where requests go, and the key for it. A key of the environment goes nowhere else than it was meant for."""
        home = check_url(os.environ.get(self._base_url_variable) or self._default_base_url)
        self.base_url = home if base_url is None else check_url(base_url)
        if api_key is None and _origin(self.base_url) == _origin(home):
            api_key = next(filter(None, map(os.environ.get, self._key_variables)), None)
        self._key = api_key or ""
        if self._key:
            check_header("api_key", self._key)
        self._at_home = _origin(self.base_url) == _origin(self._default_base_url)
        self._who = f"model {self.name!r} at {urlsplit(self.base_url).netloc!r}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.base_url!r})"

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
    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
        """The tools as JSON."""

    def _auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry `key` (`""`: there is none), and what else every request of this API needs."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`.

        Raises `UserError` for a missing key or a request that the API cannot carry; the generator, only `ModelError`s.
        """
        headers, body = self._headers_for(request), self.body(request)
        settings = request.settings.retry or self._retry
        return with_retries(lambda: self._attempt(request, headers, body), settings, self._clock, self._random)

    def _encoded_tools(self, tools: Sequence[ToolSpec | HandoffSpec]) -> Raw:
        """`tools` as JSON, encoded once per tuple: an agent hands over the same one turn after turn."""
        known = self._tools.get(id(tools))
        if known is None or known[0] is not tools:
            if len(self._tools) >= _CACHED_TOOLS:
                self._tools.clear()
            known = self._tools[id(tools)] = (tools, Raw(self._encode_tools(tools)))
        return known[1]

    def _headers_for(self, request: ModelRequest) -> RequestHeaders:
        if self._at_home and not self._key:
            raise UserError(
                f"no key for {self._who}: set the environment variable {' or '.join(self._key_variables)} or pass api_key=; "
                "for another server pass base_url="
            )
        more = {"accept": "text/event-stream" if request.stream else "application/json"}
        if request.request_id:
            more["idempotency-key"] = header_key(request.request_id)
        return RequestHeaders({**self._headers, **more, **_checked_headers(request.settings.extra_headers or {})})

    def _attempt(self, request: ModelRequest, headers: RequestHeaders, body: Body) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of one attempt."""
        return self._receive(request, self._assembler(request), self._url_for(request), headers, body)

    async def _receive(
        self, request: ModelRequest, assembler: Assembler, url: str, headers: RequestHeaders, body: Body | None
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """Send the request (`body` None: GET), and put its reply together to the end."""
        streamed = request.stream
        response: ModelResponse | ProviderError
        events: Sequence[ServerSentEvent] = ()
        event: ServerSentEvent | None = None
        async with await self._send(request, url, headers, body) as exchange:
            try:
                if streamed and _may_be_events(exchange.headers):
                    stream = EventStream(exchange)
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
                response = self._reported(error, assembler, headers, streamed=streamed)
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

    def _reported(
        self, reported: ErrorInReply, assembler: Assembler, headers: RequestHeaders, *, streamed: bool
    ) -> ProviderError:
        """The error that the provider has reported in its reply."""
        error = error_from_object(self._who, reported.data, secrets=self._secrets(headers))
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

    async def _send(self, request: ModelRequest, url: str, headers: RequestHeaders, body: Body | None) -> Exchange:
        """Send one attempt, and return the response unless it is an error."""
        settings = request.settings.retry or self._retry
        if settings.respect_rate_limits and (wait := self._rate_limited_until - self._clock.time()) > 0:
            await wait_idle(self._clock, min(wait, settings.max_retry_after))
        exchange = await Exchange.start(self._transport, url, headers, body, self._timeouts, stream=request.stream)
        if settings.respect_rate_limits:
            now = self._clock.time()
            self._rate_limited_until = max(self._rate_limited_until, now + rate_limit_wait(exchange.headers, now))
        if not 200 <= exchange.status < 300:
            async with exchange:
                raise await self._refusal(exchange, headers)
        return exchange

    async def _count(self, request: ModelRequest, url: str, body: Body, field: str) -> int:
        """The number that the provider's counting endpoint at `url` returns in `field`. Raises like `stream`."""
        request = structs.replace(request, stream=False, request_id="")
        headers = self._headers_for(request)

        async def attempt() -> AsyncGenerator[bytes, None]:
            async with await self._send(request, url, headers, body) as exchange:
                yield await exchange.read_all()

        answer = b""
        async for got in with_retries(attempt, request.settings.retry or self._retry, self._clock, self._random):
            answer = got if isinstance(got, bytes) else b""
        try:
            count = as_object(msgspec.json.decode(answer)).get(field)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            count = None
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise MalformedResponseError(f"{self._who} answered without a count in {field!r}; check base_url")
        return count

    async def _refusal(self, exchange: Exchange, headers: RequestHeaders) -> ProviderError:
        try:
            body = await exchange.read_all()
        except ModelError:  # the status says enough
            body = b""
        retry_after = parse_retry_after(exchange.headers, self._clock.time())
        return error_from_response(
            self._who, exchange.status, exchange.headers, body, secrets=self._secrets(headers), retry_after=retry_after
        )

    def _secrets(self, headers: RequestHeaders) -> list[str]:
        """What a provider may not make an error repeat."""
        return [*headers.secrets(), self._key] if self._key else headers.secrets()


def given_settings(settings: ModelSettings, *names: str) -> dict[str, object]:
    """Those of the named settings that are set."""
    given = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def refuse_settings(settings: ModelSettings, api: str, *names: str) -> None:
    """Raise `UserError` if any of the named settings is set: `api` does not have it."""
    for name in given_settings(settings, *names):
        raise UserError(f"ModelSettings({name}=...) is not available with {api}; leave it out, or pass it in extra_body")


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


def prompt_for(output: OutputSpec) -> str:
    """What asks for an output where the provider cannot be made to enforce its schema."""
    schema = to_json(output.schema).decode()
    return f"Give your final answer as JSON and nothing else, without a code fence. It must fit this JSON Schema:\n{schema}"


def merge_extra_body(fields: dict[str, object], settings: ModelSettings, *own: str) -> None:
    """Merge `extra_body` into `fields`. Raises `UserError` if it holds one of the fields that are the run's `own`."""
    for name in own:
        if name in (settings.extra_body or ()):
            raise UserError(f"extra_body holds {name!r}, which are the run's own; pass them as input or instructions")
    fields.update(settings.extra_body or {})


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        check_header(f"the header {name!r}", value)
    return {name.lower(): value for name, value in headers.items()}


def _may_be_events(headers: Mapping[str, str]) -> bool:
    """Whether the body can be an event stream: some servers name no content type, or a wrong one that is not JSON or HTML."""
    kind = headers.get("content-type", "")
    return "json" not in kind and "html" not in kind
