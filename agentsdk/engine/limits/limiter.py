"""`Limiter`: the limits of one run in motion, as far as it has read its log; `shared_limits`: limits around several runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from agentsdk.core.limits.budget import Amount, Budget, Grant, Wait
from agentsdk.core.limits.run_limits import Reached, RunLimits
from agentsdk.core.limits.totals import Price
from agentsdk.core.limits.usage_tracker import UsageTracker
from agentsdk.types.errors import UserError
from agentsdk.types.events import RunEvent
from agentsdk.types.tape import Tape

SCOPE: ContextVar[Budget | None] = ContextVar("agentsdk limits", default=None)
"""The budget of the innermost `shared_limits` block that is open."""

_waiting: dict[asyncio.AbstractEventLoop, set[asyncio.Future[None]]] = {}
"""Who waits for what others have reserved; woken whenever any of them settles."""


@contextmanager
def shared_limits(budget: Budget | None = None, /, **limits: Any) -> Generator[Budget]:
    """Limits around all runs that begin in the block, concurrently or one after the other: fields of `RunLimits` by name.

    `with shared_limits(tokens=50_000, cost="1.00") as budget:` lets them spend that much together; `budget.spent` says how much
    they have. Blocks nest, and each run's own limits hold beside them. Only limits on spending count here (turns, requests,
    tokens, cost, tool calls): time and being stuck are each run's own. `with shared_limits(budget):` goes on with the budget of
    an earlier block, in any task. Raises `UserError` for a field there is not, and for limits beside a budget.
    """
    if budget is None:
        budget = _budget_of(limits)
    elif not isinstance(budget, Budget):
        raise UserError(
            f"shared_limits(...) was given {type(budget).__name__}, expected the budget of an earlier block; "
            "limits go by name, as shared_limits(cost=1)"
        )
    elif limits:
        raise UserError(
            f"shared_limits(...) was given a budget and {', '.join(limits)}, expected one of them; it has limits of its own"
        )
    token = SCOPE.set(budget)
    try:
        yield budget
    finally:
        SCOPE.reset(token)


def _budget_of(limits: dict[str, Any]) -> Budget:
    given: dict[str, Any] = {"turns": None, **limits}
    if unknown := [repr(name) for name in limits if name not in RunLimits.__slots__]:
        raise UserError(f"shared_limits(...) was given {', '.join(unknown)}, expected fields of RunLimits; see its docstring")
    return Budget(RunLimits(**given), within=SCOPE.get())


class Limiter:
    """What a run has used of its limits, nested runs included."""

    __slots__ = ("_read", "budget", "usage_tracker")

    def __init__(
        self,
        limits: RunLimits,
        price: Price,
        log: Tape[RunEvent],
        *,
        has_budget: bool,
        within: Budget | None,
        last_on_top: bool,
    ) -> None:
        self.usage_tracker = UsageTracker(limits, price)
        self._read = 0
        self.read(log)
        self.budget = Budget(limits, self.usage_tracker.spent, within, last_on_top=last_on_top) if has_budget else None
        """What may still be spent; None where no more than turns are limited, which need no reckoning."""

    def read(self, log: Tape[RunEvent]) -> None:
        """Count what was added to the log since."""
        new = log.since(self._read)
        self._read += len(new)
        self.usage_tracker.feed(new)


async def wait_for_grant(ask: Callable[[], Grant | Wait | Reached]) -> Grant | Reached:
    """What `ask` comes to: where only the reservations of others stand in the way, once one of them has settled."""
    loop = asyncio.get_running_loop()
    while isinstance(answer := ask(), Wait):
        freed: asyncio.Future[None] = loop.create_future()
        waiting = _waiting.setdefault(loop, set())
        waiting.add(freed)
        try:
            await freed
        finally:
            waiting.discard(freed)
            if not waiting:
                _waiting.pop(loop, None)
    return answer


def settle(budget: Budget, grant: Grant, used: Amount) -> None:
    """Count what a grant came to, and wake those who wait."""
    budget.settle(grant, used)
    for freed in _waiting.get(asyncio.get_running_loop(), ()):
        if not freed.done():
            freed.set_result(None)
