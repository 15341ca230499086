"""Errors as clients see them: problem details (RFC 9457) made of the error tree.

What the client is to blame for is told in the error's own words, which hold no secrets. Of what went wrong here it learns the
kind only: the words may name hosts and files, and are in the log.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any, cast

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agentsdk.types.errors import (
    AgentsException,
    CallbackError,
    HookError,
    RunConflictError,
    RunNotFoundError,
    StoreBusyError,
    StoreUnavailableError,
    UserError,
)

logger = logging.getLogger("agentsdk")

RETRY_AFTER = 1
"""Seconds after which a client is to try again where the store is away."""

_STATUS: tuple[tuple[type[AgentsException], int], ...] = (  # the first that fits
    (RunNotFoundError, 404),
    (RunConflictError, 409),
    (StoreBusyError, 503),
    (StoreUnavailableError, 503),
    (CallbackError, 500),
    (HookError, 500),
    (UserError, 422),
)
_HERE = "the service failed, expected it to answer; the log of the service says why"
_AWAY = "the store of the runs is busy or away, expected it to answer; send the request again later"


class Problem(msgspec.Struct, frozen=True):
    """Problem details. `error` is the class of the error tree, `""` where the request did not come that far."""

    title: str
    status: int
    detail: str
    error: str = ""
    type: str = "about:blank"


class ProblemError(HTTPException):
    """A request that is refused. `detail` names what was given, what was expected, and the remedy."""


def problem(status: int, detail: str, error: str = "", headers: dict[str, str] | None = None) -> Response:
    """The answer that says so."""
    body = msgspec.json.encode(Problem(HTTPStatus(status).phrase, status, detail, error))
    return Response(body, status, {"cache-control": "no-store", **(headers or {})}, "application/problem+json")


async def refused(request: Request, error: Exception) -> Response:
    """The answer to a request that Starlette or `ProblemError` refuses."""
    given = cast(HTTPException, error)
    detail = given.detail
    if not isinstance(error, ProblemError):
        detail = f"{request.method} {request.url.path} is not served, expected a path and a method of /openapi.json"
    return problem(given.status_code, detail, headers=dict(given.headers or {}))


def told_of(error: AgentsException) -> tuple[int, str]:
    """The status of an error, and what its client is told of it."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return status, str(error) if status < 500 else _AWAY if status == 503 else _HERE


async def failed(request: Request, error: Exception) -> Response:
    """The answer to a request for which an `AgentsException` was raised."""
    given = cast(AgentsException, error)
    name, (status, told) = type(error).__name__, told_of(given)
    if status >= 500:
        logger.error("%s %s failed with %s: %s", request.method, request.url.path, name, error, exc_info=error)
    return problem(status, told, name, {"retry-after": str(RETRY_AFTER)} if status == 503 else None)


async def crashed(request: Request, error: Exception) -> Response:
    """The answer where anything else was raised, which Starlette raises on, for the server's log."""
    return problem(500, _HERE)


HANDLERS: Any = {HTTPException: refused, AgentsException: failed, Exception: crashed}
"""What an application answers where its handlers raise."""
