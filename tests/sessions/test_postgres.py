"""What PostgreSQL adds: ids and texts with NUL, processes, locks, damage."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk.sessions.postgres import PostgresSession
from agentsdk.types.errors import SessionBusyError, SessionError, UserError
from agentsdk.types.items import Message
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

SECRET = "correct horse battery staple"


@pytest.fixture
async def url(running_postgres: PostgresServer) -> str:
    return await running_postgres.fresh_url()


@pytest.fixture
async def session(url: str) -> AsyncIterator[PostgresSession]:
    session = PostgresSession("s", url)
    yield session
    await session.aclose()


@pytest.fixture
async def admin(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


def said(*texts: str) -> list[Message]:
    return [Message("user", text) for text in texts]


async def texts_of(session: PostgresSession) -> list[str]:
    return [item.text for item in await session.get_items() if isinstance(item, Message)]


async def until_somebody_waits(admin: asyncpg.Connection) -> None:
    while not await admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110 - the server sets no event
        await asyncio.sleep(0)


async def test_sessions_of_one_database_do_not_see_each_other(url: str) -> None:
    ids = ["a", "A", "a ", "a\0b", "a\0c", "../../etc/passwd", "'; DROP TABLE agentsdk_sessions; --", "%", '"a"', "日本"]
    sessions = [PostgresSession(session_id, url) for session_id in ids]
    for session in sessions:
        await session.add_items(said(repr(session.session_id)))
    for session in sessions:
        assert await session.get_items() == said(repr(session.session_id))
    await sessions[0].clear_session()
    assert await sessions[0].get_items() == []
    assert await sessions[1].get_items() == said("'A'")
    for session in sessions:
        await session.aclose()
    other = PostgresSession("A", url)
    assert await other.get_items() == said("'A'")
    await other.aclose()


@given(ids := st.text(st.characters(codec="utf-8"), min_size=1, max_size=30), ids)
@settings(max_examples=25)
def test_ids_are_told_apart_and_any_text_comes_back(postgres_url: str, one: str, other: str) -> None:
    async def main() -> None:
        a, b = PostgresSession(f"a{one}", postgres_url), PostgresSession(f"a{other}", postgres_url)
        await a.clear_session()
        await b.clear_session()
        await a.add_items(said(one + "\0" + other))
        assert await b.get_items() == (said(one + "\0" + other) if one == other else [])
        assert await a.get_items() == said(one + "\0" + other)
        await a.aclose()
        await b.aclose()

    asyncio.run(main())


def test_what_cannot_be_an_id() -> None:
    with pytest.raises(UserError, match="surrogates"):
        PostgresSession("\ud800", "postgresql://")


async def test_an_id_too_long_for_the_index_is_a_typed_error(url: str) -> None:
    session = PostgresSession("".join(chr(0x4E00 + number) for number in range(5000)), url)
    with pytest.raises(SessionError, match="cannot take a value of this size"):
        await session.add_items(said("never"))
    await session.aclose()


async def test_closing_is_final_and_may_be_repeated(url: str) -> None:
    session = PostgresSession("s", url)
    await session.get_items()
    await session.aclose()
    await session.aclose()
    with pytest.raises(SessionError, match=r"PostgresSession\('s'\) is closed"):
        await session.get_items()


async def test_a_database_that_is_not_there_is_a_session_error(running_postgres: PostgresServer) -> None:
    session = PostgresSession("s", running_postgres.url_of("postgres", "nowhere"))
    with pytest.raises(SessionError, match=r"the database of PostgresSession\('s'\) does not exist"):
        await session.add_items(said(SECRET))
    await session.aclose()


async def test_a_lock_held_too_long_is_a_busy_session(url: str, admin: asyncpg.Connection) -> None:
    session = PostgresSession("s", url, busy_timeout=0.01)
    await session.add_items(said("before"))
    async with admin.transaction():
        await admin.execute("SELECT * FROM agentsdk_sessions FOR UPDATE")
        for call in (session.add_items(said(SECRET)), session.pop_item(), session.replace_latest(said("before"), [])):
            with pytest.raises(SessionBusyError, match=r"kept a lock for 0\.01 s") as caught:
                await call
            assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert await session.get_items() == said("before")
    await session.add_items(said("after"))
    assert await session.get_items() == said("before", "after")
    await session.aclose()


async def test_a_cancelled_replacement_is_undone(session: PostgresSession, admin: asyncpg.Connection) -> None:
    await session.add_items(said("one", "two"))
    async with admin.transaction():
        await admin.execute("SELECT * FROM agentsdk_session_items FOR UPDATE")
        write = asyncio.create_task(session.replace_latest(said("two"), said("three", "four")))
        await until_somebody_waits(admin)
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
    assert await session.get_items() == said("one", "two")
    assert await session.replace_latest(said("two"), said("three"))
    assert await session.get_items() == said("one", "three")


async def test_what_takes_items_away_waits_for_who_adds_some(session: PostgresSession, admin: asyncpg.Connection) -> None:
    await session.add_items(said("one"))
    for take in (session.pop_item(), session.replace_latest(said("two"), [])):
        async with admin.transaction():
            await admin.execute("UPDATE agentsdk_sessions SET next = next + 1")
            await admin.execute(
                "INSERT INTO agentsdk_session_items SELECT id, next - 1, $1 FROM agentsdk_sessions",
                '{"type":"message","role":"user","content":"two"}',
            )
            taken = asyncio.create_task(take)
            await until_somebody_waits(admin)
        assert await taken in (*said("two"), True), "the latest one is what was added last"
        assert await session.get_items() == said("one")


@pytest.mark.parametrize("row", ["{", '{"type":"secret"}', "null", ""])
async def test_a_row_that_is_no_item_is_a_typed_error_without_its_value(
    row: str, session: PostgresSession, admin: asyncpg.Connection
) -> None:
    await session.add_items(said("one", "two"))
    await admin.execute("UPDATE agentsdk_session_items SET item = $1 WHERE number = 1", row)
    for call in (session.get_items, session.pop_item, lambda: session.replace_latest(said("two"), [])):
        with pytest.raises(SessionError, match=r"row 1 of .* is not an item") as caught:
            await call()
        assert "secret" not in str(caught.value)
    await admin.execute("DELETE FROM agentsdk_session_items WHERE number = 1")
    assert await session.get_items() == said("one")


ADDER = """
import asyncio, sys
from agentsdk.sessions.postgres import PostgresSession
from agentsdk.types.items import Message

async def main(url, name):
    session = PostgresSession("s", url)
    for number in range(25):
        await session.add_items([Message("user", f"{name} {number} {part}") for part in range(7)])
    await session.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_batches_of_processes_that_add_at_once_stay_whole(url: str, session: PostgresSession) -> None:
    adders = [await asyncio.create_subprocess_exec(sys.executable, "-c", ADDER, url, str(name)) for name in range(4)]
    assert [await adder.wait() for adder in adders] == [0] * 4
    texts = await texts_of(session)
    batches = [tuple(texts[at : at + 7]) for at in range(0, len(texts), 7)]
    assert sorted(batches) == sorted(
        tuple(f"{name} {number} {part}" for part in range(7)) for name in range(4) for number in range(25)
    )


REPLACER = """
import asyncio, sys
from agentsdk.sessions.postgres import PostgresSession
from agentsdk.types.items import Message

async def main(url, name):
    session = PostgresSession("s", url)
    won = 0
    while won < 10:
        latest = await session.get_items(2)
        after = [Message("user", f"{name} {won} first"), Message("user", f"{name} {won} second")]
        won += await session.replace_latest(latest, [Message("user", "seen"), *after])
    await session.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_that_replace_at_once_lose_nothing(url: str, session: PostgresSession) -> None:
    await session.add_items(said("first", "second"))
    replacers = [await asyncio.create_subprocess_exec(sys.executable, "-c", REPLACER, url, str(name)) for name in range(4)]
    assert [await replacer.wait() for replacer in replacers] == [0] * 4
    texts = await texts_of(session)
    assert texts[:-2] == ["seen"] * 40, "each that won took away two and left one more than it found"
    assert texts[-2].split()[:2] == texts[-1].split()[:2]


async def test_sessions_that_make_the_tables_at_once_do_not_lock_each_other_out(running_postgres: PostgresServer) -> None:
    for _ in range(5):
        url = await running_postgres.fresh_url()
        sessions = [PostgresSession("s", url) for _ in range(8)]
        await asyncio.gather(*(session.add_items(said("one")) for session in sessions))
        assert await sessions[0].get_items() == said(*["one"] * 8)
        for session in sessions:
            await session.aclose()
