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


class HandClock:
    """In place of the event loop: its time stands still until `advance`, which fires the timer that is due."""

    def __init__(self, watchdog: Watchdog) -> None:
        self.now = 0.0
        self.due: float | None = None
        self.look = watchdog._look
        watchdog.close()
        watchdog._loop = self  # type: ignore[assignment]
        watchdog._idle_end = watchdog._idle
        watchdog._end = 100.0

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, look: object) -> HandClock:
        self.due = when
        return self

    def cancel(self) -> None:
        self.due = None

    def advance(self, now: float) -> None:
        self.now = now
        while self.due is not None and self.due <= now:
            self.due = None
            self.look()


async def wait_until(watchdog: Watchdog, clock: HandClock, now: float) -> None:
    """Wait, and let it be `now` while waiting."""

    async def moment() -> None:
        clock.advance(now)
        await asyncio.sleep(0)

    await watchdog.wait(moment())


async def test_progress_restarts_the_idle_deadline_only() -> None:
    watchdog = Watchdog(idle=10, total=100)
    clock = HandClock(watchdog)
    for now in range(8, 100, 8):
        await wait_until(watchdog, clock, now)
        watchdog.progress()
    with pytest.raises(DeadlinePassed) as caught:
        await wait_until(watchdog, clock, 100)
    assert caught.value.which == "total"


async def test_waits_without_progress_add_up() -> None:
    watchdog = Watchdog(idle=10, total=100)
    clock = HandClock(watchdog)
    await wait_until(watchdog, clock, 4)
    await wait_until(watchdog, clock, 8)
    with pytest.raises(DeadlinePassed) as caught:
        await wait_until(watchdog, clock, 12)
    assert caught.value.which == "idle"


async def test_a_pause_of_the_reader_is_not_idle() -> None:
    watchdog = Watchdog(idle=10, total=100)
    clock = HandClock(watchdog)
    await wait_until(watchdog, clock, 1)
    watchdog.progress()
    clock.advance(50)  # the timer fires here, and must cancel nobody
    await asyncio.sleep(0)
    await wait_until(watchdog, clock, 59)
    waiting = asyncio.ensure_future(watchdog.wait(asyncio.Event().wait()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


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


async def test_end_within_counts_anew_but_not_past_the_total() -> None:
    watchdog = Watchdog(idle=None, total=60)
    total = watchdog._end
    watchdog.end_within(5)
    first = watchdog._end
    watchdog.end_within(10)
    assert watchdog._end == first
    watchdog.end_within(10, restart=True)
    assert first < watchdog._end < total
    watchdog.end_within(600, restart=True)
    assert watchdog._end == total


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
