"""`HttpEndpoint`: an address, its key and headers, and how a request is sent there, retried, and fails with a typed error.

What answers there is for its subclasses: a model (`HttpModel`), or a server of embeddings.
"""

from __future__ import annotations

import inspect
import os
import random as _random
from collections.abc import AsyncGenerator, Mapping
from typing import ClassVar, Unpack
from urllib.parse import urlsplit

from agentsdk.core.keys import header_key
from agentsdk.models.auth import Auth, AuthRequest, authorized, says_expired
from agentsdk.models.errors import error_from_response
from agentsdk.models.exchange import Exchange
from agentsdk.models.httpx_transport import as_transport
from agentsdk.models.known import key_hint
from agentsdk.models.network import RequestHeaders, check_header, check_url
from agentsdk.models.options import HttpModelOptions, check_options, two_credentials
from agentsdk.models.prefix import Body
from agentsdk.models.rate_headers import rate_limit_wait
from agentsdk.models.retry import SystemClock, parse_retry_after, with_retries
from agentsdk.models.transport import ModelTimeouts
from agentsdk.ports.clock import wait_idle
from agentsdk.types.errors import AuthenticationError, ModelError, ProviderError, UserError
from agentsdk.types.settings import ModelRetrySettings
from agentsdk.types.signature import full_signature


class HttpEndpoint:
    """An HTTP API. `HttpModelOptions` says what the options mean."""

    _default_base_url: ClassVar[str]
    _base_url_variable: ClassVar[str]
    """The environment variable that names another `base_url`."""
    _key_variables: ClassVar[tuple[str, ...]]
    """The environment variables that may hold the key; the first that is set counts."""
    _models_path: ClassVar[str] = "/models"
    """Where the API lists its models, behind `base_url`; `""` where it has no list."""

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
        self._auth: Auth | None = options.get("auth")
        self._set_address(options.get("base_url"), options.get("api_key") if self._auth is None else "")
        self.provider = options.get("provider") or urlsplit(self.base_url).netloc
        given = _checked_headers(options.get("headers") or {})
        sent_in = {"authorization"} if self._auth else self._key_headers() if options.get("api_key") else ()
        for name in given.keys() & sent_in:
            other = "auth=..." if self._auth else "api_key=..."
            raise two_credentials(type(self).__name__, other, f"headers={{{name!r}: ...}}")
        self._headers = {
            "content-type": "application/json",
            "user-agent": "agentsdk",
            **self._auth_headers(self._key),
            **given,
        }
        self._transport = as_transport(options.get("http_client"))
        self._timeouts = options.get("timeouts") or ModelTimeouts()
        self._retry = options.get("retry") or ModelRetrySettings()
        clock, random = options.get("clock"), options.get("random")
        self._clock = SystemClock() if clock is None else clock
        self._random = _random.random if random is None else random
        self._rate_limited_until = 0.0  # Unix timestamp until which nothing remains of a rate limit

    def _set_address(self, base_url: str | None, api_key: str | None) -> None:
        """Where requests go, and the key for it. A key of the environment goes nowhere else than it was meant for."""
        own = self._home()
        home = os.environ.get(self._base_url_variable) or own
        if not home and base_url is None:
            raise self._no_address()
        self.base_url = check_url(home if base_url is None else base_url)
        self._is_own_address = bool(home) and _origin(self.base_url) == _origin(check_url(home))
        if api_key is None and self._is_own_address:
            api_key = next(filter(None, map(os.environ.get, self._key_variables)), None)
        self._key = api_key or ""
        if self._key:
            check_header("api_key", self._key)
        self._at_home = bool(own) and _origin(self.base_url) == _origin(own)
        self._who = f"model {self.name!r} at {urlsplit(self.base_url).netloc!r}"

    def _home(self) -> str:
        """The provider's own server; `""` where nothing says which."""
        return self._default_base_url

    def _no_address(self) -> UserError:
        """The error where nothing says where requests go."""
        return UserError(f"model {self.name!r} has no address, expected it in {self._base_url_variable}; set that variable")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self.base_url!r})"

    def _auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry `key` (`""`: there is none), and what else every request of this API needs."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _key_headers(self) -> set[str]:
        """The names of the headers that a key is sent in."""
        return self._auth_headers("key").keys() - self._auth_headers("").keys()

    @property
    def _has_credential(self) -> bool:
        """Whether anything says who asks: a key, `auth`, or a header that was given."""
        named = self._key_headers() | {"authorization"}
        return bool(self._key) or self._auth is not None or not named.isdisjoint(self._headers)

    def _headers_with(
        self, *, accept: str = "application/json", request_id: str = "", extra: Mapping[str, str] | None = None
    ) -> RequestHeaders:
        """The headers of a request. Raises `UserError` where the key is missing."""
        if self._at_home and not self._has_credential:
            variables = " or ".join(self._key_variables)
            remedy = f"set the environment variable {variables} or pass api_key=" if variables else "pass auth= or api_key="
            hint = key_hint(*self._key_variables) if variables else ""
            raise UserError(f"no key for {self._who}: {remedy}; for another server pass base_url={hint}")
        more = {"accept": accept}
        if request_id:
            more["idempotency-key"] = header_key(request_id)
        return RequestHeaders({**self._headers, **more, **_checked_headers(extra or {})})

    async def _send(
        self, url: str, headers: RequestHeaders, body: Body | None, settings: ModelRetrySettings, *, stream: bool = False
    ) -> Exchange:
        """Send one attempt, and return the response unless it is an error. Credentials that have expired are renewed once."""
        if settings.respect_rate_limits and (wait := self._rate_limited_until - self._clock.time()) > 0:
            await wait_idle(self._clock, min(wait, settings.max_retry_after))
        if self._auth is None:
            return await self._send_once(url, headers, body, settings, stream=stream)
        request = AuthRequest("GET" if body is None else "POST", url, headers, body)
        sent = await authorized(self._auth, self._who, request, headers, self._timeouts.read)
        try:
            return await self._send_once(url, sent, body, settings, stream=stream)
        except AuthenticationError as error:
            if not says_expired(error):
                raise
        again = AuthRequest(request.method, url, headers, body, refresh=True, refused=sent)
        sent = await authorized(self._auth, self._who, again, headers, self._timeouts.read)
        return await self._send_once(url, sent, body, settings, stream=stream)

    async def _send_once(
        self, url: str, headers: RequestHeaders, body: Body | None, settings: ModelRetrySettings, *, stream: bool
    ) -> Exchange:
        exchange = await Exchange.start(self._transport, url, headers, body, self._timeouts, stream=stream)
        if settings.respect_rate_limits:
            now = self._clock.time()
            self._rate_limited_until = max(self._rate_limited_until, now + rate_limit_wait(exchange.headers, now))
        if not 200 <= exchange.status < 300:
            async with exchange:
                raise await self._refusal(exchange)
        return exchange

    async def _post(self, url: str, headers: RequestHeaders, body: Body, settings: ModelRetrySettings) -> bytes:
        """The body of the answer to one request, which is tried again as `settings` say."""

        async def attempt() -> AsyncGenerator[bytes, None]:
            async with await self._send(url, headers, body, settings) as exchange:
                yield await exchange.read_all()

        answer = b""
        async for got in with_retries(attempt, settings, self._clock, self._random):
            answer = got if isinstance(got, bytes) else b""
        return answer

    async def ask_for_models(self) -> None:
        """Ask the server for its list of models: it costs nothing, and says whether the server answers and takes the key.

        Raises `ModelError`s, as a request does, and `UserError` where the API has no list, or no key is known.
        """
        if not (url := self._models_url()):
            raise UserError(f"{self._who} cannot be asked for its models, as its API has no list; send it a request")
        async with await self._send(url, self._headers_with(), None, self._retry) as exchange:
            await exchange.read_all()

    def _models_url(self) -> str:
        """Where the list of models is; `""` where there is none."""
        return f"{self.base_url}{self._models_path}" if self._models_path else ""

    async def _refusal(self, exchange: Exchange) -> ProviderError:
        try:
            body = await exchange.read_all()
        except ModelError:  # the status says enough
            body = b""
        retry_after = parse_retry_after(exchange.headers, self._clock.time())
        return error_from_response(
            self._who, exchange.status, exchange.headers, body, secrets=self._secrets(exchange), retry_after=retry_after
        )

    def _secrets(self, exchange: Exchange) -> list[str]:
        """What a provider may not make an error repeat."""
        return [*exchange.sent.secrets(), self._key] if self._key else exchange.sent.secrets()


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        check_header(f"the header {name!r}", value)
    return {name.lower(): value for name, value in headers.items()}
