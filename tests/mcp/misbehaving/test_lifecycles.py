"""The lifecycle matrix: no hang, no ExceptionGroup, no process or task left, whoever opens and closes a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from agentsdk.mcp.client import stdio_transport
from tests.mcp.misbehaving import lifecycles
from tests.mcp.misbehaving.ours import Contestant
from tests.mcp.misbehaving.play import Script, Target
from tests.mcp.misbehaving.servers.base import MODERN
from tests.mcp.misbehaving.servers.http_front import HttpFront
from tests.steps import cancelled_at

pytestmark = pytest.mark.anyio

CANCELS = 200


@pytest.mark.parametrize("era", lifecycles.ERAS)
@pytest.mark.parametrize("name", lifecycles.ROWS)
async def test_lifecycle(name: str, era: str) -> None:
    async with asyncio.timeout(30):
        await lifecycles.play(name, Contestant(), era)


async def test_an_error_in_the_block_comes_as_it_is() -> None:
    with lifecycles.place(Contestant(), MODERN) as here, pytest.raises(ValueError, match="the user's own"):
        async with here.server() as server:
            await here.run(server)
            raise ValueError("the user's own")


@pytest.mark.leaves_tasks
def test_the_end_of_a_program_is_no_silence_of_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent server is about to leave by itself, and is waited for; this one is told at once."""
    monkeypatch.setattr(stdio_transport, "_NOTICE", 240)
    with lifecycles.place(Contestant(), MODERN) as here:
        began = time.monotonic()
        asyncio.run(here.opened())
        assert time.monotonic() - began < 120 and here.count("eof") == 1


async def cancelled_200_times(run: Callable[[], Coroutine[Any, Any, None]], *, leaves: bool = False) -> int:
    """Cancels runs with a call at each of their steps, and lets one end; how many began.

    `leaves`: what tells the server so may still be under way when a run has ended.
    """
    cancelled, at, finished = 0, 0, 0
    while cancelled < CANCELS:
        at += 1
        outcome = await cancelled_at(at, run)
        assert leaves or not outcome.left_running, outcome.left_running
        if outcome.was_cancelled:
            assert isinstance(outcome.error, asyncio.CancelledError), outcome.error
            cancelled += 1
        else:  # that was the last step
            assert at > 5 and outcome.error is None, outcome.error
            at, finished = 0, finished + 1
    await run()
    return cancelled + finished + 1


async def test_200_calls_are_cancelled_at_every_step() -> None:
    """The next run works on the same process, and no call was sent twice."""
    with lifecycles.place(Contestant(), MODERN) as here:
        server = await here.opened()
        began = await cancelled_200_times(lambda: here.run(server))
        assert here.count("call") <= began
        await server.aclose()
        assert here.count("start") == 1


@pytest.mark.parametrize("era", lifecycles.ERAS)
async def test_200_calls_over_http_are_cancelled_at_every_step(era: str, tmp_path: Path) -> None:
    """No call was sent twice, and no task and no connection is left."""
    front = HttpFront(era, str(tmp_path / "journal"))
    url, before = await front.start(), asyncio.all_tasks()
    try:
        with lifecycles.place(Contestant(), era) as here:
            server = here.contestant.server(Target(url=url))
            await here.run(server)
            began = 1 + await cancelled_200_times(lambda: here.run(server), leaves=True)
            assert front.inner.count("call") <= began
            await server.aclose()
        async with asyncio.timeout(10):
            await asyncio.gather(*front.tasks)
        assert asyncio.all_tasks() == before
    finally:
        await front.stop()


async def test_calls_are_cancelled_while_they_are_on_their_way() -> None:
    """At every turn of the event loop: also where the owner of the connection works, not the run."""
    with lifecycles.place(Contestant(), MODERN) as here:
        server = await here.opened()
        for turns in range(100):
            run = asyncio.create_task(here.run(server))
            for _ in range(turns):
                await asyncio.sleep(0)
            run.cancel()
            await asyncio.wait([run])
            assert run.cancelled() or run.exception() is None
        await here.run(server)
        await server.aclose()
        assert here.count("start") == 1


async def test_opening_is_cancelled_at_every_step() -> None:
    """A server that is opened by a run which is cancelled meanwhile works in the next run."""
    with lifecycles.place(Contestant(), MODERN) as here:
        at, was_cancelled = 1, True
        while was_cancelled:
            server = here.server()
            outcome: Any = await cancelled_at(at, lambda server=server: here.contestant.run(server, Script([("ping", {})])))
            was_cancelled = outcome.was_cancelled
            await here.run(server)
            await server.aclose()
            at += 1
        assert at > 5
