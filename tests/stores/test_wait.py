"""What each store adds to `wait`: what it costs, what it listens on, and what becomes of it when that is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

from agentsdk.ports.run_store import RUN_STORE, RunStore, wait_by_polling, wait_for_revision
from agentsdk.stores.encrypted import EncryptedRunStore
from agentsdk.stores.memory import MemoryRunStore
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.stores.redis import RedisRunStore
from agentsdk.stores.sqlite import SQLiteRunStore
from agentsdk.stores.sqlite_watch import LOOK_INTERVAL
from agentsdk.testing import FaultyStore
from agentsdk.testing.store_conformance.check import append, summed
from agentsdk.types.errors import StoreBusyError, StoreError, StoreUnavailableError, UserError
from agentsdk.types.summary import DueRuns, RunQuery, RunStatus, RunSummary
from tests import redis_server
from tests.postgres_server import PostgresServer
from tests.stores.redis_runs import admin, counted
from tests.stores.stores import STORES

pytestmark = pytest.mark.anyio

LONG = 3600.0
SOON = 0.05


@contextlib.asynccontextmanager
async def waiting(store: RunStore, *run_ids: str) -> AsyncIterator[list[asyncio.Task[int]]]:
    """Tasks that wait for the beginning of these runs, and have begun to."""
    tasks = [asyncio.create_task(store.wait(run_id, 0, LONG)) for run_id in run_ids]
    await settled(store)
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def settled(store: RunStore) -> None:
    """Who waited before this was called has begun to: a short wait is over."""
    await store.wait("another run", 0, SOON)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what a server does in its own time."""
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110 - the server sets no event
            await asyncio.sleep(0)


class Plain:
    """A store of one's own without `wait`, and no subclass of anything."""

    def __init__(self) -> None:
        self.kept = MemoryRunStore()
        self.looks = 0

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        return await self.kept.append(run_id, expected_rev, events, summary)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        return await self.kept.read(run_id, from_rev)

    async def summary(self, run_id: str) -> RunSummary | None:
        self.looks += 1
        return await self.kept.summary(run_id)

    async def due(self, query: DueRuns) -> list[RunSummary]:
        return await self.kept.due(query)

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        return await self.kept.signals(run_id, after)

    async def post(self, run_id: str, signal: bytes) -> int:
        return await self.kept.post(run_id, signal)

    async def list(self, query: RunQuery) -> list[RunSummary]:
        return await self.kept.list(query)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        await self.kept.attach(run_id, name, data)

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        return await self.kept.attachment(run_id, name)

    async def delete(self, run_id: str) -> None:
        await self.kept.delete(run_id)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        return await self.kept.prune(before, statuses)

    async def aclose(self) -> None:
        await self.kept.aclose()


class Subclass(Plain, RunStore):
    """One that inherits from the port and lacks it still."""


def wrapped(kind: str) -> tuple[Plain, RunStore]:
    plain: Any = Subclass() if kind == "subclass" else Plain()
    if kind == "encrypted":
        return plain, EncryptedRunStore(plain, bytes(range(32)))
    return plain, FaultyStore(plain, "full", at=1_000) if kind == "faulty" else plain


@pytest.mark.parametrize("kind", ["plain", "subclass", "encrypted", "faulty"])
async def test_a_store_that_lacks_it_is_polled(kind: str) -> None:
    plain, store = wrapped(kind)
    assert RUN_STORE.fits(store)
    assert await wait_for_revision(store, "r", 0, 0.0) == 0
    task = asyncio.create_task(wait_for_revision(store, "r", 0, LONG))
    looked = plain.looks
    await until(lambda: asyncio.sleep(0, plain.looks > looked + 1))
    await append(plain.kept, "r", 0, b"a")
    assert await task == 1


async def test_a_store_that_lacks_them_is_polled_for_signals_and_what_is_due() -> None:
    store = Subclass()
    await append(store, "r", 0, b"a")
    task = asyncio.create_task(store.wait_signals("r", 0, LONG))
    looked = store.looks
    await until(lambda: asyncio.sleep(0, store.looks > looked + 1))
    await store.post("r", b"signal")
    assert await task == 1
    seen = await store.wait_due(0, LONG)
    assert seen and await store.wait_due(seen, LONG) != seen


async def test_polling_looks_on_the_interval_and_at_the_end() -> None:
    plain: Any = Plain()
    assert await wait_by_polling(plain, "r", 0, 0.01, interval=60.0) == 0
    assert plain.looks == 2


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("inf"), None, "1", True])
async def test_a_timeout_is_seconds(timeout: Any) -> None:
    plain: Any = Plain()
    for store in (MemoryRunStore(), plain):
        with pytest.raises(UserError, match=r"timeout is .*, expected seconds, 0 or more"):
            await wait_for_revision(store, "r", 0, timeout)


async def test_a_fault_hits_a_wait_too() -> None:
    store = FaultyStore(MemoryRunStore(), "locked", at=1)
    with pytest.raises(StoreBusyError):
        await store.wait("r", 0, LONG)
    assert await store.wait("r", 0, 0.0) == 0 and store.operations == 2


async def test_who_waits_in_a_fork_of_the_process_is_not_the_parents(tmp_path: Path) -> None:
    """A child must not write to the descriptor that wakes its parent's event loop."""
    store = MemoryRunStore()
    async with waiting(store, "r") as (task,):
        child = os.fork()
        if not child:
            try:
                asyncio.run(append(store, "r", 0, b"a"))
                os._exit(0)
            finally:
                os._exit(1)
        _, code = await asyncio.to_thread(os.waitpid, child, 0)
        assert code == 0 and not task.done()
        await append(store, "r", 0, b"a")
        assert await task == 1


async def test_sqlite_looks_only_while_somebody_waits_and_once_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = SQLiteRunStore(tmp_path / "r.db"), SQLiteRunStore(tmp_path / "r.db", synchronous="NORMAL")
    jobs: list[object] = []
    run = store._database.run

    async def counted(job: Callable[..., Any]) -> Any:
        jobs.append(job)
        return await run(job)

    monkeypatch.setattr(store._database, "run", counted)
    async with waiting(store, *(f"r{number}" for number in range(1_000))) as tasks:

        def reads() -> int:
            return sum("_number" in repr(job) for job in jobs)

        await until(lambda: asyncio.sleep(0, reads() >= 2 * 1_000))
        await settled(store)
        assert reads() == 2 * 1_000 + 2 * 3
        begun = len(jobs)
        await settled(store)
        looks = [job for job in jobs[begun:] if "_changed" in repr(job)]
        assert len(jobs) - begun - len(looks) == 3  # of the short wait itself
        await append(other, "r7", 0, b"a")
        assert await tasks[7] == 1
        assert [task for task in tasks if task.done()] == [tasks[7]]
    idle = len(jobs)
    await other.wait("another run", 0, SOON)
    assert len(jobs) == idle
    await store.aclose()
    await other.aclose()


@pytest.mark.parametrize("path", ["r.db", ":memory:"])
async def test_sqlite_sees_what_its_own_connection_did_for_another_store(path: str, tmp_path: Path) -> None:
    file = tmp_path / path if path == "r.db" else Path(path)
    store = SQLiteRunStore(file)
    other = SQLiteRunStore(file) if path == "r.db" else store
    async with waiting(store, "r", "s") as (first, second):
        await append(other, "r", 0, b"a")
        assert await first == 1
        assert not second.done()
    await store.aclose()
    await other.aclose()


@pytest.mark.parametrize("name", ["memory", "file", "sqlite", "postgres", "redis"])
async def test_a_run_that_is_not_ready_wakes_no_worker(name: str, request: pytest.FixtureRequest) -> None:
    store = STORES[name].factory(request)()
    seen = await store.wait_due(0, LONG)
    statuses: tuple[RunStatus, ...] = ("running", "waiting", "failed", "cancelled", "finished")
    for status in statuses:
        await store.append(status, 0, [b"a"], summed(status, 1, status=status))
    await store.post("running", b"signal")
    assert await store.wait_due(seen, SOON) == seen
    await store.post("waiting", b"signal")
    assert await store.wait_due(seen, LONG) != seen
    for status in statuses:
        await store.delete(status)
    await store.aclose()


def watching() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "agentsdk SQLiteRunStore.wait"]


async def test_who_waits_for_work_again_and_again_subscribes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLiteRunStore(tmp_path / "r.db")
    seen = await store.wait_due(0, LONG)
    (first,) = watching()
    assert await store.wait_due(seen, SOON) == seen
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SOON):
            await store.wait_due(seen, LONG)
    await store.wait("r", 0, SOON)
    assert watching() == [first], "neither a cancelled call nor the end of another wait has closed it"
    monkeypatch.setattr("agentsdk.stores.waiters.DUE_LINGER", 0.0)
    await store.wait_due(seen, 0.0)
    await asyncio.wait([first])
    assert await store.wait_due(seen, LONG) != seen, "what came meanwhile is not known"
    (second,) = watching()
    await store.aclose()
    assert second.done() and watching() == []


async def test_a_store_that_is_closed_watches_no_more_on_another_event_loop(tmp_path: Path) -> None:
    store = SQLiteRunStore(tmp_path / "r.db")
    opened, closed = threading.Event(), threading.Event()

    async def elsewhere() -> None:
        await store.wait_due(0, LONG)
        (task,) = watching()
        opened.set()
        await asyncio.to_thread(closed.wait)
        await asyncio.wait([task])

    there = asyncio.create_task(asyncio.to_thread(asyncio.run, elsewhere()))
    await asyncio.to_thread(opened.wait)
    await store.aclose()
    closed.set()
    await there


async def test_who_waits_for_work_on_a_file_that_nobody_uses_executes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentsdk.stores.sqlite_watch.SETTLE_TIME", 0.0)
    monkeypatch.setattr("agentsdk.stores.sqlite_watch.READ_INTERVAL", 0.0)
    store = SQLiteRunStore(tmp_path / "r.db")
    seen = await store.wait_due(0, LONG)
    executed: list[str] = []
    await store._database.run(lambda connection: connection.set_trace_callback(executed.append))
    assert await store.wait_due(seen, 10 * LOOK_INTERVAL) == seen
    assert executed == []
    await store.wait("r", 0, 10 * LOOK_INTERVAL)
    assert "PRAGMA data_version" in executed, "whoever waits for a run asks now and then"
    await store.aclose()


async def test_a_commit_that_shows_after_the_file_has_changed_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.stores.sqlite_watch.SETTLE_TIME", LONG)
    store, other = SQLiteRunStore(tmp_path / "r.db"), SQLiteRunStore(tmp_path / "r.db", synchronous="NORMAL")
    seen = await store.wait_due(0, LONG)
    monkeypatch.setattr("agentsdk.stores.sqlite_watch.SQLiteWatch._stat", lambda *_: None)
    assert await store.wait_due(seen, 10 * LOOK_INTERVAL) == seen
    await other.append("r", 0, [b"a"], summed("r", 1, status="ready"))
    assert await store.wait_due(seen, LONG) != seen
    await store.aclose()
    await other.aclose()


async def test_a_file_that_is_lost_ends_waits_on_it(tmp_path: Path) -> None:
    store = SQLiteRunStore(tmp_path / "r.db")
    async with waiting(store, "r") as (task,):
        (tmp_path / "r.db").rename(tmp_path / "moved.db")
        with pytest.raises(StoreError, match="was deleted, moved or replaced"):
            await task
    await store.aclose()


LISTENING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND query LIKE $1"


async def listeners(connection: asyncpg.Connection, url: str) -> list[int]:
    """Who listens for the runs of this URL."""
    own = await asyncpg.connect(url)
    try:
        oid = await own.fetchval("SELECT 'agentsdk_runs'::regclass::oid")
    finally:
        await own.close()
    return [row[0] for row in await connection.fetch(LISTENING, f"%agentsdk_runs_{oid}%")]


@pytest.fixture
async def postgres(running_postgres: PostgresServer) -> AsyncIterator[tuple[str, PostgresRunStore, asyncpg.Connection]]:
    url = await running_postgres.fresh_url()
    store, connection = PostgresRunStore(url, max_connections=1), await asyncpg.connect(url)
    yield url, store, connection
    await store.aclose()
    await connection.close()


async def test_one_connection_of_postgres_listens_while_anybody_waits(
    postgres: tuple[str, PostgresRunStore, asyncpg.Connection],
) -> None:
    url, store, connection = postgres
    async with waiting(store, *(f"r{number}" for number in range(1_000))) as tasks:
        assert len(await listeners(connection, url)) == 1
        await append(store, "r7", 0, b"a")
        assert await tasks[7] == 1
        assert [task for task in tasks if task.done()] == [tasks[7]]
    assert await listeners(connection, url) == []


async def test_who_waits_on_postgres_connects_again_when_the_connection_is_lost(
    postgres: tuple[str, PostgresRunStore, asyncpg.Connection],
) -> None:
    url, store, connection = postgres
    async with waiting(store, "r", "s") as (first, second):
        (lost,) = await listeners(connection, url)
        await connection.execute("SELECT pg_terminate_backend($1)", lost)

        async def again() -> bool:
            return await listeners(connection, url) not in ([], [lost])

        await until(again)
        await append(store, "r", 0, b"a")
        assert await first == 1
        assert not second.done()


async def test_what_was_appended_while_postgres_was_not_heard_is_seen(
    postgres: tuple[str, PostgresRunStore, asyncpg.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, store, connection = postgres
    writer = PostgresRunStore(url)
    async with waiting(store, "r") as (task,):
        monkeypatch.setattr("agentsdk.stores.waiters.LoopWaiters.on_message", lambda *_: None)
        (lost,) = await listeners(connection, url)
        await append(writer, "r", 0, b"a")
        await connection.execute("SELECT pg_terminate_backend($1)", lost)
        assert await task == 1
    await writer.aclose()


async def test_waiters_on_a_server_that_died_are_told(running_postgres: PostgresServer) -> None:
    store = PostgresRunStore(await running_postgres.fresh_url())
    try:
        async with waiting(store, *"abc") as tasks:
            running_postgres.kill()
            for task in tasks:
                with pytest.raises(StoreUnavailableError):
                    await task
    finally:
        running_postgres.start()
    with contextlib.suppress(StoreUnavailableError):  # one call may find a connection of before
        await store.summary("a")
    async with waiting(store, "a") as (task,):
        await append(store, "a", 0, b"a")
        assert await task == 1
    await store.aclose()


async def test_runs_of_two_schemas_of_one_database_are_apart(running_postgres: PostgresServer) -> None:
    one, other = [PostgresRunStore(await running_postgres.fresh_url()) for _ in range(2)]
    async with waiting(one, "r") as (first,), waiting(other, "r") as (second,):
        await append(one, "r", 0, b"a")
        assert await first == 1
        await settled(other)
        assert not second.done()
    for store in (one, other):
        await store.aclose()


async def test_a_pool_that_is_given_needs_a_connection_to_listen(running_postgres: PostgresServer) -> None:
    url = await running_postgres.fresh_url()
    async with (
        asyncpg.create_pool(url, min_size=0, max_size=1) as small,
        asyncpg.create_pool(url, min_size=0, max_size=2) as pool,
    ):
        with pytest.raises(UserError, match="has 1 connection, expected 2 or more"):
            await PostgresRunStore(small).wait("r", 0, LONG)
        store = PostgresRunStore(pool)
        async with waiting(store, "r") as (task,):
            await append(store, "r", 0, b"a")
            assert await task == 1
        await store.aclose()


def subscribed(url: str) -> int:
    with admin(url) as client:
        return len(client.client_list(_type="pubsub"))


@pytest.fixture
def own_redis(redis_url: str) -> Any:
    """A server of the test's own. (`redis_url` skips where there is none.)"""
    with redis_server.running() as server:
        yield server


async def test_one_connection_of_redis_is_subscribed_while_anybody_waits(own_redis: redis_server.RedisServer) -> None:
    store = RedisRunStore(own_redis.url)
    async with waiting(store, *(f"r{number}" for number in range(1_000))) as tasks:
        assert subscribed(own_redis.url) == 1
        await append(store, "r7", 0, b"a")
        assert await tasks[7] == 1
        assert [task for task in tasks if task.done()] == [tasks[7]]
    assert subscribed(own_redis.url) == 0
    await store.aclose()


async def test_who_waits_on_redis_connects_again_when_the_connection_is_lost(own_redis: redis_server.RedisServer) -> None:
    store = RedisRunStore(own_redis.url)
    async with waiting(store, "r", "s") as (first, second):
        with admin(own_redis.url) as client:
            client.client_kill_filter(_type="pubsub")
        await until(lambda: asyncio.sleep(0, subscribed(own_redis.url) == 1))
        await append(store, "r", 0, b"a")
        assert await first == 1
        assert not second.done()
        own_redis.kill()
        with pytest.raises(StoreUnavailableError):
            await second
    own_redis.start()
    async with waiting(store, "t") as (third,):
        await append(store, "t", 0, b"a")
        assert await third == 1
    await store.aclose()


async def test_a_worker_without_work_asks_redis_nothing(own_redis: redis_server.RedisServer) -> None:
    store, other = RedisRunStore(own_redis.url), RedisRunStore(own_redis.url)
    await append(other, "r", 0, b"a")
    seen = await store.wait_due(await store.wait_due(0, SOON), 0.0)
    calls: dict[str, int] = {}
    with counted(own_redis.url, calls):
        for _ in range(3):
            assert await store.wait_due(seen, SOON) == seen
    assert {name.partition("|")[0] for name in calls} <= {"config", "info"}, "some versions of Redis add what of it"
    assert subscribed(own_redis.url) == 1
    task = asyncio.create_task(store.wait_due(seen, LONG))
    await other.append("r", 1, [], summed("r", 1, status="ready"))
    assert await task != seen
    for one in (store, other):
        await one.aclose()
    assert subscribed(own_redis.url) == 0


async def test_databases_of_one_redis_are_apart(own_redis: redis_server.RedisServer) -> None:
    one, other = RedisRunStore(own_redis.url), RedisRunStore(own_redis.url.removesuffix("/0") + "/1")
    async with waiting(one, "r") as (first,), waiting(other, "r") as (second,):
        await append(one, "r", 0, b"a")
        assert await first == 1
        await settled(other)
        assert not second.done()
    for store in (one, other):
        await store.aclose()


@pytest.mark.parametrize("protocol", [2, 3])
async def test_a_client_of_any_protocol_hears(own_redis: redis_server.RedisServer, protocol: int) -> None:
    async with Redis.from_url(own_redis.url, protocol=protocol, decode_responses=True, socket_timeout=0.5) as client:
        store = RedisRunStore(client)
        async with waiting(store, "ü") as (task,):
            await store.wait("another run", 0, 0.6)  # longer than the socket's timeout
            await append(store, "ü", 0, b"a")
            assert await task == 1
        await store.aclose()


async def test_a_user_without_the_channel_can_append_and_is_told_when_it_waits(own_redis: redis_server.RedisServer) -> None:
    with admin(own_redis.url) as client:
        client.execute_command("ACL", "SETUSER", "poor", "on", "nopass", "~*", "+@all", "resetchannels")
    store = RedisRunStore(own_redis.url.replace("redis://", "redis://poor:x@"))
    await append(store, "r", 0, b"a")
    assert await store.read("r") == [b"a"]
    with pytest.raises(StoreError, match="does not let this user do that"):
        await store.wait("r", 1, LONG)
    await store.aclose()


@pytest.mark.parametrize("kind", ["postgres", "redis"])
async def test_whoever_is_cancelled_at_any_point_leaves_no_connection_listening(
    kind: str, request: pytest.FixtureRequest
) -> None:
    if kind == "postgres":
        url = await request.getfixturevalue("running_postgres").fresh_url()
        store: RunStore = PostgresRunStore(url)
    else:
        url = request.getfixturevalue("own_redis").url
        store = RedisRunStore(url)
    await append(store, "r", 0, b"a")
    for steps in range(60):
        task = asyncio.create_task(store.wait("r", 1, LONG))
        for _ in range(steps // 2):
            await asyncio.sleep(0)
        if steps % 2:
            await store.summary("r")  # the server has its turn too
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    if kind == "postgres":
        connection = await asyncpg.connect(url)
        assert await listeners(connection, url) == []
        await connection.close()
    else:
        assert subscribed(url) == 0
    async with asyncio.timeout(60):  # closing waits for connections that are held
        await store.aclose()
