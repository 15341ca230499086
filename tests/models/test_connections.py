from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from agentsdk import Agent, OpenAIChatCompletionsModel, Runner
from agentsdk.models import shared_client as shared_clients
from agentsdk.models.connections import KEEP_ALIVE, ConnectionPool, admission_to, proxy_for
from agentsdk.models.shared_client import aclose, set_max_connections, shared_client
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.errors import AgentsException, ModelTimeoutError, UserError
from agentsdk.types.settings import ModelRetrySettings
from tests.models.wire import ask, events_of, model_at, request

pytestmark = pytest.mark.anyio

PATIENCE = 60  # what hangs would hang for ever


@asynccontextmanager
async def connections(monkeypatch: pytest.MonkeyPatch, count: int) -> AsyncGenerator[None]:
    """At most `count` connections in the shared client."""
    await aclose()
    monkeypatch.setattr(shared_clients, "_max_connections", [])
    set_max_connections(count)
    yield
    await aclose()


async def all_idle(client: httpx.AsyncClient | None, server: FakeOpenAIServer) -> None:
    """Nothing is sent, nobody waits, and every connection can be used again."""
    pool: Any
    if client is None:
        shared = await shared_clients.shared_connections()
        pool, admission = shared.client._transport, shared.admission
        assert not pool._busy
        assert server.connections >= pool.open
    else:
        found = admission_to(client, httpx.URL(server.url))
        assert found is not None
        admission, pool = found, getattr(client._transport, "_pool")  # noqa: B009
        assert pool._requests == []
        assert all(one.is_idle() or one.is_closed() for one in pool.connections)
    assert (admission.inside, admission.waiting) == (0, 0)


KINDS = ("read", "slow", "break", "cancel", "cancel twice", "refused", "reset", "cut", "whole")


async def one_run(kind: str, agent: Agent[Any, Any], chance: random.Random) -> None:
    """One run that goes as `kind` says."""
    if kind == "whole":
        await Runner.run(agent, kind)
        return
    if kind.startswith("cancel"):
        task = asyncio.create_task(one_run("read", agent, chance))
        for _ in range(chance.randint(0, 60)):
            await asyncio.sleep(0)
        task.cancel()
        if kind == "cancel twice":
            for _ in range(chance.randint(1, 3)):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.wait({task})
        return
    async with Runner.run_streamed(agent, kind) as run:
        try:
            async for _ in run.stream_events():
                if kind == "break":
                    break
                for _ in range(5 if kind == "slow" else 0):
                    await asyncio.sleep(0)
        except AgentsException:
            if kind not in ("refused", "reset", "cut"):
                raise


def answer(asked: Any) -> ServerReply:
    """What the server says to a run of each kind: the run's input names it."""
    match asked.json["messages"][-1]["content"]:
        case "refused":
            return ServerReply(status=400, body={"error": {"message": "no"}})
        case "reset":
            return ServerReply(then="refuse")
        case "cut":
            return ServerReply("one two three four", stops_after=3, then="reset")
        case _:
            return ServerReply("one two three four " * 3)


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own client"])
@pytest.mark.parametrize("count", [1, 2, 7, 20])
@pytest.mark.parametrize("seed", [1, 2])
async def test_any_number_of_runs_ends(monkeypatch: pytest.MonkeyPatch, own: bool, count: int, seed: int) -> None:
    chance = random.Random(seed)
    limits = httpx.Limits(max_connections=count)
    async with (
        connections(monkeypatch, count),
        httpx.AsyncClient(limits=limits) as client,
        FakeOpenAIServer([answer] * 400) as server,
    ):
        model = model_at(server, http_client=client if own else None, retry=ModelRetrySettings(max_retries=0))
        agent = Agent(name="a", model=model)
        runs = [asyncio.create_task(one_run(chance.choice(KINDS), agent, chance)) for _ in range(150)]
        done, pending = await asyncio.wait(runs, timeout=PATIENCE)
        for task in pending:
            task.cancel()
        assert not pending
        assert [error for task in done if (error := task.exception())] == []
        assert (await ask(model, request())).text
        await all_idle(client if own else None, server)


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own client"])
async def test_cancelled_requests_leave_their_place_to_the_next(monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    go = asyncio.Event()
    limits = httpx.Limits(max_connections=2)
    async with (
        connections(monkeypatch, 2),
        httpx.AsyncClient(limits=limits) as client,
        FakeOpenAIServer([ServerReply("held", wait=go)] * 2 + ["last"] * 2) as server,
    ):
        model = model_at(server, http_client=client if own else None)
        held = [asyncio.create_task(ask(model, request())) for _ in range(2)]
        await server.requested(2)
        waiting = [asyncio.create_task(ask(model, request())) for _ in range(50)]
        await asyncio.sleep(0)
        for task in [*waiting[:49], held[0]]:
            task.cancel()
        assert (await waiting[49]).text == "last"
        go.set()
        assert (await held[1]).text == "held"
        await all_idle(client if own else None, server)
        assert len(server.requests) == 3


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own client"])
async def test_the_wait_for_a_connection_has_a_deadline_of_its_own(monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    go = asyncio.Event()
    limits = httpx.Limits(max_connections=1)
    async with (
        connections(monkeypatch, 1),
        httpx.AsyncClient(limits=limits) as client,
        FakeOpenAIServer([ServerReply("held", wait=go), "next"]) as server,
    ):
        own_client = client if own else None
        held = asyncio.create_task(ask(model_at(server, http_client=own_client), request()))
        await server.requested()
        hasty = model_at(server, http_client=own_client, timeouts=ModelTimeouts(pool=0.01))
        with pytest.raises(ModelTimeoutError, match="set_max_connections") as caught:
            await ask(hasty, request())
        assert not caught.value.retryable
        # The other deadlines begin when the request is sent.
        patient = model_at(server, http_client=own_client, timeouts=ModelTimeouts(idle=0.2, total=0.2))
        waiting = asyncio.create_task(events_of(patient, request(stream=True)))
        assert not (await asyncio.wait({waiting}, timeout=0.4))[0]
        go.set()
        assert (await held).text == "held"
        assert await waiting
        assert len(server.requests) == 2


async def test_a_place_is_kept_until_the_reply_was_read_or_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connections(monkeypatch, 1), FakeOpenAIServer(["one two three", "next"]) as server:
        first = model_at(server).stream(request(stream=True))
        await first.__anext__()
        second = asyncio.create_task(ask(model_at(server), request()))
        await asyncio.sleep(0)
        assert (await shared_clients.shared_connections()).admission.waiting == 1
        await first.aclose()
        assert (await second).text == "next"


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, "3", None])
def test_a_number_of_connections_that_is_none(wrong: Any) -> None:
    with pytest.raises(UserError, match=r"set_max_connections\(.*whole number from 1"):
        set_max_connections(wrong)


async def test_connections_of_several_origins_share_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        connections(monkeypatch, 2),
        FakeOpenAIServer(["a"] * 3) as first,
        FakeOpenAIServer(["b"] * 3) as second,
        FakeOpenAIServer(["c"] * 3) as third,
    ):
        for _ in range(3):
            for server in (first, second, third):
                await ask(model_at(server), request())
                assert sum(one.open_connections for one in (first, second, third)) <= 3  # one may just be closing
        pool: Any = (await shared_client())._transport
        assert pool.open == 2


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_idle_connections_are_used_last_first_and_closed_in_time() -> None:
    clock = Clock()
    pool = ConnectionPool(10, httpx.create_ssl_context(), now=clock)
    async with httpx.AsyncClient(transport=pool) as client, FakeOpenAIServer([]) as server:

        async def get() -> None:
            await client.get(server.url)

        await asyncio.gather(*(get() for _ in range(6)))
        assert (pool.open, server.connections) == (6, 6)
        clock.now = 10
        await get()
        assert (pool.open, server.connections) == (6, 6)
        clock.now = KEEP_ALIVE + 5
        for left in (4, 2, 1):  # the five that have rested too long, two at a time
            await get()
            assert pool.open == left
        assert server.connections == 6
    await server.all_closed()


async def test_a_connection_that_the_server_closed_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connections(monkeypatch, 1), FakeOpenAIServer(["a", "b"]) as server:
        assert (await ask(model_at(server), request())).text == "a"
        for handler in list(server._handlers):
            handler.cancel()
        await server.all_closed()
        assert (await ask(model_at(server), request())).text == "b"
        assert server.connections == 2


async def test_closing_the_client_breaks_off_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connections(monkeypatch, 2), FakeOpenAIServer([ServerReply("a", wait=asyncio.Event()), "b"]) as server:
        model = model_at(server, retry=ModelRetrySettings(max_retries=0))
        sent = asyncio.create_task(ask(model, request()))
        await server.requested()
        await aclose()
        with pytest.raises(AgentsException, match="connection"):
            await sent
        await server.all_closed()
        assert (await ask(model, request())).text == "b"


@pytest.mark.parametrize(
    ("environment", "through"),
    [
        ({"http_proxy": "{proxy}"}, True),
        ({"all_proxy": "{proxy}"}, True),
        ({"http_proxy": "127.0.0.1:{port}"}, True),
        ({"http_proxy": "{proxy}", "no_proxy": "a.invalid,.model.invalid"}, False),
        ({"https_proxy": "{proxy}"}, False),
    ],
)
async def test_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], through: bool
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    await aclose()
    async with FakeOpenAIServer([]) as proxy:
        for name, value in environment.items():
            monkeypatch.setenv(name, value.format(proxy=proxy.url, port=proxy.url.rpartition(":")[2]))
        address = "http://a.model.invalid/v1"
        if not through:
            assert proxy_for(httpx.URL(address)) is None
            return
        await (await shared_client()).get(address)
        assert [sent.path for sent in proxy.requests] == [address]
        await aclose()


async def test_cookies_are_not_kept() -> None:
    await aclose()
    said = ServerReply("a", headers={"set-cookie": "session=1; path=/"})
    async with FakeOpenAIServer([said, "b"]) as server:
        for _ in range(2):
            await ask(model_at(server), request())
        assert "cookie" not in server.requests[1].headers
        assert len((await shared_client()).cookies.jar) == 0


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own client"])
async def test_a_handshake_that_is_cancelled_leaves_no_socket(own: bool) -> None:
    began, closed = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            began.set()
        writer.close()
        closed.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server, httpx.AsyncClient() as client:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = OpenAIChatCompletionsModel("m", base_url=url, http_client=client if own else None)
        task = asyncio.create_task(ask(model, request()))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), PATIENCE)
    await aclose()
