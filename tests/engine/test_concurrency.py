from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from agentsdk.define.threads import run_in_thread
from agentsdk.engine.concurrency import gather_with_limit, run_pair, shielded, wait_within_grace
from agentsdk.engine.grace import Grace
from tests.steps import Outcome, at_every_step

pytestmark = pytest.mark.anyio

GRACE = 5.0  # seconds


async def steps(count: int, done: list[Any], name: object = None, error: BaseException | None = None) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
    if error is not None:
        raise error
    done.append(name)


async def test_an_error_is_raised_when_all_have_ended() -> None:
    done: list[Any] = []
    jobs: list[tuple[str, Coroutine[Any, Any, None]]] = [
        ("late", steps(9, done, "late")),
        ("first", steps(1, done, error=ValueError("first"))),
        ("second", steps(5, done, error=KeyError("second"))),
    ]
    with pytest.raises(ValueError, match="first"):
        await gather_with_limit(jobs, limit=16, grace=Grace(GRACE))
    assert done == ["late"]


async def test_what_is_no_exception_comes_before_what_is() -> None:
    class Hard(BaseException):
        pass

    jobs: list[tuple[str, Coroutine[Any, Any, None]]] = [
        ("a", steps(1, [], error=ValueError())),
        ("b", steps(2, [], error=Hard())),
    ]
    with pytest.raises(Hard):
        await gather_with_limit(jobs, limit=16, grace=Grace(GRACE))


@pytest.mark.parametrize("limit", [1, 2, 16])
async def test_cancelled_at_any_step_no_job_is_left_and_none_is_forgotten(limit: int) -> None:
    done: list[Any] = []

    async def work() -> None:
        done.clear()
        await gather_with_limit([(str(n), steps(3, done, n)) for n in range(4)], limit=limit, grace=Grace(GRACE))

    async def check(outcome: Outcome[None]) -> None:
        assert isinstance(outcome.error, asyncio.CancelledError)
        assert outcome.left_running == []

    assert await at_every_step(work, check) > 10
    assert done == [0, 1, 2, 3]


async def test_the_cap_holds() -> None:
    running = peak = 0

    async def job() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1

    await gather_with_limit([(str(n), job()) for n in range(10)], limit=3, grace=Grace(GRACE))
    assert peak == 3


async def test_a_job_that_ignores_its_cancellation_is_named(caplog: pytest.LogCaptureFixture) -> None:
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass

    task = asyncio.create_task(gather_with_limit([("the stubborn one", stubborn())], limit=16, grace=Grace(0.01)))
    await asyncio.sleep(0.001)
    task.cancel()
    with caplog.at_level(logging.WARNING, "agentsdk"), pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.__notes__ == ["still running although cancelled: 'the stubborn one'"]
    assert "the stubborn one" in caplog.text
    release.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_the_first_error_of_either_cancels_the_other() -> None:
    for first, second in ((1, 5), (5, 1)):
        done: list[Any] = []
        slow = steps(50, done, "slow")
        failing = steps(2, done, error=ValueError("mine"))
        jobs = (failing, slow) if first < second else (slow, failing)
        with pytest.raises(ValueError, match="mine"):
            await run_pair("a", jobs[0], "b", jobs[1], grace=Grace(GRACE))
        assert done == []


async def test_both_cancelled_at_any_step_leave_nothing_and_swallow_nothing() -> None:
    class Failed(Exception):
        pass

    async def careful() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)

    async def work() -> None:
        try:
            await run_pair("a", steps(3, [], error=Failed()), "b", careful(), grace=Grace(GRACE))
        except Failed:
            return

    async def check(outcome: Outcome[None]) -> None:
        assert isinstance(outcome.error, asyncio.CancelledError), f"step {outcome.at}"
        assert outcome.left_running == []

    assert await at_every_step(work, check) > 8


async def test_a_shielded_job_is_whole_wherever_its_caller_is_cancelled() -> None:
    done: list[Any] = []

    async def work() -> None:
        done.clear()
        await shielded(steps(5, done, "whole"), grace=Grace(GRACE))

    async def check(outcome: Outcome[None]) -> None:
        assert isinstance(outcome.error, asyncio.CancelledError)
        assert outcome.left_running == []
        assert done == ["whole"] or outcome.at == 1

    assert await at_every_step(work, check) > 5


async def test_a_shielded_job_raises_its_error() -> None:
    with pytest.raises(ValueError, match="mine"):
        await shielded(steps(1, [], error=ValueError("mine")), grace=Grace(GRACE))


async def test_a_shielded_job_that_does_not_end_is_cancelled_after_the_grace() -> None:
    ended: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    task = asyncio.create_task(shielded(endless(), grace=Grace(0.01)))
    await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled"]


async def test_a_run_whose_one_side_failed_still_has_its_whole_grace() -> None:
    """The other side saw a cancellation, but of itself alone."""
    grace = Grace(GRACE)

    async def recording() -> None:
        saved = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0, lambda: asyncio.get_running_loop().call_soon(saved.set_result, None))
        cancelled = await wait_within_grace(saved, grace, 1.0)
        assert cancelled is not None and grace.left() is not None
        raise cancelled

    with pytest.raises(ValueError, match="mine"):
        await run_pair("a", steps(0, [], error=ValueError("mine")), "b", recording(), grace=grace)
    assert grace.left() is None


async def test_what_is_outlasted_ends_by_itself_or_with_its_share_of_the_grace() -> None:
    grace, over = Grace(0.001), asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(wait_within_grace(over, grace, 0.5))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    cancelled = await waiting
    assert isinstance(cancelled, asyncio.CancelledError) and not over.done()
    over.set_result(None)
    assert await wait_within_grace(over, grace, 0.5) is None


async def test_a_thread_that_is_left_running_is_named() -> None:
    release = threading.Event()

    async def body() -> None:
        await run_in_thread("slow", release.wait, lambda: 0.001)

    task = asyncio.create_task(gather_with_limit([("tool slow", body())], limit=16, grace=Grace(GRACE)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    release.set()
    assert caught.value.__notes__ == ["still running although cancelled: the thread of tool 'slow'"]
