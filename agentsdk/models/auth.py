"""`auth=`: what gives each request its credentials where a key that never changes does not do: tokens that expire, signatures.

It is a callable, sync or async, that gets an `AuthRequest` and returns headers to add. It is asked for every attempt. Where the
server answers that the credentials have expired, it is asked once more with `refresh` set, and the request is sent again once.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from agentsdk.models.network import RequestHeaders, check_header
from agentsdk.models.prefix import Body, sha256_of
from agentsdk.types.errors import AgentsException, AuthenticationError, ModelTimeoutError, UserError


class AuthRequest:
    """A request that is about to be sent. Its headers and body may hold secrets: nothing prints them.

    `refresh`: the server has just answered that the credentials of the same request have expired.
    """

    __slots__ = ("_body", "_headers", "_refused", "method", "refresh", "url")

    def __init__(
        self,
        method: str,
        url: str,
        headers: RequestHeaders,
        body: Body | None,
        *,
        refresh: bool = False,
        refused: RequestHeaders | None = None,
    ) -> None:
        self.method = method
        self.url = url
        self.refresh = refresh
        self._headers = headers
        self._body = body
        self._refused = refused

    def __repr__(self) -> str:
        return f"AuthRequest({self.method!r}, {self.url!r}, refresh={self.refresh})"

    @property
    def headers(self) -> dict[str, str]:
        """The headers so far, names in lower case. Host and length are added when it is sent."""
        return self._headers.plain()

    @property
    def refused(self) -> dict[str, str]:
        """The headers that the server has just refused, where `refresh` is set: what is kept may be a newer one already."""
        return {} if self._refused is None else self._refused.plain()

    @property
    def body(self) -> bytes:
        """The body, `b""` for a GET request. A large one is put together only when it is asked for."""
        return b"" if self._body is None else bytes(self._body)

    @property
    def digest(self) -> str:
        """The SHA-256 of the body, in hex, as signatures want it. No body is put together for it."""
        return sha256_of(b"" if self._body is None else self._body)


Auth = Callable[[AuthRequest], "Mapping[str, str] | Awaitable[Mapping[str, str]]"]
"""What `auth=` takes."""


async def authorized(
    auth: Auth, who: str, request: AuthRequest, headers: RequestHeaders, within: float | None
) -> RequestHeaders:
    """`headers` with those that `auth` gives for `request`; it may take `within` seconds.

    Raises `AuthenticationError` where it raises, unless that is an error of ours, and `UserError` for what are no headers.
    """
    deadline = asyncio.timeout(within)
    try:
        async with deadline:
            given = auth(request)
            added = headers.adding(_checked(await given if inspect.isawaitable(given) else given))
    except AgentsException:
        raise
    except Exception as error:
        if deadline.expired():
            raise ModelTimeoutError(f"auth= of {who} gave nothing within the read deadline; see what it waits for") from None
        raise AuthenticationError(f"auth= of {who} raised {type(error).__name__}; the cause says what it lacks") from error
    return added


def says_expired(error: AuthenticationError) -> bool:
    """Whether new credentials may be taken: the server did not know who asks, or says that they have expired."""
    return error.status == 401 or (error.status is not None and "expired" in f"{error.code} {error}".lower())


def _checked(given: object) -> dict[str, str]:
    """`given` if it can be sent. The errors show no value."""
    if not isinstance(given, Mapping):
        raise UserError(f"auth= returned {type(given).__name__}, expected a dict of headers; return {{'authorization': ...}}")
    headers: dict[str, str] = {}
    for name, value in cast("Mapping[object, object]", given).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UserError("auth= returned a header that is no text, expected names and values that are; convert them")
        check_header(f"the header {name!r} of auth=", value)
        headers[name.lower()] = value
    return headers
