"""Credentials that are renewed: asked for once, however many requests wait for them, and never on the event loop's thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Generic, NamedTuple, TypeVar, cast

from agentsdk.models.auth import AuthRequest
from agentsdk.models.network import check_header
from agentsdk.types.errors import AgentsException

T = TypeVar("T")
_EARLY = 300.0  # seconds before its end that a token is replaced: it must last for the request, and clocks differ


@contextmanager
def typed_by(typed: Callable[[Exception], Exception]) -> Generator[None]:
    """Raise what `typed` makes of an error that is none of this package's."""
    try:
        yield
    except AgentsException:
        raise
    except Exception as error:
        raise typed(error) from error


class AskedOnce(Generic[T]):
    """What `ask` gives: who asks while an answer is awaited gets that one. `ask` may block, and may give an awaitable.

    Whoever goes away leaves the question to the others. It is asked on a thread that no exit waits for.
    """

    def __init__(self, ask: Callable[[], T | Awaitable[T]]) -> None:
        self._ask = ask
        self._asking: dict[asyncio.AbstractEventLoop, asyncio.Task[T]] = {}

    async def __call__(self) -> T:
        """The answer. Raises what `ask` raises."""
        loop = asyncio.get_running_loop()
        task = self._asking.get(loop)
        if task is None:
            task = self._asking[loop] = loop.create_task(self._answer())
            task.add_done_callback(self._answered)
        return await asyncio.shield(task)

    async def _answer(self) -> T:
        given = await _on_a_thread(self._ask)
        return await cast("Awaitable[T]", given) if inspect.isawaitable(given) else given

    def _answered(self, task: asyncio.Task[T]) -> None:
        del self._asking[task.get_loop()]
        if not task.cancelled():
            task.exception()  # nobody may be waiting any more


async def _on_a_thread(ask: Callable[[], T]) -> T:
    future: concurrent.futures.Future[T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(ask())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="agentsdk credentials", daemon=True).start()
    return await asyncio.wrap_future(future)


class Bearer(NamedTuple):
    """A bearer token, the Unix timestamp at which it expires, and headers that go with it."""

    token: str
    expires: float
    beside: tuple[tuple[str, str], ...] = ()


class Bearers:
    """Bearer tokens that `ask` gives. One is kept until 5 minutes before its end, or until a server refuses it."""

    def __init__(self, ask: Callable[[], Bearer | Awaitable[Bearer]]) -> None:
        self._new = AskedOnce(ask)
        self._kept: Bearer | None = None

    async def headers(self, request: AuthRequest) -> dict[str, str]:
        """The headers for a request."""
        kept = self._kept
        if kept is None or kept.expires - _EARLY <= time.time() or request.refused.get("authorization") == _told(kept):
            kept = self._kept = _checked(await self._new())
        return {"authorization": _told(kept), **dict(kept.beside)}


def _checked(given: Bearer) -> Bearer:
    token: object = given.token
    if not isinstance(token, str) or not token or not isinstance(given.expires, int | float):
        raise TypeError("what was given is no token with a time at which it expires")
    check_header("the token", token)
    return given


def _told(bearer: Bearer) -> str:
    return f"Bearer {bearer.token}"
