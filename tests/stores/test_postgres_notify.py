"""When `PostgresRunStore` notifies: after its appends, together, and whatever ends meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from agentsdk.stores import postgres_notify
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.testing.store_conformance.check import append, summed
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

LONG = 3600.0
SOON = 0.05


@pytest.fixture
async def url(running_postgres: PostgresServer) -> str:
    url = await running_postgres.fresh_url()
    store = PostgresRunStore(url)
    await store.summary("r")  # makes the tables
    await store.aclose()
    return url


@contextlib.asynccontextmanager
async def messages(url: str, *, watching: bool = True) -> AsyncIterator[asyncio.Queue[str]]:
    """What is notified meanwhile; `watching`: revisions too, as somebody watches."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    connection = await asyncpg.connect(url)
    *channels, lock = await connection.fetchrow(postgres_notify.CHANNELS)
    if watching:
        await connection.execute("SELECT pg_advisory_lock_shared($1)", lock)
    for channel in channels:
        await connection.add_listener(channel, lambda *message: queue.put_nowait(message[3]))
    try:
        async with asyncio.timeout(60):
            yield queue
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def pool_of_one(url: str) -> AsyncIterator[tuple[asyncpg.Pool, list[str]]]:
    """A pool of one connection, and its statements as "append" and "notify"."""
    statements: list[str] = []

    async def watch(connection: asyncpg.Connection) -> None:
        kinds = {"pg_notify": "notify", "agentsdk_run_events": "append"}
        connection.add_query_logger(
            lambda record: statements.extend(kind for word, kind in kinds.items() if word in record.query)
        )

    async with asyncpg.create_pool(url, init=watch, min_size=1, max_size=1) as pool:
        yield pool, statements


async def test_appends_are_notified_together_after_them(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_notify, "_SEND_INTERVAL", LONG)
    monkeypatch.setattr(postgres_notify, "_CLOSE_TIMEOUT", LONG)
    async with messages(url) as received, pool_of_one(url) as (pool, statements):
        store = PostgresRunStore(pool)
        await append(store, "first", 0, b"a", b"b")
        assert await received.get() == "2 rev:first"
        await append(store, "first", 2)
        for number in range(10):
            await append(store, "r", number, b"a")
            await append(store, "\n", number, b"a")
        assert statements == ["append", "notify", *["append"] * 21] and received.empty()
        await store.aclose()
        assert [await received.get(), await received.get()] == ["10 rev:r", "10 rev:\n"]
        assert statements[22:] == ["append", "notify"]


async def test_signals_and_what_is_ready_are_notified_together(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_notify, "_SEND_INTERVAL", LONG)
    monkeypatch.setattr(postgres_notify, "_CLOSE_TIMEOUT", LONG)
    async with messages(url) as received, contextlib.aclosing(PostgresRunStore(url)) as store:
        await store.append("r", 0, [b"a"], summed("r", 1, status="waiting"))
        assert await received.get() == "1 rev:r"
        await store.post("r", b"signal")
        await append(store, "held", 0)
        for _ in range(3):
            await store.post("held", b"signal")
        await store.append("submitted", 0, [b"a"], summed("submitted", 1, status="ready"))
        await store.aclose()
        assert [await received.get() for _ in range(4)] == ["1 rev:submitted", "1 signals:r", "due", "3 signals:held"]


async def test_revisions_are_not_notified_while_nobody_watches(url: str) -> None:
    async with messages(url, watching=False) as received, contextlib.aclosing(PostgresRunStore(url)) as store:
        await append(store, "r", 0, b"a")
        await store.append("submitted", 0, [b"a"], summed("submitted", 1, status="ready"))
        await store.aclose()
        assert await received.get() == "due" and received.empty()


async def test_who_appends_notifies_while_no_connection_is_free(url: str) -> None:
    async with messages(url) as received, pool_of_one(url) as (pool, statements):
        store = PostgresRunStore(pool)
        await asyncio.gather(*[append(store, str(number), 0, b"a") for number in range(10)])
        assert statements[:3] == ["append", "append", "notify"]
        assert {await received.get() for _ in range(10)} == {f"1 rev:{number}" for number in range(10)}
        await store.aclose()


@pytest.mark.parametrize("change", ["append", "post"])
async def test_what_is_done_is_notified_though_its_caller_is_cancelled_before_it_returns(url: str, change: str) -> None:
    callers: list[asyncio.Future[int]] = []

    async def watch(connection: asyncpg.Connection) -> None:
        connection.add_query_logger(lambda record: [caller.cancel() for caller in callers if "run_id" in record.query])

    async with messages(url) as received, asyncpg.create_pool(url, init=watch, min_size=1, max_size=1) as pool:
        store = PostgresRunStore(pool)
        await append(store, "r", 0, b"a")
        assert await received.get() == "1 rev:r"
        callers.append(asyncio.ensure_future(append(store, "r", 1, b"a") if change == "append" else store.post("r", b"signal")))
        with pytest.raises(asyncio.CancelledError):  # while it gives its connection back
            await callers[0]
        assert await received.get() == ("2 rev:r" if change == "append" else "1 signals:r")
        await store.aclose()


LAST_APPENDS = """
import asyncio, os, sys
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.testing.store_conformance.check import append, summed

store = PostgresRunStore(sys.argv[1])

async def appended(run_id, steps):
    await append(store, run_id, 0, b"a")
    for _ in range(steps // 2):
        await asyncio.sleep(0)
    if steps % 2:
        await store.summary(run_id)  # the server has its turn too

async def forked():
    await append(store, "parent", 0, b"a")
    child = os.fork()
    if child == 0:
        asyncio.run(appended("child", 0))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

for steps in range(60):
    asyncio.run(appended(str(steps), steps))
asyncio.run(forked())
"""


async def test_the_last_appends_of_an_event_loop_are_notified_without_aclose(url: str) -> None:
    command = [sys.executable, "-W", "error", "-c", LAST_APPENDS, url]
    async with messages(url) as received:
        outcome = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
        assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
        missing = {f"1 rev:{run_id}" for run_id in (*range(60), "parent", "child")}
        while missing:
            missing.discard(await received.get())


@pytest.mark.parametrize("lost", ["pool", "server"])
async def test_what_cannot_be_notified_fails_nothing(lost: str, url: str, running_postgres: PostgresServer) -> None:
    async with pool_of_one(url) as (pool, statements):
        store = PostgresRunStore(pool)
        await append(store, "r", 0, b"a")
        if lost == "pool":
            await pool.close()
        else:
            running_postgres.kill()
        try:
            await asyncio.gather(*[task for task in asyncio.all_tasks() if task.get_name().startswith("agentsdk")])
            await store.aclose()
        finally:
            running_postgres.start()
        assert statements == ["append"]


async def test_who_waits_on_the_store_that_appends_needs_no_notification(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresRunStore(url)
    monkeypatch.setattr(postgres_notify, "_READ_INTERVAL", LONG)
    monkeypatch.setattr(store._notifier, "start", lambda: None)
    for number in range(5):
        task = asyncio.create_task(store.wait("r", number, LONG))
        await store.wait("another run", 0, 0.05)  # the task waits by now
        await append(store, "r", number, b"a")
        assert await task == number + 1
    await store.aclose()


async def test_a_worker_without_work_asks_the_server_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_notify, "_READ_INTERVAL", 0.001)
    store, other = PostgresRunStore(url), PostgresRunStore(url)
    statements: list[object] = []
    fetch = store._database.fetch

    async def counted(*given: Any) -> Any:
        statements.append(given)
        return await fetch(*given)

    seen = await store.wait_due(0, SOON)
    monkeypatch.setattr(store._database, "fetch", counted)
    assert await store.wait_due(seen, SOON) == seen
    assert statements == []
    task = asyncio.create_task(store.wait_due(seen, LONG))
    await append(other, "r", 0, b"a")
    await other.append("r", 1, [], summed("r", 1, status="ready"))
    assert await task != seen
    for one in (store, other):
        await one.aclose()


async def test_signals_that_were_not_notified_are_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a process was killed after its post."""
    monkeypatch.setattr(postgres_notify, "_READ_INTERVAL", 0.001)
    store, killed = PostgresRunStore(url), PostgresRunStore(url)
    await append(store, "rev:", 0, b"a")
    monkeypatch.setattr(killed._notifier, "start", lambda: None)
    task = asyncio.create_task(store.wait_signals("rev:", 1, LONG))
    await store.wait("another run", 0, SOON)  # the task has begun to wait
    for _ in range(2):
        await killed.post("rev:", b"signal")
    assert await task == 2
    await store.aclose()
    await killed.aclose()


async def test_what_was_not_notified_is_found(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a process was killed after its append."""
    monkeypatch.setattr(postgres_notify, "_READ_INTERVAL", 0.001)
    store, killed = PostgresRunStore(url), PostgresRunStore(url)
    monkeypatch.setattr(killed._notifier, "start", lambda: None)
    one, other = [asyncio.create_task(store.wait(run_id, 1, LONG)) for run_id in ("one", "other")]
    for number in range(2):
        await append(killed, "one", number, b"a")
    await append(killed, "other", 0, b"a")
    assert await one == 2
    assert not other.done()
    other.cancel()
    await asyncio.wait((other,))
    await store.aclose()
    await killed.aclose()
