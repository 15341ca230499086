"""`HttpModel`: what every provider's adapter shares. One request, retried or refused with a typed error; a reply proven whole.

```
HttpModel (address, key, headers, retries, errors) -> Exchange -> EventStream -> Assembler (the protocol) -> ModelResponse
```
An adapter is a subclass that writes the request's body, and an `Assembler` that reads the reply.
"""

from __future__ import annotations

import os
import random as _random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, structs

from agentsdk.models.errors import ErrorInReply, error_from_object, error_from_response
from agentsdk.models.http import EventStream, Exchange, ModelTimeouts, Transport, as_transport
from agentsdk.models.loose import as_object
from agentsdk.models.network import check_header, check_url
from agentsdk.models.prefix import to_json
from agentsdk.models.rate_headers import nothing_left_for
from agentsdk.models.retry import SystemClock, parse_retry_after, with_retries
from agentsdk.models.sse import ServerSentEvent
from agentsdk.ports.clock import Clock, wait_idle
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
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

if TYPE_CHECKING:
    import httpx

# How long the last of a finished reply (its usage) may lag, when the server neither sends it nor ends the stream.
_END_GRACE = 1.0
_CACHED_TOOLS = 64


class Assembler(Protocol):
    """Puts one reply together. Its methods raise `ModelError`s, and `ErrorInReply` for an error that the provider tells."""

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

    def add_event(self, event: ServerSentEvent) -> Sequence[ModelStreamEvent] | None:
        """Take an event of a stream; the deltas it makes, or None at the protocol's own end mark."""
        ...

    def add_whole(self, body: bytes) -> None:
        """Take a reply that came in one piece."""
        ...

    def response(self) -> ModelResponse:
        """The reply, if it is proven whole. Raises a `ModelError` if it is not."""
        ...

    def done_events(self, response: ModelResponse) -> list[ModelStreamEvent]:
        """What a stream ends with: the items of `response` that no event has shown whole yet."""
        ...


class HttpModel(ABC):
    """A model behind an HTTP API. What the arguments mean stands at each adapter.

    The key of the environment goes only to the `base_url` of the environment, or the provider's own.
    """

    _default_base_url: ClassVar[str]
    _base_url_variable: ClassVar[str]
    """The environment variable that names another `base_url`."""
    _key_variables: ClassVar[tuple[str, ...]]
    """The environment variables that may hold the key; the first that is set counts."""

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
        clock: Clock | None = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        home = check_url(os.environ.get(self._base_url_variable) or self._default_base_url)
        self.name = model
        self.base_url = home if base_url is None else check_url(base_url)
        if api_key is None and _origin(self.base_url) == _origin(home):
            api_key = next(filter(None, map(os.environ.get, self._key_variables)), None)
        host = urlsplit(self.base_url).netloc
        self.provider = provider or host
        self._key = api_key or ""
        self._at_home = _origin(self.base_url) == _origin(self._default_base_url)
        self._who = f"model {model!r} at {host!r}"
        if self._key:
            check_header("api_key", self._key)
        self._headers = {
            "content-type": "application/json",
            "user-agent": "agentsdk",
            **self._auth_headers(self._key),
            **_checked_headers(headers or {}),
        }
        self._transport = as_transport(http_client)
        self._timeouts = timeouts or ModelTimeouts()
        self._retry = retry or ModelRetrySettings()
        self._clock = clock or SystemClock()
        self._random = random
        self._closed_until = 0.0  # Unix time until which nothing remains of a rate limit
        self._tools: dict[int, tuple[Sequence[ToolSpec | HandoffSpec], Raw]] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.base_url!r})"

    @abstractmethod
    def body(self, request: ModelRequest) -> bytes:
        """The request's body. Raises `UserError` for what the API cannot carry."""

    @abstractmethod
    def _url_for(self, request: ModelRequest) -> str:
        """Where the request goes."""

    @abstractmethod
    def _auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry `key` (`""`: there is none), and what else every request of this API needs."""

    @abstractmethod
    def _assembler(self, request: ModelRequest) -> Assembler:
        """What reads the reply."""

    @abstractmethod
    def _encode_tools(self, tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
        """The tools as JSON."""

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

    def _headers_for(self, request: ModelRequest) -> dict[str, str]:
        if self._at_home and not self._key:
            raise UserError(
                f"no key for {self._who}: set the environment variable {' or '.join(self._key_variables)} or pass api_key=; "
                "for another server pass base_url="
            )
        headers = {**self._headers, "accept": "text/event-stream" if request.stream else "application/json"}
        if request.request_id:
            headers["idempotency-key"] = request.request_id
        if request.settings.extra_headers:
            headers.update(_checked_headers(request.settings.extra_headers))
        return headers

    def _attempt(
        self, request: ModelRequest, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """The events of one attempt."""
        return self._receive(request, self._assembler(request), self._url_for(request), headers, body)

    async def _receive(
        self, request: ModelRequest, assembler: Assembler, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[ModelStreamEvent, None]:
        """Send the request (`body` None: GET), and put its answer together to the end."""
        streamed = request.stream
        async with await self._send(request, url, headers, body) as exchange:
            try:
                if streamed and _may_be_events(exchange.headers):
                    stream = EventStream(exchange)
                    while not assembler.complete and (events := await stream.read()):
                        for event in events:
                            try:
                                deltas = assembler.add_event(event)
                            except MalformedResponseError:
                                if not stream.done:
                                    raise
                                deltas = None  # the end of the body cut this event
                            if deltas is None:
                                stream.done = True
                                break
                            for delta in deltas:
                                yield delta
                        if assembler.finished:
                            exchange.end_within(_END_GRACE)
                else:
                    assembler.add_whole(await exchange.read_all())
                response = assembler.response()
            except ErrorInReply as told:
                raise error_from_object(self._who, told.data, secret=self._key) from None
            except ModelConnectionError as error:
                if not assembler.begun:
                    raise
                message = f"the connection to {self._who} broke in mid-reply"
                raise IncompleteResponseError(message, partial=assembler.text) from error
            await exchange.finish()
        if streamed:
            for delta in assembler.done_events(response):
                yield delta
        yield ResponseCompleted(response)

    async def _send(self, request: ModelRequest, url: str, headers: Mapping[str, str], body: bytes | None) -> Exchange:
        """Send one attempt, and return its answer if it is none of an error."""
        settings = request.settings.retry or self._retry
        if settings.heed_limits and (wait := self._closed_until - self._clock.time()) > 0:
            await wait_idle(self._clock, min(wait, settings.max_retry_after))
        exchange = await Exchange.start(self._transport, url, headers, body, self._timeouts, stream=request.stream)
        if settings.heed_limits:
            now = self._clock.time()
            self._closed_until = max(self._closed_until, now + nothing_left_for(exchange.headers, now))
        if not 200 <= exchange.status < 300:
            async with exchange:
                raise await self._refusal(exchange)
        return exchange

    async def _count(self, request: ModelRequest, url: str, body: bytes, field: str) -> int:
        """The number that the provider's counting endpoint at `url` answers in `field`. Raises like `stream`."""
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

    async def _refusal(self, exchange: Exchange) -> ProviderError:
        try:
            body = await exchange.read_all()
        except ModelError:  # the status says enough
            body = b""
        retry_after = parse_retry_after(exchange.headers, self._clock.time())
        return error_from_response(
            self._who, exchange.status, exchange.headers, body, secret=self._key, retry_after=retry_after
        )


def given_settings(settings: ModelSettings, *names: str) -> dict[str, object]:
    """Those of the named settings that are set."""
    given = {name: getattr(settings, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def refuse_settings(settings: ModelSettings, api: str, *names: str) -> None:
    """Raise `UserError` if any of the named settings is set: `api` does not have it."""
    for name in given_settings(settings, *names):
        raise UserError(f"ModelSettings({name}=...) is not available with {api}; leave it out, or pass it in extra_body")


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
