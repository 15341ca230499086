"""Threads for sync tools: context, bounds, and threads that never return."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Iterator

import pytest

from agentsdk.define import threads
from agentsdk.define.threads import abandoned_tools, run_in_thread
from agentsdk.types.errors import ToolError

color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")


@pytest.fixture(autouse=True)
def own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_pool", threads._Pool())


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what another thread does, which asyncio has no event for."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def abandon(name: str, gate: threading.Event) -> None:
    begun = threading.Event()

    def body() -> None:
        begun.set()
        gate.wait()

    task = asyncio.create_task(run_in_thread(name, body))
    await until(begun.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.anyio
async def test_runs_elsewhere_with_the_callers_context() -> None:
    color.set("red")

    def body() -> tuple[bool, str]:
        seen = color.get()
        color.set("changed")
        return threading.get_ident() != thread, seen

    thread = threading.get_ident()
    assert await run_in_thread("t", body) == (True, "red")
    assert color.get() == "red"


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ValueError("x"), KeyError("y")])
async def test_errors_come_back(error: Exception) -> None:
    def body() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await run_in_thread("t", body)
    assert caught.value is error


@pytest.mark.anyio
async def test_stop_iteration_comes_back_as_an_error_that_can_be_raised() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await run_in_thread("t", lambda: next(iter(())))


@pytest.mark.anyio
async def test_threads_are_used_again() -> None:
    idents = {await run_in_thread("t", threading.get_ident) for _ in range(20)}
    assert len(idents) == 1
    assert abandoned_tools() == ()


@pytest.mark.anyio
async def test_at_most_so_many_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MAX_THREADS", 3)
    lock = threading.Lock()
    running = highest = 0

    def body() -> None:
        nonlocal running, highest
        with lock:
            running += 1
            highest = max(highest, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1

    await asyncio.gather(*(run_in_thread("t", body) for _ in range(30)))
    assert highest == 3


@pytest.mark.anyio
async def test_the_loop_runs_on_while_a_body_blocks(gate: threading.Event) -> None:
    task = asyncio.create_task(run_in_thread("t", gate.wait))
    for _ in range(50):
        await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    assert await task is True


@pytest.mark.anyio
async def test_a_cancelled_body_is_left_behind_counted_and_named(
    gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    await abandon("slow", gate)
    assert abandoned_tools() == ("slow",)
    assert "sync tool 'slow' was given up while it runs" in caplog.text
    gate.set()
    await until(lambda: abandoned_tools() == ())
    assert await run_in_thread("t", lambda: 1) == 1


@pytest.mark.anyio
async def test_abandoned_threads_do_not_keep_others_from_running(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MAX_THREADS", 2)
    for _ in range(4):
        await abandon("slow", gate)
    assert abandoned_tools() == ("slow",) * 4
    assert await asyncio.gather(*(run_in_thread("t", lambda: 1) for _ in range(6))) == [1] * 6
    gate.set()
    await until(lambda: abandoned_tools() == ())
    assert threads._pool.busy == 0
    assert len(threads._pool.idle) <= 2


@pytest.mark.anyio
async def test_a_waiting_body_starts_when_a_running_one_is_abandoned(
    gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MAX_THREADS", 1)
    begun = threading.Event()

    def slow() -> None:
        begun.set()
        gate.wait()

    first = asyncio.create_task(run_in_thread("slow", slow))
    await until(begun.is_set)
    second = asyncio.create_task(run_in_thread("t", lambda: 2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 2
    with pytest.raises(asyncio.CancelledError):
        await first


@pytest.mark.anyio
async def test_a_body_cancelled_before_it_began_never_runs(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MAX_THREADS", 1)
    ran: list[str] = []
    first = asyncio.create_task(run_in_thread("t", gate.wait))
    await asyncio.sleep(0)
    second = asyncio.create_task(run_in_thread("t", lambda: ran.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert abandoned_tools() == ()
    gate.set()
    await first
    await run_in_thread("t", lambda: ran.append("third"))
    assert ran == ["third"]


@pytest.mark.anyio
async def test_too_many_abandoned_threads_are_an_error(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MAX_ABANDONED", 2)
    await abandon("slow", gate)
    await abandon("slower", gate)
    with pytest.raises(ToolError, match=r"tool 't' was not started: 2 threads .* \(slow, slower\)"):
        await run_in_thread("t", lambda: 1)
    gate.set()
    await until(lambda: abandoned_tools() == ())
    assert await run_in_thread("t", lambda: 1) == 1


def test_a_loop_that_closed_does_not_break_the_thread(gate: threading.Event) -> None:
    async def leave() -> None:
        await abandon("slow", gate)

    async def on_that_thread() -> object:
        await until(lambda: abandoned_tools() == ())
        return await run_in_thread("t", lambda: 1)

    asyncio.run(leave())
    gate.set()
    assert asyncio.run(on_that_thread()) == 1
    assert len(threads._pool.idle) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    assert asyncio.run(run_in_thread("t", lambda: 1)) == 1
    child = os.fork()
    if child == 0:
        try:
            threading.Timer(20, os._exit, (3,)).start()
            answer = asyncio.run(run_in_thread("t", lambda: 7))
            os._exit(0 if answer == 7 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
