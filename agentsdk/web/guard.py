"""`Guard`: who makes a request, and whether that one may make it now."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable

from starlette.requests import Request
from starlette.responses import Response

from agentsdk.engine.callbacks import call_user
from agentsdk.types.errors import CallbackError
from agentsdk.types.signals import Decision
from agentsdk.web.caller import Authenticate, Caller
from agentsdk.web.event_stream import Streams
from agentsdk.web.limits import Client, Rates, WebLimits
from agentsdk.web.problems import ProblemError

Handler = Callable[[Request, "Caller | None"], Awaitable[Response]]
"""Answers a request; `Caller` is None where nobody is asked who they are."""


class Guard:
    """Stands before the handlers of an application; `where` names that in errors."""

    def __init__(self, where: str, authenticate: Authenticate | None, limits: WebLimits) -> None:
        self.streams = Streams()
        self._where = where
        self._authenticate = authenticate
        self._limits = limits
        self._rates = Rates(limits, time.monotonic)

    async def answer(self, handler: Handler, request: Request) -> Response:
        """The answer of `handler` to a request of somebody who may make it. Raises `ProblemError`."""
        caller: Caller | None = None
        if self._authenticate is not None:
            caller = await call_user(f"authenticate of a {self._where}", self._authenticate, request)
            if caller is None:
                challenge = {"www-authenticate": "Bearer", "connection": "close"}
                raise ProblemError(401, "the request is nobody's that is known, expected credentials; send yours", challenge)
            if not isinstance(caller, Caller):
                raise CallbackError(f"authenticate returned a {type(caller).__name__!r}, expected a Caller or None; return one")
        wait = self._rates.wait(client_of(caller))
        if wait > 0:
            headers = {"retry-after": str(math.ceil(wait)), "connection": "close"}
            raise ProblemError(429, "the requests come too fast, expected fewer a second; wait as retry-after says", headers)
        return await handler(request, caller)

    def require_stream(self, caller: Caller | None) -> None:
        """Raises `ProblemError` for a client that has as many streams open as it may."""
        if self.streams.of(client_of(caller)) >= self._limits.streams:
            headers = {"retry-after": str(math.ceil(self._limits.ping_seconds))}
            raise ProblemError(429, f"{self._limits.streams} streams are open, expected fewer; close one of them", headers)


def require_may_decide(caller: Caller | None, decisions: Iterable[Decision]) -> None:
    """Raises `ProblemError` where one that may only answer decides."""
    if caller is not None and not caller.may_decide and any(decision.action != "answer" for decision in decisions):
        raise ProblemError(403, "this user may not decide on calls, expected one who may (Caller.may_decide); ask one of them")


def client_of(caller: Caller | None) -> Client:
    """Whom the limits are of."""
    return ("", "") if caller is None else (caller.tenant, caller.user)
