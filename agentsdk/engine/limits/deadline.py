"""Deadlines of runs: what is running when one has passed is stopped, down to the tools and requests of nested runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agentsdk.core.limits.run_limits import Reached
from agentsdk.engine.limits.reservation import stop
from agentsdk.engine.run import Run
from agentsdk.ports.clock import waits
from agentsdk.types.errors import LimitKind
from agentsdk.types.events import TimeSpent


async def within_time(run: Run, drive: Callable[[], Awaitable[None]]) -> None:
    """Drive the run for the time it has left, and record what it took. Raises `DeadlineExceededError`.

    Waits for rate limits and before retries do not count as working time. What ignores its cancellation is left behind after
    the run's `cancel_grace`.
    """
    limits, state, now = run.limits, run.state, run.deps.now
    began = waited_until = now() if run.began is None else run.began
    waited = 0.0

    def left() -> tuple[float, LimitKind]:
        elapsed = now() - began
        times: list[tuple[float, LimitKind]] = []
        if limits.deadline is not None:
            times.append((limits.deadline - state.elapsed - elapsed, "deadline"))
        if limits.active_time is not None:
            times.append((limits.active_time - state.working - elapsed + waited, "active_time"))
        return min(times)

    def wait(seconds: float) -> None:
        nonlocal waited, waited_until
        begins, ends = now(), now() + seconds
        waited += max(0.0, ends - max(begins, waited_until))  # concurrent nested runs wait once
        waited_until = max(waited_until, ends)
        timer.reschedule(asyncio.get_running_loop().time() + left()[0])

    seconds, over = left()
    timer = asyncio.timeout(max(seconds, 0.0))
    token = waits.set(wait)
    failure: BaseException | None = None
    try:
        if seconds > 0:
            async with timer:
                await drive()
                return
    except BaseException as error:
        if not (isinstance(error, TimeoutError) and timer.expired()):
            failure = error
            raise
        over = left()[1]
        run.deps.grace.reset()
    finally:
        waits.reset(token)
        elapsed = now() - began
        spent = TimeSpent(state.elapsed + elapsed, state.working + max(0.0, elapsed - waited))
        if run.state.ended is None:
            run.began = None
            await (run.record(spent) if failure is None else run.record_beside(failure, spent))
    await _stop(run, over, spent)


async def _stop(run: Run, over: LimitKind, spent: TimeSpent) -> None:
    limits = run.limits
    used, limit = (spent.elapsed, limits.deadline) if over == "deadline" else (spent.working, limits.active_time)
    assert limit is not None
    await stop(run, Reached(over, round(used, 3), limit, limits))
