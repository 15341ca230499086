"""A Redis that dies, hangs, fills up, refuses or is busy: a typed error, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import redis
from redis.asyncio import Redis

from agentsdk.stores.redis import RedisRunStore
from agentsdk.stores.redis_scripts import HEAD, INDEXES
from agentsdk.types.errors import (
    RunConflictError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from agentsdk.types.summary import DueRuns, RunQuery
from tests import redis_server
from tests.stores.redis_runs import SECRET, admin, append, everything, opened, summed

pytestmark = pytest.mark.anyio


@pytest.fixture
def server(redis_url: str) -> Iterator[redis_server.RedisServer]:
    """A server of the test's own, to be mistreated. (`redis_url` skips where there is none.)"""
    with redis_server.running() as server:
        yield server


async def test_what_was_acknowledged_outlives_a_killed_server(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        for rev in range(5):
            await append(store, "run", rev, b"%d" % rev)
            server.kill()
            server.start()
            for _ in range(3):
                await asyncio.sleep(0)  # the event loop sees that the connection is gone
        assert await store.read("run") == [b"0", b"1", b"2", b"3", b"4"]
        assert [one.rev for one in await store.list(RunQuery())] == [5]


@pytest.mark.parametrize("limit", [3, 300, 900])
async def test_a_server_killed_during_appends_has_all_that_was_acknowledged(
    server: redis_server.RedisServer, limit: int
) -> None:
    acknowledged = [0] * 8
    batch = [bytes(300)] * 3

    async def write(store: RedisRunStore, number: int) -> None:
        for rev in range(0, 3_000, 3):
            await append(store, f"run {number}", rev, *batch)
            acknowledged[number] = rev + 3
            if sum(acknowledged) == limit:
                server.kill()

    async with opened(server.url) as store:
        outcomes = await asyncio.gather(*(write(store, number) for number in range(8)), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {StoreUnavailableError}
        server.start()
        begun = [one.run_id for one in await store.list(RunQuery())]
        for number, confirmed in enumerate(acknowledged):
            run_id = f"run {number}"
            log = await store.read(run_id) if run_id in begun else []
            assert len(log) in (confirmed, confirmed + 3), "what was in flight is there whole or not at all"
            await append(store, run_id, len(log), b"on it goes")


class LosesReplies:
    """Stands between a store and its server. After `lose`, the next reply is lost with the connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.lose = False
        self.requests: list[bytes] = []
        self._serving: list[asyncio.Task[None] | None] = []

    async def __aenter__(self) -> LosesReplies:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.gather(*filter(None, self._serving))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.current_task())
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._port)

        async def requests() -> None:
            while data := await reader.read(65536):
                self.requests.append(data)
                server_writer.write(data)
            server_writer.close()

        async def replies() -> None:
            while data := await server_reader.read(65536):
                if self.lose:
                    self.lose = False
                    break
                writer.write(data)
            writer.close()

        await asyncio.gather(requests(), replies())
        await server_writer.wait_closed()


@pytest.mark.parametrize("given", ["url", "client that retries"])
async def test_an_append_whose_reply_is_lost_was_sent_once(server: redis_server.RedisServer, given: str) -> None:
    async with (
        LosesReplies(server.port) as proxy,
        Redis.from_url(proxy.url) as client,
        opened(proxy.url if given == "url" else client) as store,
    ):
        await append(store, "run", 0, b"a")
        proxy.lose = True
        proxy.requests.clear()
        with pytest.raises(StoreUnavailableError, match="connection broke"):
            await append(store, "run", 1, b"b")
        assert sum(request.count(b"EVALSHA") for request in proxy.requests) == 1
        assert await store.read("run", 1) == [b"b"], "reading says what became of it"


async def test_a_server_that_hangs_is_unavailable(server: redis_server.RedisServer) -> None:
    async with opened(server.url, timeout=0.2) as store:
        await append(store, "run", 0, b"a")
        async with opened(server.url, timeout=0.2) as fresh:
            with server.suspended():
                for one in (store, fresh):
                    with pytest.raises(StoreUnavailableError, match=r"did not answer within 0\.2 s"):
                        await append(one, "run", 1, b"b")
        # Whether the server has come to the late appends or not: one at most is done, and then this one is not.
        with contextlib.suppress(RunConflictError):
            await append(store, "run", 1, b"b")
        assert await store.read("run") == [b"a", b"b"]


async def test_a_large_append_to_a_server_that_hangs_leaves_no_socket(server: redis_server.RedisServer) -> None:
    async with opened(server.url, timeout=0.2) as store:
        await append(store, "run", 0, b"a")
        with server.suspended(), pytest.raises(StoreUnavailableError):
            await append(store, "run", 1, bytes(20_000_000))


RACER = """
import asyncio, sys
from agentsdk.stores.redis import RedisRunStore
from agentsdk.stores.redis_scripts import HEAD, INDEXES
from agentsdk.types.errors import RunConflictError
from agentsdk.types.summary import RunSummary

async def main(url, name):
    store = RedisRunStore(url)
    won = 0
    for rev in range(0, 200, 2):
        summary = RunSummary(run_id="run", rev=rev + 2, status="running", agent=name, started_at=1.0, updated_at=1.0)
        try:
            await store.append("run", rev, [f"{name} {part}".encode() for part in range(2)], summary)
            won += 1
        except RunConflictError:
            pass
    await store.aclose()
    print(won)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_of_eight_processes_one_wins_each_revision(server: redis_server.RedisServer) -> None:
    racers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", RACER, server.url, str(name), stdout=asyncio.subprocess.PIPE
        )
        for name in range(8)
    ]
    won = [int((await racer.communicate())[0]) for racer in racers]
    assert sum(won) == 100
    async with opened(server.url) as store:
        log = await store.read("run")
    assert len(log) == 200
    for first, second in zip(log[::2], log[1::2], strict=True):
        assert (first[-2:], second) == (b" 0", first[:-2] + b" 1")


async def test_a_full_server_refuses_and_changes_nothing(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        await append(store, "run", 0, b"a")
        with admin(server.url) as client:
            client.config_set("maxmemory", client.info("memory")["used_memory"] + 2_000_000)
            rev = 1
            with pytest.raises(StoreError, match="out of memory, and nothing was changed") as caught:
                for rev in range(1, 1_000, 10):
                    await append(store, "run", rev, *[bytes(10_000)] * 10)
            assert not isinstance(caught.value, StoreBusyError | StoreUnavailableError)
            assert len(await store.read("run")) == rev
            client.config_set("maxmemory", 1)
            before = everything(server.url)
            for write in (
                lambda: append(store, "run", rev, b"b"),
                lambda: append(store, "run", rev),
                lambda: append(store, "another", 0, b"a"),
                lambda: store.attach("run", "name", b"data"),
            ):
                with pytest.raises(StoreError, match="out of memory"):
                    await write()
            assert everything(server.url) == before
            assert len(await store.read("run")) == rev
            await store.delete("run")
            client.config_set("maxmemory", 0)
        await append(store, "run", 0, b"on it goes")


OF_RUN = {
    "log:run": {"append", "finish", "read"},
    "attached:run": {"attach", "attachment"},
    "signals:run": {"post", "signals"},
}
"""What fails where the key is of another type."""
READS = {"read", "summary", "attach", "attachment", "signals"}
"""What needs none of the sorted sets."""


@pytest.mark.parametrize("key", [*HEAD, *INDEXES, *OF_RUN])
async def test_a_key_of_another_type_is_refused_and_nothing_changes(redis_url: str, key: str) -> None:
    prefix = f"wrong {key}"
    async with opened(redis_url, prefix) as store:
        await append(store, "run", 0, b"a")
        await store.attach("run", "name", b"data")
        await store.post("run", b"signal")
        name = f"{{{prefix}}}:{key}"
        with admin(redis_url) as client:
            client.delete(name)
            if key == "version":
                client.rpush(name, SECRET)
            else:
                client.set(name, SECRET)
        before = everything(redis_url)
        failed = set[str]()
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "append": lambda: append(store, "run", 1, b"b"),
            "finish": lambda: store.append("run", 1, [], summed("run", 1, "finished")),
            "begin": lambda: append(store, "another", 0, b"b"),
            "read": lambda: store.read("run"),
            "summary": lambda: store.summary("run"),
            "list": lambda: store.list(RunQuery()),
            "list by metadata": lambda: store.list(RunQuery(metadata={"user": "ada"})),
            "due": lambda: store.due(DueRuns(at=1.0)),
            "post": lambda: store.post("run", b"signal"),
            "signals": lambda: store.signals("run"),
            "attach": lambda: store.attach("run", "name", b"data"),
            "attachment": lambda: store.attachment("run", "name"),
            "prune": lambda: store.prune(0.0),
        }
        for call, make in calls.items():
            try:
                await make()
            except RunConflictError:
                assert "append" not in failed, "the append before has gone through"
            except StoreError as error:
                assert "another type" in str(error) and SECRET not in "".join(traceback.format_exception(error))
                failed.add(call)
        assert failed == OF_RUN.get(key, {*calls} if key in HEAD else {*calls} - READS)
        if key not in OF_RUN:
            assert everything(redis_url) == before


async def test_a_refused_password_is_typed_and_not_shown(tmp_path: Path, redis_url: str) -> None:
    with redis_server.running(requirepass="right") as server:
        for user in ("", ":wr%20ong@", "someone:wr%20ong@"):
            async with opened(server.url.replace("//", f"//{user}")) as store:
                with pytest.raises(StoreError, match="refuses the user or the password") as caught:
                    await store.summary("run")
            shown = "".join(traceback.format_exception(caught.value)) + repr(store)
            assert not isinstance(caught.value, StoreUnavailableError)
            assert "wr ong" not in shown and "wr%20ong" not in shown
        async with opened(server.url.replace("//", "//:right@")) as store:
            await append(store, "run", 0, b"a")


async def test_nobody_at_the_port_is_unavailable(server: redis_server.RedisServer) -> None:
    server.stop()
    for url in (f"redis://:{SECRET.replace(' ', '+')}@127.0.0.1:{server.port}", "unix:///nowhere/redis.sock"):
        async with opened(url) as store:
            with pytest.raises(StoreUnavailableError, match="cannot be reached") as caught:
                await store.summary("run")
        assert "correct" not in "".join(traceback.format_exception(caught.value)) + repr(store)


async def test_something_else_at_the_port_is_a_typed_error() -> None:
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with (
        await asyncio.start_server(http, "127.0.0.1", 0) as other,
        opened(f"redis://127.0.0.1:{other.sockets[0].getsockname()[1]}") as store,
    ):
        with pytest.raises(StoreError):
            await store.summary("run")


async def test_what_a_user_may_not_do_is_a_typed_error(server: redis_server.RedisServer) -> None:
    with admin(server.url) as client:
        client.acl_setuser("nobody", enabled=True, nopass=True, keys=["other*"], commands=["+@all"])
    async with opened(server.url.replace("//", "//nobody:x@")) as store:
        with pytest.raises(StoreError, match="does not let this user do that"):
            await append(store, "run", 0, b"a")


async def test_a_server_that_runs_a_script_is_busy(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        await append(store, "run", 0, b"a")
        with admin(server.url) as client:
            client.config_set("lua-time-limit", 1)
            script = asyncio.create_task(asyncio.to_thread(run_for_ever, server.url))
            try:
                while True:
                    try:
                        await store.summary("run")
                    except StoreBusyError as error:
                        assert "somebody's script" in str(error)
                        break
            finally:
                client.script_kill()
                await script
        await append(store, "run", 1, b"b")


def run_for_ever(url: str) -> None:
    with admin(url) as client, contextlib.suppress(redis.ResponseError):
        client.eval("while true do end", 0)
