"""What Redis adds to a session: processes, a server that dies, hangs, fills up, and whose keys others can touch."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import redis

from agentsdk.sessions.redis import RedisSession
from agentsdk.stores.redis import RedisRunStore
from agentsdk.types.errors import SessionBusyError, SessionError, StoreError, UserError
from agentsdk.types.items import Item, Message, ProviderItem
from tests import redis_server

pytestmark = pytest.mark.anyio

SECRET = "correct horse battery staple"


@pytest.fixture
def server(redis_url: str) -> Iterator[redis_server.RedisServer]:
    """A server of the test's own, to be mistreated. (`redis_url` skips where there is none.)"""
    with redis_server.running() as server:
        yield server


@contextlib.asynccontextmanager
async def opened(session_id: str, url: str, prefix: str = "agentsdk", timeout: float = 10.0) -> AsyncIterator[RedisSession]:
    async with contextlib.aclosing(RedisSession(session_id, url, prefix=prefix, timeout=timeout)) as session:
        yield session


def said(*texts: str) -> list[Item]:
    return [Message("user", text) for text in texts]


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Message)]


def admin(url: str) -> redis.Redis:
    """A client that sees the bare keys."""
    return redis.Redis.from_url(url)


def calls(session: RedisSession) -> list[Callable[[], Awaitable[object]]]:
    return [
        session.get_items,
        lambda: session.add_items(said("new")),
        session.pop_item,
        lambda: session.replace_latest(said("one"), said("new")),
        session.clear_session,
    ]


async def test_sessions_of_one_server_do_not_see_each_other(redis_url: str) -> None:
    ids = ["a", "A", "a ", "a\0b", "../../etc/passwd", "{a}", "*", "%", "日本", "a:session:b"]
    async with contextlib.AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(opened(session_id, redis_url, "ids")) for session_id in ids]
        other = await stack.enter_async_context(opened("b", redis_url, "ids:session:a"))
        for session in sessions:
            await session.add_items(said(repr(session.session_id)))
        for session in sessions:
            assert await session.get_items() == said(repr(session.session_id))
        await sessions[0].clear_session()
        assert await sessions[0].get_items() == []
        assert await sessions[1].get_items() == said("'A'")
        assert await other.get_items() == [], "a prefix may not end in another's session"


async def test_a_store_of_the_same_prefix_is_another_thing(redis_url: str) -> None:
    async with opened("runs", redis_url) as session, contextlib.aclosing(RedisRunStore(redis_url)) as store:
        await session.add_items(said("one"))
        assert await store.summary("runs") is None
        await session.clear_session()


def test_what_cannot_be_an_id_or_a_prefix() -> None:
    with pytest.raises(UserError, match="surrogates"):
        RedisSession("\ud800", "redis://x")
    with pytest.raises(UserError, match="prefix is"):
        RedisSession("s", "redis://x", prefix="")


async def test_a_conversation_outlives_a_killed_server(server: redis_server.RedisServer) -> None:
    async with opened("s", server.url) as session:
        await session.add_items(said("one", "two"))
        assert await session.replace_latest(said("two"), said("three", "four"))
        server.kill()
        for call in calls(session):
            with pytest.raises(SessionError, match="cannot be reached"):
                await call()
        server.start()
        assert await session.get_items() == said("one", "three", "four")


REPLACER = """
import asyncio, sys
from agentsdk.sessions.redis import RedisSession
from agentsdk.types.items import Message

async def main(url, name):
    session = RedisSession("shared", url)
    won = 0
    while won < 25:
        *_, first, second = await session.get_items()
        after = [Message("user", f"{name} {won} {part}") for part in range(2)]
        won += await session.replace_latest([first, second], [Message("user", "seen"), *after])
    await session.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_processes_that_replace_at_once_lose_nothing(server: redis_server.RedisServer) -> None:
    async with opened("shared", server.url) as session:
        await session.add_items(said("first", "second"))
        command = (sys.executable, "-W", "error", "-c", REPLACER, server.url)
        replacers = [await asyncio.create_subprocess_exec(*command, str(name)) for name in range(4)]
        assert [await replacer.wait() for replacer in replacers] == [0] * 4
        found = texts(await session.get_items())
        assert found[:-2] == ["seen"] * 100, "each that won took away two and left one more than it found"
        assert found[-2].split()[:2] == found[-1].split()[:2]


KILLED = """
import asyncio, sys
from agentsdk.sessions.redis import RedisSession
from agentsdk.types.items import Message

async def main(url):
    session = RedisSession("s", url)
    items = []
    for number in range(100_000):
        after = [Message("user", f"{number} {part}") for part in range(50)]
        assert await session.replace_latest(items, after)
        items = after
        print(number, flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def test_a_process_killed_while_it_replaces_leaves_the_one_or_the_other(server: redis_server.RedisServer) -> None:
    command = [sys.executable, "-c", KILLED, server.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        confirmed = next(int(line) for line in process.stdout if int(line) == 20)
        process.kill()
        process.stdout.read()
    async with opened("s", server.url) as session:
        found = texts(await session.get_items())
    number = int(found[0].split()[0])
    assert number >= confirmed
    assert found == [f"{number} {part}" for part in range(50)]


async def test_of_replacements_that_read_the_same_one_wins(redis_url: str) -> None:
    async with opened("s", redis_url, "race") as session:
        await session.add_items(said("one", "two"))
        await asyncio.gather(*(session.get_items() for _ in range(20)))  # a connection for each, so that all read at once
        replaced = await asyncio.gather(*(session.replace_latest(said("two"), said(str(at))) for at in range(20)))
        assert replaced.count(True) == 1
        assert await session.get_items() == said("one", str(replaced.index(True)))


async def test_items_written_differently_are_the_same(redis_url: str) -> None:
    async with opened("s", redis_url, "differently") as session:
        await session.add_items([Message("user", "one"), ProviderItem("p", {"a": 1, "b": 2})])
        with admin(redis_url) as client:
            client.lset("{differently}:session:s", 0, b'{"content": "one", "role": "user", "type": "message"}')
        expected: list[Item] = [Message("user", "one"), ProviderItem("p", {"b": 2, "a": 1})]
        assert await session.replace_latest(expected, said("two"))
        assert await session.get_items() == said("two")


async def test_a_full_server_refuses_and_changes_nothing(server: redis_server.RedisServer) -> None:
    async with opened("s", server.url) as session:
        await session.add_items(said("one", "two"))
        with admin(server.url) as client:
            client.config_set("maxmemory", 1)
            for call in (lambda: session.add_items(said("new")), lambda: session.replace_latest([], said("new"))):
                with pytest.raises(SessionError, match="out of memory, and nothing was changed"):
                    await call()
            assert await session.get_items() == said("one", "two")
            # Taking away comes first here, and what began goes on to its end.
            assert await session.replace_latest(said("two"), said("three", "four"))
            assert await session.get_items() == said("one", "three", "four")
            assert await session.pop_item() == Message("user", "four")
            client.config_set("maxmemory", 0)


async def test_a_server_that_hangs_is_a_typed_error(server: redis_server.RedisServer) -> None:
    async with opened("s", server.url, timeout=0.1) as session:
        await session.add_items(said("one"))
        with server.suspended(), pytest.raises(SessionError, match="did not answer"):
            await session.get_items()
        assert await session.get_items() == said("one")


def run_for_ever(url: str) -> None:
    with admin(url) as client, contextlib.suppress(redis.ResponseError):
        client.eval("while true do end", 0)


async def test_a_busy_server_is_a_busy_session(server: redis_server.RedisServer) -> None:
    async with opened("s", server.url) as session:
        await session.add_items(said("one"))
        with admin(server.url) as client:
            client.config_set("lua-time-limit", 1)
            script = threading.Thread(target=run_for_ever, args=(server.url,))
            script.start()
            try:
                while True:
                    try:
                        await session.get_items()
                    except SessionBusyError:
                        break
                for call in calls(session):
                    with pytest.raises(SessionBusyError, match="busy with somebody's script"):
                        await call()
            finally:
                client.script_kill()
                script.join()
        assert await session.get_items() == said("one")


async def test_a_key_of_another_type_is_refused_and_stays(redis_url: str) -> None:
    async with opened("s", redis_url, "wrong type") as session:
        with admin(redis_url) as client:
            client.set("{wrong type}:session:s", SECRET)
            for call in calls(session)[:-1]:
                with pytest.raises(SessionError, match="another type") as caught:
                    await call()
                assert SECRET not in "".join(traceback.format_exception(caught.value))
            assert client.get("{wrong type}:session:s") == SECRET.encode()


@pytest.mark.parametrize("start", ["", "\xff", '{"type": "newer", "value": "'], ids=["text", "bytes", "newer"])
async def test_a_row_that_is_no_item_is_a_typed_error_and_stays(redis_url: str, start: str) -> None:
    row = f'{start}{SECRET}"}}'.encode("latin-1")
    async with opened("s", redis_url, "no item") as session:
        with admin(redis_url) as client:
            client.rpush("{no item}:session:s", row)
            for call in (session.get_items, session.pop_item, lambda: session.replace_latest(said("one"), [])):
                with pytest.raises(SessionError, match=r"an entry of .* is not an item") as caught:
                    await call()
                assert SECRET not in "".join(traceback.format_exception(caught.value))
            assert client.lrange("{no item}:session:s", 0, -1) == [row]
            client.delete("{no item}:session:s")


async def test_a_refused_password_is_not_shown(redis_url: str) -> None:
    with redis_server.running(requirepass="right") as server:
        async with opened("s", server.url.replace("//", "//:wrong-one@")) as session:
            with pytest.raises(SessionError, match="refuses the user or the password") as caught:
                await session.get_items()
    assert "wrong-one" not in "".join(traceback.format_exception(caught.value)) + repr(session)


async def test_closing_is_final_and_may_be_repeated(redis_url: str) -> None:
    session = RedisSession("s", redis_url)
    await session.aclose()
    await session.aclose()
    with pytest.raises(SessionError, match="was closed"):
        await session.get_items()


async def test_a_hundred_sessions_share_a_connection(server: redis_server.RedisServer) -> None:
    for number in range(100):
        await RedisSession(str(number), server.url).add_items(said("one"))
    with admin(server.url) as client:
        assert len(client.client_list()) == 2, "one, and this one that asks"


async def test_a_cancelled_write_has_ended_when_the_cancel_goes_on(server: redis_server.RedisServer) -> None:
    async with opened("s", server.url) as session:
        await session.add_items(said("one"))
        with server.suspended():
            write = asyncio.create_task(session.add_items(said("two", "three")))
            for _ in range(5):
                await asyncio.sleep(0)
            write.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            assert not write.done(), "the server has not answered, so its outcome is still open"
        with pytest.raises(asyncio.CancelledError):
            await write
        assert await session.get_items() == said("one", "two", "three")


async def test_every_error_of_the_store_kind_is_one_of_sessions(server: redis_server.RedisServer) -> None:
    server.stop()
    async with opened("s", server.url) as session:
        for call in calls(session):
            with pytest.raises(StoreError) as caught:
                await call()
            assert isinstance(caught.value, SessionError)
            assert isinstance(caught.value.__cause__, redis.RedisError | OSError)
