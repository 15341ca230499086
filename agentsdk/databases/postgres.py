"""PostgreSQL for stores and sessions: a pool for each event loop, tables made on first use, typed errors.

Besides `asyncpg_types`, the only module that knows asyncpg.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TypeVar, cast

from msgspec import Struct

from agentsdk.databases.asyncpg_types import Connection, Pool, Row
from agentsdk.databases.finished import finished
from agentsdk.databases.shared_pools import SharedPools
from agentsdk.types.declared import having, is_real, shown
from agentsdk.types.errors import AgentsException, StoreBusyError, StoreError, StoreUnavailableError, UserError

T = TypeVar("T")

_CONNECT_TIMEOUT = 10.0
# What a statement may take besides waiting for locks.
_ANSWER_TIMEOUT = 60.0
# How long to wait until a cancelled statement is known to have ended, before its connection is closed.
_CANCEL_TIMEOUT = 5.0
# How long closing waits for calls in flight, and for the server to say goodbye.
_CLOSE_TIMEOUT = 10.0
# How many stores of one URL can listen at once on an event loop. Connections are made as they are needed.
_MAX_LISTENING = 1_000
# Serializes the making of tables in one database, whoever makes them. Any number that nobody else takes.
_TABLES_LOCK = 0x6167656E74736472


class Tables(Struct, frozen=True, kw_only=True):
    """Tables that belong together, as of `version`. `statements` make those that are missing.

    `columns` (table, name, declaration) came later: with a default, so that programs that do not know them can still write.
    `on_columns` is run when they are there.
    """

    name: str
    version: int
    statements: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...] = ()
    on_columns: tuple[str, ...] = ()


_POOL = having(("acquire", "release"), "a URL or an asyncpg pool; pass either")


class PostgresDatabase:
    """One database as one store or session uses it: works on any event loop and after a fork, connects when first needed.

    All users of one URL on one event loop share a pool. It closes when the last of them has closed, or with the loop. An
    `asyncpg` pool given instead of a URL works on its own loop, and is the caller's to close.

    A lock may be waited for during `busy_timeout` seconds. `user` names in errors whose database this is. Raises `UserError`
    for what is neither URL nor pool, and without the package `asyncpg`.
    """

    def __init__(
        self, url_or_pool: str | Pool, tables: Tables, user: str, *, busy_timeout: float, max_connections: int
    ) -> None:
        _asyncpg()
        if isinstance(url_or_pool, str):
            if not url_or_pool.startswith(("postgresql://", "postgres://")):
                raise UserError("the url of a PostgreSQL database is expected to be like 'postgresql://user@host/database'")
        elif not _POOL.fits(url_or_pool):
            raise UserError(f"url_or_pool is {type(url_or_pool).__name__!r}, expected {_POOL.text}")
        if not (is_real(busy_timeout) and 0 < busy_timeout <= 1_000_000):
            raise UserError(f"busy_timeout is {shown(busy_timeout)}, expected seconds, more than 0 and at most 1,000,000")
        if type(cast(object, max_connections)) is not int or max_connections < 1:
            raise UserError(f"max_connections is {shown(max_connections)}, expected at least 1")
        self._key = (url_or_pool, busy_timeout, max_connections) if isinstance(url_or_pool, str) else None
        self._given = None if isinstance(url_or_pool, str) else _OpenPool(url_or_pool)
        self._tables = tables
        self._user = user
        self._busy_timeout = busy_timeout
        self._max_connections = max_connections
        self._closed = False

    async def fetch(self, statement: str, *values: object) -> Sequence[Row]:
        """The rows that `statement`, a transaction of its own, returns."""
        return await self.run(lambda connection: connection.fetch(statement, *values))

    async def run(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        """What `job` returns for a connection that is its own meanwhile.

        Raises `StoreError`s, and what `job` raises of ours. A statement that is cancelled has ended, done or undone, when the
        cancellation goes on.
        """
        if self._closed:
            raise StoreError(f"{self._user} is closed; make a new one")
        pool = connection = None
        try:
            pool = await self._pool()
            connection = await pool.pool.acquire()
            try:
                if self._tables.name not in pool.made:
                    await self._make_tables(connection)
                    pool.made.add(self._tables.name)
                return await job(connection)
            finally:
                with suppress(Exception):  # asyncpg has closed the connection then
                    await pool.pool.release(connection, timeout=_CANCEL_TIMEOUT)
        except AgentsException:
            raise
        except Exception as error:
            if pool is not None and pool.pool.is_closing():
                raise StoreError(f"the pool of {self._user} is closed; keep it open as long as it is used") from error
            raised = self._explained(error)
            if pool is not None and connection is not None and isinstance(raised, StoreUnavailableError):
                await pool.pool.expire_connections()  # so that one call fails of a server that was restarted, not one for each
            # What the database says of a value, or asyncpg of a URL, may quote it.
            raise raised from (None if isinstance(error, ValueError) or _sqlstate(error)[:2] in ("22", "23") else error)

    async def listen(
        self, channel: str, on_message: Callable[[str], None], on_lost: Callable[[], None], lock: int | None = None
    ) -> Listening:
        """Call `on_message` with what is notified on `channel` from now on, and `on_lost` when the connection is.

        Meanwhile it holds the advisory lock `lock`, shared, if one is given.

        The connection is one more than `max_connections`; of a pool that was given it is one of the pool's. Raises
        `StoreError`s, and `UserError` for a given pool of one connection.
        """
        if self._closed:
            raise StoreError(f"{self._user} is closed; make a new one")
        pool = None
        try:
            pool = await self._listening_pool()
            listening = Listening(pool, await pool.acquire(), channel, on_message, on_lost, lock)
            try:
                await listening.begin()
            except BaseException:
                await finished(asyncio.ensure_future(listening.aclose()))
                raise
            return listening
        except AgentsException:
            raise
        except Exception as error:
            raised = self._explained(error)
            if pool is not None and isinstance(raised, StoreUnavailableError):
                await pool.expire_connections()
            raise raised from error

    def another(self, user: str) -> PostgresDatabase:
        """The same database for one store or session more, which `user` names. To be closed by itself."""
        database = copy.copy(self)
        database._user = user
        return database

    async def aclose(self) -> None:
        """Release the running loop's pool; a second call does nothing. Other loops' pools close with their loops."""
        self._closed = True
        if self._key is not None:
            await _pools.let_go(self._key, self)

    async def _pool(self) -> _OpenPool:
        loop = asyncio.get_running_loop()
        if self._given is not None:
            if getattr(self._given.pool, "_loop", loop) is not loop:
                raise UserError(
                    f"the pool of {self._user} belongs to another event loop, expected the running one; give the URL instead"
                )
            return self._given
        assert self._key is not None
        return await _pools.get(self._key, self, self._new_pool)

    async def _listening_pool(self) -> Pool:
        """The pool for connections that are held for long: another than for calls, which would have too few."""
        open_pool = await self._pool()
        if self._given is None:
            if open_pool.listening is None:
                open_pool.listening = await self._connections(_MAX_LISTENING)
            return open_pool.listening
        size = getattr(open_pool.pool, "get_max_size", None)
        if size is not None and size() < 2:
            raise UserError(
                f"the pool of {self._user} has 1 connection, expected 2 or more, as one listens while somebody waits; "
                "give a larger pool, or the URL instead"
            )
        return open_pool.pool

    async def _new_pool(self) -> _OpenPool:
        return _OpenPool(await self._connections(self._max_connections))

    async def _connections(self, most: int) -> Pool:
        assert self._key is not None

        async def nothing(_: object) -> None:
            """By default a round trip after every use; nothing we do outlives its transaction."""

        pool: Pool = _asyncpg().create_pool(
            self._key[0],
            min_size=0,
            max_size=most,
            reset=nothing,
            timeout=_CONNECT_TIMEOUT,
            command_timeout=self._busy_timeout + _ANSWER_TIMEOUT,
            server_settings={
                "lock_timeout": str(max(1, int(self._busy_timeout * 1000))),
                "default_transaction_isolation": "read committed",
            },
        )
        await cast(Awaitable[object], pool)  # without a connection yet, so nothing is waited for
        return pool

    async def _make_tables(self, connection: Connection) -> None:
        tables = self._tables
        version = await _version(connection, tables.name)
        if version is None or (version == tables.version and await _lacks_columns(connection, tables)):
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _TABLES_LOCK)
                await connection.execute(
                    "CREATE TABLE IF NOT EXISTS agentsdk_tables (name text PRIMARY KEY, version integer NOT NULL)"
                )
                for statement in tables.statements:
                    await connection.execute(statement)
                for table, column, declaration in tables.columns:
                    await connection.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} {declaration}")
                for statement in tables.on_columns:
                    await connection.execute(statement)
                await connection.execute(
                    "INSERT INTO agentsdk_tables (name, version) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                    tables.name,
                    tables.version,
                )
            version = await _version(connection, tables.name)
        if version != tables.version:
            raise StoreError(
                f"the {tables.name} tables of {self._user} are of version {version!r}, expected {tables.version!r}; "
                "use the newer agentsdk that made them, or another database"
            )

    def _explained(self, error: Exception) -> StoreError:
        asyncpg = _asyncpg()
        name = f"the database of {self._user}"
        state = _sqlstate(error)
        if state == "55P03":
            return StoreBusyError(
                f"{name} kept a lock for {self._busy_timeout:g} s; end what holds it, raise busy_timeout, or try again"
            )
        if state in _BUSY:
            return StoreBusyError(f"{name} undid the call because of a concurrent one; try again (SQLSTATE {state})")
        if isinstance(error, TimeoutError):
            return StoreUnavailableError(f"{name} did not answer in time; check it and the network, and try again")
        broken = isinstance(error, OSError | asyncpg.InterfaceError | asyncpg.InternalClientError)
        if isinstance(error, ValueError):
            return StoreError(
                f"{name} has a url that cannot be used ({type(error).__name__}); "
                "expected one like 'postgresql://user:password@host:5432/database', its special characters written as %XX"
            )
        if broken or state[:2] == "08" or state in _UNAVAILABLE:
            return StoreUnavailableError(
                f"{name} cannot be reached, or the connection broke ({type(error).__name__}); check that it runs, and try again"
            )
        remedy = _REMEDIES.get(state) or _REMEDIES.get(state[:2]) or "failed; see the cause"
        return StoreError(f"{name} {remedy} ({type(error).__name__})")


class Listening:
    """A connection that listens on a channel until it is closed or lost."""

    def __init__(
        self,
        pool: Pool,
        connection: Connection,
        channel: str,
        on_message: Callable[[str], None],
        on_lost: Callable[[], None],
        lock: int | None,
    ) -> None:
        self._pool = pool
        self._connection = connection
        self._channel = channel
        self._on_message = on_message
        self._on_lost = on_lost
        self._lock = lock
        self._lost = self._closed = False

    async def begin(self) -> None:
        """Listen from now on. Where it fails it is lost, as nobody knows what the server did."""
        self._connection.add_termination_listener(self._on_termination)
        try:
            if self._lock is not None:
                await self._connection.fetch("SELECT pg_advisory_lock_shared($1)", self._lock)
            await self._connection.add_listener(self._channel, self._on_notification)
        except BaseException:
            self._lost = True
            self._connection.remove_termination_listener(self._on_termination)
            self._connection.terminate()
            raise

    def is_open(self) -> bool:
        """Whether it was neither closed nor lost."""
        return not (self._lost or self._closed)

    async def aclose(self) -> None:
        """Listen no more, and give the connection back; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if not self._lost:
            self._connection.remove_termination_listener(self._on_termination)
            try:
                async with asyncio.timeout(_CANCEL_TIMEOUT):
                    await self._connection.remove_listener(self._channel, self._on_notification)
                    if self._lock is not None:
                        await self._connection.fetch("SELECT pg_advisory_unlock_shared($1)", self._lock)
            except Exception:
                with suppress(Exception):  # it is closed already
                    self._connection.terminate()
        with suppress(Exception):
            await self._pool.release(self._connection, timeout=_CANCEL_TIMEOUT)

    def _on_notification(self, connection: object, pid: int, channel: str, payload: str) -> None:
        if not self._closed:
            self._on_message(payload)

    def _on_termination(self, connection: object) -> None:
        self._lost = True
        self._on_lost()


_BUSY = ("40001", "40P01", "57014")
_UNAVAILABLE = ("53300", "57P01", "57P02", "57P03", "57P05")
_REMEDIES = {
    "22": "cannot keep this value; expected text without NUL and lone surrogates, and numbers of 64 bits",
    "23": "has tables that are not ours; use another database or schema",
    "25006": "may only be read; give the url of the primary server",
    "26000": "forgets prepared statements, as PgBouncer may; give a pool made with statement_cache_size=0",
    "28": "refuses the user or the password; check the url, and who may connect",
    "3D": "does not exist; create it, or check the url",
    "3F": "has no schema to make tables in; create it, or check the search_path",
    "42": "has tables that are not ours, or lost one of them; restore them, or use another database or schema",
    "42501": "does not let this user do that; grant it the tables, or CREATE on the schema for the first use",
    "42P05": "mixes up prepared statements, as PgBouncer may; give a pool made with statement_cache_size=0",
    "53": "has no room left (disk, memory or connections); make some and try again",
    "54": "cannot take a value of this size; keep large contents elsewhere and refer to them",
    "XX": "is damaged; restore it from a backup",
}


def _sqlstate(error: Exception) -> str:
    state: object = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) else ""


async def _version(connection: Connection, tables: str) -> int | None:
    """The version of `tables` in the database; None if they were never made. (A missing table as an error would be logged.)"""
    if (await connection.fetch("SELECT to_regclass('agentsdk_tables') IS NULL"))[0][0]:
        return None
    rows = await connection.fetch("SELECT version FROM agentsdk_tables WHERE name = $1", tables)
    return cast(int, rows[0][0]) if rows else None


async def _lacks_columns(connection: Connection, tables: Tables) -> bool:
    """Whether the tables were made before all of their columns were known."""
    for table in {table for table, _, _ in tables.columns}:
        rows = await connection.fetch("SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1)", table)
        if not {column for of, column, _ in tables.columns if of == table} <= {row[0] for row in rows}:
            return True
    return False


_Key = tuple[str, float, int]


class _OpenPool:
    """A pool, and the tables known to be in its database."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.listening: Pool | None = None
        self.made: set[str] = set()


async def _close(open_pool: _OpenPool) -> None:
    for pool in (open_pool.listening, open_pool.pool):
        if pool is not None:
            with suppress(TimeoutError):  # asyncpg has closed the connections then
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    await pool.close()


_pools: SharedPools[_Key, _OpenPool] = SharedPools(_close)


def _asyncpg() -> ModuleType:
    try:
        return import_module("asyncpg")  # it has no types to import
    except ImportError as error:
        raise UserError(
            "PostgreSQL needs the package 'asyncpg', which is not installed; pip install 'agentsdk[postgres]'"
        ) from error
