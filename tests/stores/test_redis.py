"""What Redis adds to a run store: keys that others can touch, queries over many runs, shared connections, other processes."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence

import pytest
import redis
from msgspec.structs import replace
from redis.asyncio import Redis

from agentsdk.ports.run_store import RunStore
from agentsdk.stores.redis import RedisRunStore
from agentsdk.types.errors import (
    AgentsException,
    RunNotFoundError,
    StoreError,
    StoreUnavailableError,
    UserError,
)
from agentsdk.types.summary import DueRuns, RunQuery, RunSummary
from tests import redis_server
from tests.stores.queries import expect_answers_of_memory
from tests.stores.redis_runs import SECRET, admin, append, counted, everything, opened, summed

pytestmark = pytest.mark.anyio


@pytest.fixture
def server(redis_url: str) -> Iterator[redis_server.RedisServer]:
    """A server of the test's own, to be mistreated. (`redis_url` skips where there is none.)"""
    with redis_server.running() as server:
        yield server


async def test_a_newer_version_is_refused(redis_url: str) -> None:
    async with opened(redis_url, "newer") as store:
        await append(store, "run", 0, b"a")
        with admin(redis_url) as client:
            client.set("{newer}:version", 2)
        before = everything(redis_url)
        for call in (append(store, "run", 1, b"b"), store.read("run"), store.list(RunQuery()), store.delete("run")):
            with pytest.raises(StoreError, match="newer version"):
                await call
        assert everything(redis_url) == before


async def test_a_mailbox_that_was_evicted_is_never_taken_for_whole(redis_url: str) -> None:
    async with opened(redis_url, "evicted mailbox") as store:
        await append(store, "run", 0, b"a")
        await store.post("run", b"signal")
        with admin(redis_url) as client:
            client.delete("{evicted mailbox}:signals:run")
        for call in (store.signals("run"), store.post("run", b"another")):
            with pytest.raises(StoreError, match="has 0 signals, expected 1: keys were evicted"):
                await call


@pytest.mark.parametrize("lost", ["log:run", "runs"])
async def test_a_run_whose_keys_were_evicted_is_never_taken_for_whole(redis_url: str, lost: str) -> None:
    prefix = f"evicted {lost}"
    async with opened(redis_url, prefix) as store:
        await append(store, "run", 0, b"a", b"b")
        with admin(redis_url) as client:
            client.delete(f"{{{prefix}}}:{lost}")
        kind, says = (StoreError, "evicted") if lost == "log:run" else (RunNotFoundError, "no run")
        with pytest.raises(kind, match=says):
            await store.read("run")
        with pytest.raises(StoreError, match="evicted"):
            await append(store, "run", 2 if lost == "log:run" else 0, b"c")
        assert len(await store.list(RunQuery())) == (1 if lost == "log:run" else 0)
        await store.delete("run")
        await append(store, "run", 0, b"again")
        assert await store.read("run") == [b"again"]


async def test_a_damaged_summary_is_a_typed_error_without_its_value(redis_url: str) -> None:
    async with opened(redis_url, "damaged") as store:
        await append(store, "run", 0, b"a")
        with admin(redis_url) as client:
            client.hset("{damaged}:runs", "run", SECRET)
        for call in (
            append(store, "run", 1, b"b"),
            store.read("run"),
            store.list(RunQuery()),
            store.summary("run"),
            store.post("run", b""),
        ):
            with pytest.raises(StoreError) as caught:
                await call
            assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_what_cannot_be_a_url_a_client_or_a_setting() -> None:
    for url in ("", f"http://:{SECRET}@x", f"redis://:{SECRET}@x:{SECRET}", "redis://x?nonsense=1", "redis://x?db=none"):
        with pytest.raises(UserError, match="url of a Redis is expected") as caught:
            RedisRunStore(url)
        assert SECRET not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(UserError, match="url_or_client is 'Redis', expected a URL"):
        RedisRunStore(redis.Redis())  # type: ignore[arg-type]
    for prefix in ("", "{", "a}", "\n"):
        with pytest.raises(UserError, match="prefix is"):
            RedisRunStore("redis://x", prefix=prefix)
    with pytest.raises(UserError, match="timeout is 0"):
        RedisRunStore("redis://x", timeout=0)


def test_a_missing_package_is_named() -> None:
    script = """
import sys
sys.modules["redis"] = None
from agentsdk.stores.redis import RedisRunStore
from agentsdk.types.errors import UserError
try:
    RedisRunStore("redis://x")
except UserError as error:
    print(error)
"""
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert "pip install 'agentsdk[redis]'" in outcome.stdout, outcome.stderr


async def test_what_redis_cannot_keep_is_refused(redis_url: str) -> None:
    async with opened(redis_url, "refused") as store:
        for bad in (float("inf"), float("nan")):
            for field in ("started_at", "updated_at", "held_until", "due_at", "elapsed", "ended_at"):
                with pytest.raises(UserError, match="not finite"):
                    await store.append("run", 0, [], summed("run", 0, **{field: bad}))
        with pytest.raises(StoreError, match="surrogates"):
            await store.append("run", 0, [], summed("run", 0, reason="\ud800"))
        with pytest.raises(UserError, match="run_id"):
            await append(store, "\ud800", 0)
        assert await store.summary("\ud800") is None
        assert await store.list(RunQuery()) == []


async def test_thousands_of_events_are_one_append(redis_url: str) -> None:
    async with opened(redis_url, "thousands") as store:
        events = [b"%d" % number for number in range(12_345)]
        await append(store, "run", 0, *events)
        assert await store.read("run") == events
        assert await store.read("run", 12_000) == events[12_000:]
        await store.delete("run")


async def fill(store: RunStore, runs: Sequence[RunSummary]) -> None:
    await asyncio.gather(*(store.append(one.run_id, 0, [], one) for one in runs))


async def test_any_query_gives_what_fits_in_order_over_any_pages(redis_url: str) -> None:
    async with opened(redis_url, "queries") as store:
        await expect_answers_of_memory(store)
    with admin(redis_url) as client:
        assert client.keys("{queries}:*") == [b"{queries}:version"]


async def test_of_abandoned_runs_only_those_are_read_that_can_be_some(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        runs = [summed(f"waits {number}", 0, "waiting", float(number)) for number in range(700)]
        runs += [replace(summed(f"works {number}", 0, "running", float(number)), held_until=9e9) for number in range(700)]
        runs += [replace(summed(f"left {number}", 0, "running", float(number)), held_until=5.0) for number in range(3)]
        await fill(store, runs)
        calls: dict[str, int] = {}
        with counted(server.url, calls):
            found = await store.list(RunQuery(abandoned_at=5.0))
        assert [one.run_id for one in found] == ["left 2", "left 1", "left 0"]
        assert calls["zscore"] == 3
        assert sum(calls.values()) < 40


async def test_what_is_due_is_found_without_a_look_at_what_is_not(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        runs = [summed(f"waits {number}", 0, "waiting", float(number)) for number in range(500)]
        for number, agent in itertools.product(range(500), "ab"):
            due = replace(summed(f"{agent}{number}", 0, "ready", 1.0), first_agent=agent, due_at=float(number + 1))
            runs += [due, replace(due, run_id=f"later {due.run_id}", due_at=9e9, priority=1)]
        await fill(store, runs)
        for agents in (None, ["b"], ["b", "a"]):
            calls: dict[str, int] = {}
            with counted(server.url, calls):
                found = await store.due(DueRuns(at=1000.0, agents=agents, limit=4))
            expected = ["b0", "b1", "b2", "b3"] if agents == ["b"] else ["a0", "b0", "a1", "b1"]
            assert [one.run_id for one in found] == expected
            assert sum(calls.values()) < 45


async def test_of_several_pairs_those_runs_are_read_that_have_the_rarest(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        pairs = ({"tenant": "acme", "user": "ada" if number in (5, 1400) else "eve"} for number in range(2_000))
        await fill(store, [replace(summed(f"r{at}", 0, at=float(at)), metadata=pair) for at, pair in enumerate(pairs)])
        for query in ({"tenant": "acme", "user": "ada"}, {"user": "ada", "tenant": "acme"}):
            calls: dict[str, int] = {}
            with counted(server.url, calls):
                assert [one.run_id for one in await store.list(RunQuery(metadata=query))] == ["r1400", "r5"]
            assert calls["evalsha"] == 1
        page = await store.list(RunQuery(metadata={"tenant": "acme"}, limit=1_500))
        assert [one.run_id for one in page] == [f"r{at}" for at in reversed(range(500, 2_000))]


async def test_many_runs_are_listed_and_pruned_in_batches(redis_url: str) -> None:
    async with opened(redis_url, "many") as store:
        runs = [summed(f"{number:04}", 0, "finished", float(number % 40)) for number in range(1_200)]
        await fill(store, runs)
        found = await store.list(RunQuery(limit=10_000))
        assert found == sorted(runs, key=lambda one: (one.started_at, one.run_id), reverse=True)
        assert await store.prune(39.0) == 1170
        assert {one.updated_at for one in await store.list(RunQuery())} == {39.0}


async def test_a_run_that_goes_on_during_a_prune_stays(redis_url: str) -> None:
    class GoesOn(RedisRunStore):
        async def list(self, query: RunQuery) -> list[RunSummary]:
            page = await super().list(query)
            if query.after is None:
                await self.append("resumed", 0, [], summed("resumed", 0))
                await self.append("touched", 0, [], summed("touched", 0, "finished", updated_at=99.0))
            return page

    async with contextlib.aclosing(GoesOn(redis_url, prefix="goes on")) as store:
        for run_id in ("resumed", "touched", "old"):
            await store.append(run_id, 0, [], summed(run_id, 0, "finished"))
        assert await store.prune(50.0) == 1
        assert await store.summary("old") is None
        assert await store.summary("resumed") is not None and await store.summary("touched") is not None


async def test_stores_of_other_prefixes_do_not_see_each_other(redis_url: str) -> None:
    async with opened(redis_url, "one") as one, opened(redis_url, "one:log") as other:
        await append(one, "run", 0, b"a")
        assert await other.list(RunQuery()) == [] and await other.summary("run") is None


async def test_all_keys_of_a_call_are_on_one_node_of_a_cluster(redis_url: str) -> None:
    with redis_server.running(cluster_enabled="yes") as server:
        with admin(server.url) as client:
            client.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
        async with opened(server.url) as store:
            for run_id in ("{a}", "}{", "{}", "plain", "{agentsdk}:runs"):
                for call in (
                    append(store, run_id, 0, b"a"),
                    store.read(run_id),
                    store.summary(run_id),
                    store.list(RunQuery()),
                    store.list(RunQuery(metadata={"{a}": "{b}"})),
                    store.due(DueRuns(at=1.0)),
                    store.post(run_id, b"signal"),
                    store.signals(run_id),
                    store.attach(run_id, "{name}", b"data"),
                    store.attachment(run_id, "{name}"),
                    store.delete(run_id),
                ):
                    # A new cluster is down for its first seconds; it says so only where it would not refuse the keys.
                    with contextlib.suppress(StoreUnavailableError, RunNotFoundError):
                        await call


async def test_a_given_client_lends_its_pool_and_stays_open(redis_url: str) -> None:
    async with Redis.from_url(redis_url, decode_responses=True, protocol=3) as client:
        for _ in range(2):
            async with opened(client, "client") as store:
                await append(store, "run", 0, b"\xff")
                assert await store.read("run") == [b"\xff"]
                assert [one.run_id for one in await store.list(RunQuery())] == ["run"]
                await store.delete("run")
        assert await client.ping()


async def test_stores_of_one_url_share_connections(server: redis_server.RedisServer) -> None:
    with admin(server.url) as client:
        async with opened(server.url) as first:
            for number in range(20):
                async with opened(server.url, f"prefix {number}") as store:
                    await append(store, "run", 0, b"a")
            await append(first, "run", 0, b"a")
            assert len(client.client_list()) == 2, "one, and this one that asks"
        for _ in range(10_000):  # the server sees the end of a connection when it next looks
            if len(client.client_list()) == 1:
                break
        assert len(client.client_list()) == 1


async def test_a_hundred_appends_at_once_share_a_bounded_pool(server: redis_server.RedisServer) -> None:
    async with opened(server.url) as store:
        await asyncio.gather(*(append(store, f"run {number}", 0, b"a") for number in range(200)))
        with admin(server.url) as client:
            assert len(client.client_list()) <= 51
        assert len(await store.list(RunQuery(limit=1000))) == 200


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, []),
        ({"appendfsync": "everysec"}, ["power loss"]),
        ({"appendfsync": "no", "maxmemory_policy": "allkeys-lru"}, ["power loss", "remove runs"]),
        ({"appendonly": "no"}, ["restart"]),
    ],
    ids=["safe", "everysec", "evicting", "no file"],
)
async def test_what_the_server_can_lose_is_said_once(
    redis_url: str, options: dict[str, str], says: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server.running(**options) as server, caplog.at_level(logging.WARNING, "agentsdk"):
        for _ in range(2):
            async with opened(server.url) as store:
                await asyncio.gather(*(append(store, run_id, 0, b"a") for run_id in "abc"))
                for run_id in "abc":
                    await store.delete(run_id)
        logged = [record.getMessage() for record in caplog.records]
        assert len(logged) == len(says)
        for line, expected in zip(logged, says, strict=True):
            assert f"127.0.0.1:{server.port}" in line and expected in line


async def test_a_server_that_keeps_its_settings_to_itself_is_used_all_the_same(server: redis_server.RedisServer) -> None:
    with admin(server.url) as client:
        client.acl_setuser("nobody", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-config"])
    async with opened(server.url.replace("//", "//nobody:x@")) as store:
        await append(store, "run", 0, b"a")


FORKED = """
import asyncio, os, sys
from agentsdk.stores.redis import RedisRunStore
from agentsdk.types.summary import RunSummary

store = RedisRunStore(sys.argv[1])

async def append(run_id):
    await store.append(run_id, 0, [], RunSummary(run_id=run_id, rev=0, status="running", agent="", started_at=1, updated_at=1))

asyncio.run(append("before"))
child = os.fork()
asyncio.run(append("parent" if child else "child"))
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(*[asyncio.run(store.summary(run_id)).run_id for run_id in ("before", "parent", "child")])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_works_after_a_fork_and_ends_without_a_warning_unclosed(server: redis_server.RedisServer) -> None:
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", FORKED, server.url]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.stdout, outcome.stderr) == ("before parent child\n", "")


async def test_a_closed_store_says_so(redis_url: str) -> None:
    store = RedisRunStore(redis_url)
    await store.aclose()
    with pytest.raises(AgentsException, match=r"Redis at '127.0.0.1:\d+/0' was closed"):
        await store.list(RunQuery())
