"""`Transport`: the port through which requests are sent, its `Reply`, and the deadlines of one attempt.

Nothing here knows an HTTP library. The built-in implementation is in `httpx_transport`; a user may pass another one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from typing import Protocol

from agentsdk.types.declared import Fields, number, optional
from agentsdk.types.errors import ModelError, ModelTimeoutError, UserError

MAX_BODY_BYTES = 64 * 1024 * 1024
"""How large the body of a response may be; of an error's body, far less is read."""
END_GRACE = 0.02
"""Seconds in which the end of a body may follow once all that is needed has come; where it comes, it comes at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelTimeouts:
    """Deadlines of one request attempt in seconds; None is no deadline.

    `pool`: to wait until a connection is free, where all are in use. `connect`: to open a connection. `read`: silence on the
    socket, of any kind. `idle`: a stream without an event that carries data (comments and pings do not count, nor does time in
    which the stream is not read). `total`: from sending to the end of the response, without the wait for a connection.
    Raises `UserError` for what is no number above 0.
    """

    pool: float | None = 600.0
    connect: float | None = 10.0
    read: float | None = 600.0
    idle: float | None = 300.0
    total: float | None = 1800.0

    def __post_init__(self) -> None:
        _TIMEOUTS.check(self)


_DEADLINE = optional(number("finite seconds above 0", above=0))
_TIMEOUTS = Fields("ModelTimeouts", pool=_DEADLINE, connect=_DEADLINE, read=_DEADLINE, idle=_DEADLINE, total=_DEADLINE)


class Reply(Protocol):
    """A response whose body is still to be read. `headers` finds names in lower case."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body's bytes as they come, content encodings undone. Called once."""
        ...

    async def aclose(self) -> None:
        """Close the connection, unless the body was read to its end. Raises only a cancellation, and that when it is done."""
        ...


class Transport(Protocol):
    """Sends requests. Give one as `http_client=` to use another HTTP library than httpx.

    `post` and `get`, each an `async def`, and the reply's `chunks` may raise anything: `failure` says what it means. Redirects
    must not be followed.
    """

    def post(self, url: str, headers: Mapping[str, str], body: bytes, timeouts: ModelTimeouts) -> Awaitable[Reply]:
        """Send the request; return when the headers of the response are there. Keeps `timeouts.connect` and `.read`."""
        ...

    def get(self, url: str, headers: Mapping[str, str], timeouts: ModelTimeouts) -> Awaitable[Reply]:
        """The same for a GET request, which resumes a background reply."""
        ...

    def failure(self, error: Exception) -> ModelError | UserError:
        """The typed error for what `post` or `chunks` raised."""
        ...


def deadline_error(which: str) -> ModelTimeoutError:
    """The error for a deadline that passed: `which` is `"idle"`, `"pool"` or `"total"`."""
    if which == "idle":
        return ModelTimeoutError(
            "the stream sent no data within the idle deadline; raise ModelTimeouts(idle=...) if the model needs longer",
            retryable=True,
        )
    if which == "pool":
        return ModelTimeoutError(
            "all connections were in use for the whole pool deadline; raise ModelTimeouts(pool=...), or the number of "
            "connections: set_max_connections(...), or httpx.Limits(max_connections=...) of an http_client of your own"
        )
    return ModelTimeoutError("the response was not complete within the total deadline; raise ModelTimeouts(total=...)")
