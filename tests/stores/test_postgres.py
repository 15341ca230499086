"""What PostgreSQL adds: a server that dies, refuses, is slow or holds something else, and connections that are shared.

One module although it is long: its fixtures and the helpers that wait for the server serve all of these tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import asyncpg
import pytest

from agentsdk.databases import postgres
from agentsdk.sessions.postgres import PostgresSession
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.types.errors import RunConflictError, StoreBusyError, StoreError, StoreUnavailableError, UserError
from agentsdk.types.summary import RunQuery, RunSummary
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

SECRET = "correct-horse"


@pytest.fixture
def server(running_postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that a test may stop."""
    yield running_postgres
    running_postgres.start()


@pytest.fixture
async def url(running_postgres: PostgresServer) -> str:
    return await running_postgres.fresh_url()


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresRunStore]:
    store = PostgresRunStore(url)
    yield store
    await store.aclose()


@pytest.fixture
async def admin(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


def summary(run_id: str, rev: int, **fields: object) -> RunSummary:
    times = {"started_at": 1.0, "updated_at": 1.0}
    return RunSummary(**{"run_id": run_id, "rev": rev, "status": "running", "agent": "a", **times, **fields})  # type: ignore[arg-type]


async def append(store: PostgresRunStore, run_id: str, rev: int, *events: bytes) -> None:
    await store.append(run_id, rev, events, summary(run_id, rev + len(events)))


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what the server does in its own time."""
    while not await condition():  # noqa: ASYNC110 - the server sets no event
        await asyncio.sleep(0)


async def waits_for_a_lock(admin: asyncpg.Connection) -> bool:
    return bool(await admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))


async def test_a_server_that_died_is_a_typed_error_and_one_that_is_back_is_used_again(
    server: PostgresServer, store: PostgresRunStore
) -> None:
    await append(store, "r", 0, b"one")
    server.kill()
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match=r"the database of PostgresRunStore\(\) cannot be reached"):
            await append(store, "r", 1, b"never")
    with pytest.raises(StoreUnavailableError):
        await store.list(RunQuery())
    server.start()
    await append(store, "r", 1, b"two")
    assert await store.read("r") == [b"one", b"two"]


async def test_a_restart_between_two_calls_fails_one_call_at_most(server: PostgresServer, store: PostgresRunStore) -> None:
    await asyncio.gather(*[append(store, str(number), 0, b"one") for number in range(10)])
    server.stop()
    server.start()
    with pytest.raises(StoreUnavailableError):
        await store.read("0")
    assert await asyncio.gather(*[store.read(str(number)) for number in range(10)]) == [[b"one"]] * 10


async def test_appends_that_a_crash_cuts_are_whole_or_absent(server: PostgresServer, store: PostgresRunStore) -> None:
    batch = [b"x" * 5000] * 20
    done: dict[str, int] = {}

    async def write(run_id: str) -> None:
        while True:
            await append(store, run_id, done.get(run_id, 0), *batch)
            done[run_id] = done.get(run_id, 0) + 20

    for crash in range(3):
        writers = [asyncio.create_task(write(f"{crash} {number}")) for number in range(4)]
        await until(_always(lambda: sum(done.values()) > 500 * (crash + 1)))  # noqa: B023 - over before the next crash
        server.kill()
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreUnavailableError] * 4
        server.start()
        for run_id, rev in done.items():
            log = await store.read(run_id)
            assert len(log) in (rev, rev + 20)
            standing = await store.summary(run_id)
            assert standing and standing.rev == len(log)
            done[run_id] = len(log)


def _always(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def checked() -> bool:
        return condition()

    return checked


async def test_a_server_that_does_not_answer_is_not_waited_for_for_ever(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_ANSWER_TIMEOUT", 0.05)
    monkeypatch.setattr(postgres, "_CONNECT_TIMEOUT", 0.05)
    monkeypatch.setattr(postgres, "_CANCEL_TIMEOUT", 0.05)
    store = PostgresRunStore(url, busy_timeout=0.05)
    await append(store, "r", 0, b"one")
    with server.suspended():
        for _ in range(2):  # the connection there is, and then a new one
            with pytest.raises(StoreUnavailableError, match="did not answer in time"):
                await store.read("r")
    assert await store.read("r") == [b"one"]
    await store.aclose()


async def test_a_cancelled_call_ends_although_the_server_does_not_answer(
    server: PostgresServer, store: PostgresRunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(store, "r", 0, b"one")
    monkeypatch.setattr(postgres, "_CANCEL_TIMEOUT", 0.05)
    with server.suspended():
        call = asyncio.create_task(append(store, "r", 1, b"two"))
        await asyncio.wait([call], timeout=0.05)
        call.cancel()
        await asyncio.wait([call], timeout=30)
        assert call.cancelled()
    log = await store.read("r")
    await append(store, "r", len(log), b"three")
    assert await store.read("r") in ([b"one", b"three"], [b"one", b"two", b"three"])


async def test_closing_ends_although_the_server_does_not_answer(
    server: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_CLOSE_TIMEOUT", 0.05)
    store = PostgresRunStore(url)
    await store.summary("r")
    with server.suspended():
        closing = asyncio.create_task(store.aclose())
        await asyncio.wait([closing], timeout=30)
        assert closing.done()
    await closing


async def test_a_cancelled_append_that_waits_for_a_lock_is_undone_and_its_connection_used_again(
    url: str, admin: asyncpg.Connection
) -> None:
    store = PostgresRunStore(url, max_connections=1)
    await append(store, "r", 0, b"one")
    async with admin.transaction():
        await admin.execute("SELECT * FROM agentsdk_runs FOR UPDATE")
        call = asyncio.create_task(append(store, "r", 1, b"never"))
        await until(functools.partial(waits_for_a_lock, admin))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await store.read("r") == [b"one"], "the one connection is free, and the statement has ended"
    await append(store, "r", 1, b"two")
    assert await store.read("r") == [b"one", b"two"]
    await store.aclose()


async def test_a_lock_held_too_long_is_a_busy_store(url: str, admin: asyncpg.Connection) -> None:
    store = PostgresRunStore(url, busy_timeout=0.01)
    await append(store, "r", 0, b"one")
    async with admin.transaction():
        await admin.execute("SELECT * FROM agentsdk_runs FOR UPDATE")
        with pytest.raises(StoreBusyError, match=r"kept a lock for 0\.01 s"):
            await append(store, "r", 1, b"never")
    await append(store, "r", 1, b"two")
    assert await store.read("r") == [b"one", b"two"]
    await store.aclose()


async def test_an_append_that_waited_for_another_sees_what_that_one_did(url: str, admin: asyncpg.Connection) -> None:
    store = PostgresRunStore(url)
    await append(store, "r", 0, b"one")
    async with admin.transaction():
        await admin.execute("UPDATE agentsdk_runs SET rev = 2")
        call = asyncio.create_task(append(store, "r", 1, b"never"))
        await until(functools.partial(waits_for_a_lock, admin))
    with pytest.raises(RunConflictError, match="at revision 2, expected 1"):
        await call
    async with admin.transaction():
        await admin.execute("DELETE FROM agentsdk_runs")
        call = asyncio.create_task(append(store, "r", 2, b"never"))
        await until(functools.partial(waits_for_a_lock, admin))
    with pytest.raises(RunConflictError, match="at revision 0, expected 2"):
        await call
    assert await admin.fetchval("SELECT count(*) FROM agentsdk_run_events") == 0
    await store.aclose()


FIRST_USE = """
import asyncio, sys
from agentsdk.sessions.postgres import PostgresSession
from agentsdk.stores.postgres import PostgresRunStore

async def main(url):
    sys.stdin.readline()
    store, session = PostgresRunStore(url), PostgresSession("s", url)
    await asyncio.gather(store.summary("r"), session.add_items([{"role": "user", "content": "hi"}]))
    await store.aclose()
    await session.aclose()

asyncio.run(main(sys.argv[1]))
"""


async def test_processes_that_use_an_empty_database_at_once_make_its_tables_once(url: str) -> None:
    command = [sys.executable, "-W", "error", "-c", FIRST_USE, url]
    users = [await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE) for _ in range(8)]
    await asyncio.gather(*[user.communicate(b"go\n") for user in users])
    assert [user.returncode for user in users] == [0] * 8
    session = PostgresSession("s", url)
    assert len(await session.get_items()) == 8
    await session.aclose()


@pytest.mark.parametrize(
    ("user", "database", "settings", "kind", "says"),
    [
        ("postgres", f"no-{SECRET}", "", StoreError, "does not exist"),
        ("nobody", "postgres", "", StoreError, "refuses the user or the password"),
        (f"guarded:{SECRET}", "postgres", "", StoreError, "refuses the user or the password"),
        ("visitor", "postgres", "", StoreError, "does not let this user do that"),
        ("crowd", "postgres", "", StoreUnavailableError, "cannot be reached"),
        ("postgres", "postgres", "&search_path=nowhere", StoreError, "has no schema to make tables in"),
        ("postgres", "postgres", "&default_transaction_read_only=on", StoreError, "may only be read"),
        ("postgres", "postgres", f"&host=/{SECRET}", StoreUnavailableError, "cannot be reached"),
        ("postgres", "postgres", f"&sslmode={SECRET}", StoreError, "has a url that cannot be used"),
    ],
)
async def test_a_server_that_refuses_is_a_typed_error_without_secrets(
    user: str,
    database: str,
    settings: str,
    kind: type[StoreError],
    says: str,
    running_postgres: PostgresServer,
    url: str,
    admin: asyncpg.Connection,
) -> None:
    schema = url.partition("&search_path=")[2]
    for statement in (
        "CREATE ROLE guarded LOGIN PASSWORD 'another'",
        "CREATE ROLE visitor LOGIN",
        "CREATE ROLE crowd LOGIN CONNECTION LIMIT 0",
        f"GRANT USAGE ON SCHEMA {schema} TO visitor",
    ):
        with contextlib.suppress(asyncpg.DuplicateObjectError):
            await admin.execute(statement)
    wrong = f"{running_postgres.url_of(user, database)}&search_path={schema}{settings}"
    if "host=/" in settings:
        wrong = f"postgresql://postgres:{SECRET}@/postgres?host=/nowhere"
    store = PostgresRunStore(wrong)
    with pytest.raises(StoreError, match=says) as caught:
        await append(store, "r", 0, b"one")
    assert type(caught.value) is kind
    assert "postgres:" not in str(caught.value) and SECRET not in str(caught.value)
    await store.aclose()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "localhost:1"])
async def test_a_port_where_nobody_listens_is_a_typed_error(address: str) -> None:
    store = PostgresRunStore(f"postgresql://user:{SECRET}@{address}/database")
    with pytest.raises(StoreUnavailableError, match="cannot be reached") as caught:
        await store.summary("r")
    assert SECRET not in f"{caught.value} {caught.value.__cause__!r}"
    await store.aclose()


@pytest.mark.parametrize("wrong", ["", SECRET, f"mysql://{SECRET}@host/db", f"host=x password={SECRET}"])
def test_what_is_no_url_is_refused_without_being_shown(wrong: str) -> None:
    with pytest.raises(UserError, match="like 'postgresql://user@host/database'") as caught:
        PostgresRunStore(wrong)
    assert SECRET not in str(caught.value)


def test_other_arguments_that_cannot_be_used() -> None:
    with pytest.raises(UserError, match="url_or_pool is 'int'"):
        PostgresRunStore(5)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="busy_timeout is 0"):
        PostgresRunStore("postgresql://", busy_timeout=0)
    with pytest.raises(UserError, match="max_connections is 0"):
        PostgresRunStore("postgresql://", max_connections=0)


@pytest.mark.parametrize("wrong", [f"{SECRET}@[", f"user:{SECRET}@host:port/db", f"user:p{SECRET}/x@host/db"])
async def test_a_url_that_cannot_be_read_is_not_shown(wrong: str) -> None:
    store = PostgresRunStore(f"postgresql://{wrong}")
    with pytest.raises(StoreError, match="has a url that cannot be used") as caught:
        await store.summary("r")
    assert SECRET not in f"{caught.value} {caught.value.__cause__!r}"
    await store.aclose()


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[postgres\]'"):
        PostgresRunStore("postgresql://")


async def test_tables_of_a_newer_version_are_refused_and_left_alone(url: str, admin: asyncpg.Connection) -> None:
    store = PostgresRunStore(url)
    await append(store, "r", 0, b"one")
    await store.aclose()
    await admin.execute("UPDATE agentsdk_tables SET version = 2 WHERE name = 'run'")
    newer = PostgresRunStore(url)
    with pytest.raises(StoreError, match="are of version 2, expected 1; use the newer agentsdk"):
        await append(newer, "r", 1, b"two")
    session = PostgresSession("s", url)
    assert await session.get_items() == [], "the tables of sessions have a version of their own"
    await admin.execute("UPDATE agentsdk_tables SET version = 1")
    assert await newer.read("r") == [b"one"]
    await newer.aclose()
    await session.aclose()


@pytest.mark.parametrize("damage", ["DROP TABLE agentsdk_run_events", "ALTER TABLE agentsdk_run_events RENAME event TO other"])
async def test_a_table_that_is_gone_or_not_ours_is_a_typed_error(
    damage: str, store: PostgresRunStore, admin: asyncpg.Connection
) -> None:
    await append(store, "r", 0, b"one")
    await admin.execute(damage)
    with pytest.raises(StoreError, match="has tables that are not ours, or lost one of them"):
        await append(store, "r", 1, b"two")
    standing = await store.summary("r")
    assert standing and standing.rev == 1, "the summary has not gone on without its events"


@pytest.mark.parametrize("run_id", [f"{SECRET}\0", f"{SECRET}\ud800"])
async def test_a_text_that_cannot_be_kept_is_a_typed_error_without_it(run_id: str, store: PostgresRunStore) -> None:
    with pytest.raises(StoreError, match="cannot keep this value") as caught:
        await append(store, run_id, 0, b"one")
    assert SECRET not in f"{caught.value} {caught.value.__cause__!r}"


async def test_a_long_name_that_does_not_compress_fits_the_index(store: PostgresRunStore) -> None:
    agent = "".join(chr(0x4E00 + number) for number in range(5000))
    await store.append("r", 0, [], summary("r", 0, agent=agent))
    await store.append("s", 0, [], summary("s", 0, agent=agent[:-1]))
    assert [one.run_id for one in await store.list(RunQuery(agent=agent))] == ["r"]


async def test_numbers_beyond_64_bits_are_a_typed_error(store: PostgresRunStore) -> None:
    with pytest.raises(StoreError, match="cannot keep this value"):
        await store.append("r", 0, [], summary("r", 0, input_tokens=2**63))
    assert await store.summary("r") is None


async def test_the_users_of_one_url_share_connections_until_the_last_has_closed(url: str, admin: asyncpg.Connection) -> None:
    name = f"test-{uuid.uuid4().hex}"
    named = f"{url}&application_name={name}"

    async def connections() -> int:
        return int(await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", name))

    stores = [PostgresRunStore(named, max_connections=2) for _ in range(10)]
    sessions = [PostgresSession(str(number), named, max_connections=2) for number in range(10)]
    await asyncio.gather(*[store.summary("r") for store in stores], *[session.get_items() for session in sessions])
    assert await connections() == 2
    for store in stores:
        await store.aclose()
    assert await connections() == 2
    assert await sessions[0].get_items() == []
    del sessions[1:]  # what was dropped counts as closed
    await sessions[0].aclose()
    await until(_none(connections))
    with pytest.raises(StoreError, match=r"PostgresRunStore\(\) is closed"):
        await stores[0].summary("r")


def _none(count: Callable[[], Awaitable[int]]) -> Callable[[], Awaitable[bool]]:
    async def checked() -> bool:
        return await count() == 0

    return checked


async def test_a_pool_that_was_given_is_used_and_left_open(url: str) -> None:
    statements: list[str] = []

    async def watch(connection: asyncpg.Connection) -> None:
        connection.add_query_logger(lambda record: statements.append(record.query))

    async def keep(connection: asyncpg.Connection) -> None:
        """asyncpg's own way to make a connection fit for its next user is a statement, too."""

    async with asyncpg.create_pool(url, init=watch, reset=keep, min_size=1, max_size=1, statement_cache_size=0) as pool:
        store, session = PostgresRunStore(pool), PostgresSession("s", pool)
        await append(store, "r", 0, b"one")
        await session.add_items([{"role": "user", "content": "hi"}])
        statements.clear()
        await append(store, "r", 1, b"two", b"three")
        assert len([one for one in statements if "pg_notify" not in one]) == 1, "an append is one statement"
        await store.aclose()
        statements.clear()
        await session.add_items([{"role": "user", "content": "hi"}, {"role": "user", "content": "again"}])
        assert len(statements) == 1
        await session.aclose()
        other = PostgresRunStore(pool)
        assert await other.read("r") == [b"one", b"two", b"three"]
        await asyncio.to_thread(asyncio.run, _refused_elsewhere(other))
        await pool.close()
        with pytest.raises(StoreError, match=r"the pool of PostgresRunStore\(\) is closed"):
            await other.read("r")


async def _refused_elsewhere(store: PostgresRunStore) -> None:
    with pytest.raises(UserError, match="belongs to another event loop"):
        await store.read("r")


async def test_a_closed_pool_does_not_end_the_calls_of_others(url: str) -> None:
    first, second = PostgresRunStore(url), PostgresRunStore(url)
    await append(first, "r", 0, b"one")
    call = asyncio.create_task(second.read("r"))
    await asyncio.sleep(0)
    await first.aclose()
    assert await call == [b"one"]
    await second.aclose()
    third = PostgresRunStore(url)
    assert await third.read("r") == [b"one"], "the next one opens a pool of its own"
    await third.aclose()


LEFT_OPEN = """
import asyncio, logging, os, sys
from agentsdk.stores.postgres import PostgresRunStore
from agentsdk.types.summary import RunSummary

logging.getLogger("asyncio").setLevel(logging.ERROR)  # on a busy machine a step is slow, which is not the question here
store = PostgresRunStore(sys.argv[1])

async def append(rev):
    summary = RunSummary(run_id="r", rev=rev + 1, status="running", agent="a", started_at=1.0, updated_at=1.0)
    await store.append("r", rev, [b"x"], summary)

async def fork():
    await append(1)
    child = os.fork()
    if child == 0:
        asyncio.run(append(2))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    await append(3)

asyncio.run(append(0))
asyncio.run(fork())
print(len(asyncio.run(store.read("r"))))
"""


async def test_a_store_works_on_other_loops_and_after_a_fork_and_need_not_be_closed(url: str) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", LEFT_OPEN, url]
    outcome = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "4\n", "")
