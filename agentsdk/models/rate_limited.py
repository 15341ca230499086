"""`RateLimitedModel`: so many requests and tokens a minute, and the others wait their turn.

Each limit is a token bucket: it holds at most a minute's worth and is refilled evenly. What a reply will use is not known when
its request is sent, so the request reserves what the last reply used and the difference is corrected afterwards; the bucket
may go below zero by that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from weakref import WeakKeyDictionary

from agentsdk.models.retry import SystemClock
from agentsdk.ports.clock import CLOCK, Clock, read, standing_still, wait_idle
from agentsdk.ports.model import MODEL, Model, ModelRequest
from agentsdk.types.declared import Fields, number, optional
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ModelError, UserError

_PER_MINUTE = optional(number("more than 0", above=0))
_FIELDS = Fields(
    "RateLimitedModel", model=MODEL, requests_per_minute=_PER_MINUTE, tokens_per_minute=_PER_MINUTE, clock=optional(CLOCK)
)


class RateLimitedModel:
    """A model with at most so many requests or tokens a minute in an event loop; first come, first served.

    Each limit is a bucket that starts full and is filled evenly, so what a quiet minute left over may be used at once. A
    reply's tokens are known only afterwards: a request reserves what the last reply used (the first one nothing), which is
    corrected when its own reply is there. Whoever finds a bucket empty waits until it is filled again. Retries inside `model`
    are not seen here. `clock` is for tests.

    Raises `UserError` without any limit, and for one that is not positive.
    """

    def __init__(
        self,
        model: Model,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        if requests_per_minute is None and tokens_per_minute is None:
            raise UserError("RateLimitedModel has no limit; give requests_per_minute=, tokens_per_minute= or both")
        _FIELDS.check_given(
            model=model, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute, clock=clock
        )
        self._model = model
        self._requests_per_minute = requests_per_minute
        self._tokens_per_minute = tokens_per_minute
        self._clock = SystemClock() if clock is None else clock
        self._limits: WeakKeyDictionary[asyncio.AbstractEventLoop, _Limits] = WeakKeyDictionary()
        self.name = model.name

    def __repr__(self) -> str:
        limits = f"requests_per_minute={self._requests_per_minute}, tokens_per_minute={self._tokens_per_minute}"
        return f"RateLimitedModel({self._model!r}, {limits})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply as soon as the limits allow."""
        loop = asyncio.get_running_loop()
        limits = self._limits.get(loop)
        if limits is None:
            limits = self._limits[loop] = _Limits(self._requests_per_minute, self._tokens_per_minute, self._clock)
        reserved = await limits.enter()
        try:
            async with aclosing(self._model.stream(request)) as events:
                async for event in events:
                    if isinstance(event, ResponseCompleted) and event.response.usage.known:
                        usage = sum((attempt.usage for attempt in event.attempts), event.response.usage)
                        limits.correct(usage.requests, usage.total_tokens, reserved)
                    yield event
        except ModelError as error:
            if (spent := error.usage) is not None and spent.known:
                limits.correct(spent.requests, spent.total_tokens, reserved)
            raise


_STANDSTILL = 100
"""After so many waits in a row that did not move the clock it stands still."""


class _Limits:
    """The limits of one event loop."""

    def __init__(self, requests: float | None, tokens: float | None, clock: Clock) -> None:
        self._clock = clock
        now = read(clock)
        self._requests = None if requests is None else _Bucket(requests, now)
        self._tokens = None if tokens is None else _Bucket(tokens, now)
        self._usual = 0  # what the last reply used
        self._turn = asyncio.Lock()

    async def enter(self) -> int:
        """Wait for a request's turn; the tokens reserved for it. A wait that is cancelled takes nothing."""
        async with self._turn:  # the lock lets its waiters in in their order
            stood_still = 0
            while (wait := self._wait()) > 0:
                before = read(self._clock)
                await wait_idle(self._clock, wait)
                stood_still = 0 if read(self._clock) != before else stood_still + 1
                if stood_still == _STANDSTILL:
                    raise standing_still(self._clock)
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(self._usual)
            return self._usual

    def correct(self, requests: int, tokens: int, reserved: int) -> None:
        """A reply came: it used `requests` and `tokens`, for which one and `reserved` were taken before."""
        if self._requests is not None:
            self._requests.take(max(0, requests - 1))
        if self._tokens is not None:
            self._tokens.take(tokens - reserved)
        self._usual = tokens

    def _wait(self) -> float:
        now = read(self._clock)
        waits = [0.0]
        if self._requests is not None:
            waits.append(self._requests.wait_for(1, now))
        if self._tokens is not None:
            waits.append(self._tokens.wait_for(max(1, self._usual), now))
        return max(waits)


class _Bucket:
    """Holds at most `per_minute`, and may owe: what was used is taken even where it is not there."""

    def __init__(self, per_minute: float, now: float) -> None:
        self._size = per_minute
        self._level = per_minute
        self._filled_at = now

    def wait_for(self, amount: float, now: float) -> float:
        """Seconds until `amount` is there, or a full bucket if that is less."""
        passed = max(0.0, now - self._filled_at)  # the system's clock may be set back
        self._filled_at = now
        self._level = min(self._size, self._level + passed * self._size / 60)
        missing = min(amount, self._size) - self._level
        return missing * 60 / self._size if missing > _ROUNDING * self._size else 0.0

    def take(self, amount: float) -> None:
        """Take `amount`; less than nothing gives it back."""
        self._level -= amount


# What the sums of floats may be off: without it the last wait could be too short to move the clock, for ever.
_ROUNDING = 1e-6
