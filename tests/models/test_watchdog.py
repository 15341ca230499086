from __future__ import annotations

import asyncio

import pytest

from agentsdk.models.watchdog import DeadlinePassed, Watchdog

pytestmark = pytest.mark.anyio


async def test_a_result_passes_through() -> None:
    watchdog = Watchdog(idle=60, total=60)
    assert await watchdog.wait(asyncio.sleep(0, "done")) == "done"
    watchdog.close()


@pytest.mark.parametrize(
    ("deadlines", "which"), [({"idle": 0.01, "total": None}, "idle"), ({"idle": None, "total": 0.01}, "total")]
)
async def test_a_deadline_interrupts(deadlines: dict[str, float | None], which: str) -> None:
    watchdog = Watchdog(idle=deadlines["idle"], total=deadlines["total"])
    with pytest.raises(DeadlinePassed) as caught:
        await watchdog.wait(asyncio.Event().wait())
    assert caught.value.which == which
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_no_deadline_needs_no_timer() -> None:
    watchdog = Watchdog(idle=None, total=None)
    assert await watchdog.wait(asyncio.sleep(0, 1)) == 1
    assert watchdog._timer is None


async def test_progress_restarts_the_idle_deadline_only() -> None:
    watchdog = Watchdog(idle=0.05, total=0.2)
    rounds = 0
    with pytest.raises(DeadlinePassed) as caught:
        while True:
            await watchdog.wait(asyncio.sleep(0.02))
            watchdog.progress()
            rounds += 1
    assert caught.value.which == "total"
    assert rounds >= 3


async def test_waits_without_progress_add_up() -> None:
    watchdog = Watchdog(idle=0.05, total=None)
    with pytest.raises(DeadlinePassed) as caught:
        while True:
            await watchdog.wait(asyncio.sleep(0.01))
    assert caught.value.which == "idle"


async def test_a_pause_of_the_reader_is_not_idle() -> None:
    watchdog = Watchdog(idle=0.02, total=None)
    await watchdog.wait(asyncio.sleep(0))
    watchdog.progress()
    await asyncio.sleep(0.05)  # the timer fires here, and must not cancel us
    assert await watchdog.wait(asyncio.sleep(0, "late")) == "late"
    watchdog.close()


async def test_a_cancellation_from_outside_wins() -> None:
    watchdog = Watchdog(idle=60, total=None)
    waiting = asyncio.ensure_future(watchdog.wait(asyncio.Event().wait()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    watchdog.close()


async def test_a_cancellation_beside_the_deadline_wins() -> None:
    watchdog = Watchdog(idle=None, total=60)
    waiting = asyncio.ensure_future(watchdog.wait(asyncio.Event().wait()))
    await asyncio.sleep(0)
    watchdog._end = 0.0
    watchdog._look()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_end_within_only_shortens() -> None:
    watchdog = Watchdog(idle=None, total=0.01)
    watchdog.end_within(60)
    with pytest.raises(DeadlinePassed):
        await watchdog.wait(asyncio.Event().wait())
    other = Watchdog(idle=None, total=60)
    await other.wait(asyncio.sleep(0))
    other.end_within(0.01)
    with pytest.raises(DeadlinePassed):
        await other.wait(asyncio.Event().wait())
