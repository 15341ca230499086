"""Redis for stores and sessions: connections for each event loop, atomic scripts, typed errors. Alone knows redis-py.

redis-py's own client sends a command again when its connection breaks, also one that was done. So only its connections are
used here: a command goes out once.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import hashlib
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from agentsdk.databases.finished import finished
from agentsdk.databases.shared_pools import SharedPools
from agentsdk.types.declared import is_real, shown
from agentsdk.types.errors import StoreBusyError, StoreError, StoreUnavailableError, UserError

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")
Word = bytes | str | int

_MAX_CONNECTIONS = 50


class Connection(Protocol):
    """What is used of a connection of redis-py."""

    @property
    def is_connected(self) -> bool: ...

    async def disconnect(self, nowait: bool = False) -> None: ...

    async def send_command(self, *words: Word) -> None: ...

    async def read_response(
        self, disable_decoding: bool, timeout: float | None = None, *, push_request: bool = False
    ) -> object: ...


class Pool(Protocol):
    """What is used of a pool of redis-py."""

    @property
    def connection_kwargs(self) -> Mapping[str, object]: ...

    def make_connection(self) -> object: ...

    async def get_connection(self) -> Connection: ...

    async def release(self, connection: Connection) -> None: ...

    async def aclose(self) -> None: ...


class Script:
    """A Lua script: the server runs it to its end, with nothing in between.

    What it has written stays written if it fails midway, so it reads every key it will write to before it writes: a key of
    another type ends it there. A server that is out of memory refuses the first write, or none.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class RedisDatabase:
    """One Redis as a store or session uses it: works on any event loop and after a fork, connects when first needed.

    All users of one URL on one event loop share a pool. It closes when the last of them has closed, or with the loop. Of a
    client given instead of a URL the pool is used; it works on the client's loop, and is the caller's to close.

    `number` is the database's, of several in one server. A call may take `timeout` seconds. Raises `UserError` for what is
    neither URL nor client, and without the package `redis`.
    """

    def __init__(self, url_or_client: str | Redis, *, timeout: float) -> None:
        if not (is_real(timeout) and timeout > 0):
            raise UserError(f"timeout is {shown(timeout)}, expected more than 0 seconds")
        self._url = url_or_client if isinstance(url_or_client, str) else ""
        self._given = None if isinstance(url_or_client, str) else _pool_of(url_or_client)
        self._place = _place_of_url(self._url) if self._given is None else _place_of(self._given)
        self._timeout = timeout
        self._closed = False
        self.number = self._place.rpartition("/")[2]

    def __repr__(self) -> str:
        return f"Redis at {self._place!r}"

    async def call(self, script: Script, keys: Sequence[bytes], *args: Word) -> object:
        """What `script` returns: None, an int, bytes, or a list of those. Raises `StoreError`s.

        A caller that is cancelled goes on only once the script is known to have run or not, or the time is over.
        """

        async def run(connection: Connection) -> object:
            from redis.exceptions import NoScriptError

            words = (len(keys), *keys, *args)
            try:
                return await _ask(connection, "EVALSHA", script.sha, *words)
            except NoScriptError:
                return await _ask(connection, "EVAL", script.text, *words)

        return await self._run(run)

    async def settings(self, pattern: str) -> dict[str, str]:
        """The server's settings whose names fit `pattern`. Raises `StoreError` where it does not let them be read."""
        reply = await self._run(lambda connection: _ask(connection, "CONFIG", "GET", pattern))
        if isinstance(reply, dict):  # as the newer protocol has it, which a given client may speak
            found = cast("dict[bytes, bytes]", reply)
        else:
            words = iter(cast("list[bytes]", reply))
            found = dict(zip(words, words, strict=True))
        return {name.decode(): value.decode() for name, value in found.items()}

    async def listen(self, channel: bytes, on_message: Callable[[str], None], on_lost: Callable[[], None]) -> Listening:
        """Call `on_message` with what is published on `channel` from now on, and `on_lost` when the connection is.

        The connection is one of the pool's. Raises `StoreError`s.
        """
        if self._closed:
            raise self._is_closed()
        try:
            async with asyncio.timeout(self._timeout):
                pool = await self._pool()
                connection = await pool.get_connection()
                try:
                    await connection.send_command("SUBSCRIBE", channel)
                    await _next_message(connection)
                except BaseException:
                    await _drop(pool, connection)
                    raise
        except Exception as error:
            raise self._explained(error) from error
        return Listening(pool, connection, on_message, on_lost, self._timeout)

    def another(self) -> RedisDatabase:
        """The same for one store or session more. To be closed by itself."""
        return copy.copy(self)

    async def aclose(self) -> None:
        """Release the running loop's pool; a second call does nothing. Other loops' pools close with their loops."""
        self._closed = True
        if self._given is None:
            await _pools.let_go(self._url, self)

    async def _run(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        if self._closed:
            raise self._is_closed()
        return await finished(asyncio.ensure_future(self._attempt(job)))

    async def _attempt(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                pool = await self._pool()
                connection = await pool.get_connection()
                writer: asyncio.StreamWriter | None = getattr(connection, "_writer", None)
                try:
                    return await job(connection)
                finally:
                    if writer is not None and not connection.is_connected:
                        writer.transport.abort()  # what was not sent yet would hold the socket while the server hangs
                    await pool.release(connection)
        except Exception as error:
            raise self._explained(error) from error

    async def _pool(self) -> Pool:
        if self._given is not None:
            return self._given

        async def make() -> Pool:
            return _new_pool(self._url)

        return await _pools.get(self._url, self, make)

    def _is_closed(self) -> StoreError:
        return StoreError(f"{self!r} was closed; make a new store or session")

    def _explained(self, error: Exception) -> StoreError:
        from redis import exceptions as redis

        if isinstance(error, TimeoutError | redis.TimeoutError):
            return StoreUnavailableError(
                f"{self!r} did not answer within {self._timeout:g} s; check it and the network, or raise timeout"
            )
        message = f"{type(error).__name__} {error}"
        for words, (kind, remedy) in _REMEDIES.items():
            if re.search(rf"\b({words})\b", message):
                return kind(f"{self!r} {remedy} ({type(error).__name__})")
        if isinstance(error, OSError | redis.ConnectionError):
            return StoreUnavailableError(
                f"{self!r} cannot be reached, or the connection broke; check the url, the server and the network "
                f"({type(error).__name__})"
            )
        return StoreError(f"{self!r} failed, expected Redis 6 or later, our keys in it; see the cause ({type(error).__name__})")


# By words of what redis-py raises: the class it makes of some of the server's codes, and the others as the server says them.
_REMEDIES: dict[str, tuple[type[StoreError], str]] = {
    "AuthenticationError|AuthorizationError|NOAUTH|WRONGPASS|invalid password": (
        StoreError,
        "refuses the user or the password; check the url, and who may connect",
    ),
    "BusyLoadingError|LOADING": (StoreBusyError, "is still loading its data; try again"),
    "BUSY": (StoreBusyError, "is busy with somebody's script; end that, or try again"),
    "ReadOnlyError|READONLY": (StoreUnavailableError, "may only be read; give the url of the primary server"),
    "MASTERDOWN|MasterDownError|CLUSTERDOWN|ClusterDownError": (
        StoreUnavailableError,
        "has lost its primary server; wait until there is one again",
    ),
    "NOREPLICAS": (StoreUnavailableError, "has too few replicas to write; bring them back, and try again"),
    "OutOfMemoryError|OOM": (StoreError, "is out of memory, and nothing was changed; raise maxmemory, or prune old runs"),
    "MISCONF": (StoreError, "cannot write to its disk, and nothing was changed; make room there"),
    "WRONGTYPE": (StoreError, "has a key of ours with another type, and nothing was changed; use another prefix"),
    "NEWERVERSION": (StoreError, "has runs of a newer version; use the agentsdk that wrote them, or another prefix"),
    "NoPermissionError|NOPERM": (StoreError, "does not let this user do that; grant it the keys of the prefix, and scripts"),
    "MOVED|MovedError|ASK|AskError|CROSSSLOT|ClusterCrossSlotError": (
        StoreError,
        "is a node of a cluster that does not hold these keys; give the url of the one that does",
    ),
    "DB index": (StoreError, "has no database of this number; check the url"),
}


async def _ask(connection: Connection, *words: Word) -> object:
    await connection.send_command(*words)
    return await connection.read_response(disable_decoding=True)


class Listening:
    """A connection that has subscribed to a channel, and the task that reads it, until it is closed or lost."""

    def __init__(
        self,
        pool: Pool,
        connection: Connection,
        on_message: Callable[[str], None],
        on_lost: Callable[[], None],
        timeout: float,
    ) -> None:
        self._pool = pool
        self._connection = connection
        self._on_message = on_message
        self._on_lost = on_lost
        self._timeout = timeout
        self._closed = False
        self._task = asyncio.create_task(self._read(), name="agentsdk RedisRunStore.wait")

    def is_open(self) -> bool:
        """Whether it was neither closed nor lost."""
        return not (self._closed or self._task.done())

    async def aclose(self) -> None:
        """Unsubscribe, and give the connection back; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if not self._task.done():
            with suppress(Exception):
                await self._connection.send_command("UNSUBSCRIBE")
                await asyncio.wait((self._task,), timeout=self._timeout)
        if self._task.done() and not self._task.cancelled() and self._task.result():
            await self._pool.release(self._connection)
        else:
            self._task.cancel()
            await asyncio.wait((self._task,))
            await _drop(self._pool, self._connection)

    async def _read(self) -> bool:
        """Whether it has read all until it was unsubscribed."""
        while True:
            try:
                kind, _, data = await _next_message(self._connection)
            except Exception:
                if not self._closed:
                    self._on_lost()
                return False
            if kind == b"message" and isinstance(data, bytes):
                self._on_message(data.decode("utf-8", "replace"))
            elif kind == b"unsubscribe":
                return True


async def _next_message(connection: Connection) -> Sequence[object]:
    """What a connection that subscribes receives next, however long that takes."""
    message = await connection.read_response(True, timeout=math.inf, push_request=True)
    return cast("Sequence[object]", message)


async def _drop(pool: Pool, connection: Connection) -> None:
    """Give back a connection of which nobody knows what it would read next."""
    with suppress(Exception):
        await connection.disconnect(nowait=True)
    with suppress(Exception):
        await pool.release(connection)


def check_prefix(prefix: str) -> bytes:
    """`prefix` as keys begin with it. Raises `UserError` for one that would make other keys of it."""
    given: object = prefix
    if not isinstance(given, str) or not prefix or not prefix.isprintable() or "{" in prefix or "}" in prefix:
        raise UserError(f"prefix is {shown(given)}, expected text without braces, such as 'agentsdk'")
    return prefix.encode()


def _pool_of(client: Redis) -> Pool:
    given: object = client
    if not isinstance(given, _redis_asyncio().Redis):
        raise UserError(f"url_or_client is {type(given).__name__!r}, expected a URL or a redis.asyncio.Redis; pass one of them")
    return cast(Pool, client.connection_pool)


def _place_of(pool: Pool) -> str:
    """Where a pool connects to, for people: without user and password."""
    options = pool.connection_kwargs
    where = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    return f"{where}/{options.get('db') or 0}"


@functools.lru_cache(maxsize=64)
def _place_of_url(url: str) -> str:
    """Raises `UserError` for what is no URL. Remembered because redis-py takes its time, and every session asks."""
    _redis_asyncio()
    from redis.exceptions import RedisError

    try:
        pool = _new_pool(url)
        pool.make_connection()  # which does not connect, but says what of the URL it does not know
    except (ValueError, TypeError, RedisError):
        raise UserError(
            "the url of a Redis is expected to be like 'redis://user:password@host:6379/0' (rediss:// with TLS, unix:// for a "
            "socket), its special characters escaped as %XX; correct it"
        ) from None
    return _place_of(pool)


def _new_pool(url: str) -> Pool:
    # Time is limited for a call as a whole: for one command alone redis-py would start a task each time.
    pool = _redis_asyncio().BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
        url, protocol=2, max_connections=_MAX_CONNECTIONS, timeout=None, socket_timeout=None, socket_connect_timeout=10
    )
    return cast(Pool, pool)


def _redis_asyncio() -> ModuleType:
    try:
        import redis.asyncio
    except ImportError as error:
        raise UserError("Redis needs the package 'redis', which is not installed; pip install 'agentsdk[redis]'") from error
    return redis.asyncio


async def _close(pool: Pool) -> None:
    with suppress(Exception):  # a connection that breaks while it is closed is closed
        await pool.aclose()


_pools: SharedPools[str, Pool] = SharedPools(_close)
