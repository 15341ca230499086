"""Retries with backoff, the one layer of them: what is retried, and after which wait (`retry-after`).

A request is retried only while nothing of its reply was shown, as a consumer cannot take back what it has seen. The provider's
own word on when to return (`retry-after`) comes before the backoff, and jitter keeps many clients from returning at once. What
failed attempts have cost goes along with the reply or with the last error: the provider bills it all the same.
"""

from __future__ import annotations

import asyncio
import random as _random
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from math import isfinite
from typing import TypeVar

from msgspec import structs

from agentsdk.ports.clock import Clock, wait_idle
from agentsdk.types.deltas import AttemptDiscarded, ResponseCompleted, ResponseCreated
from agentsdk.types.errors import ModelError, ProviderError
from agentsdk.types.settings import ModelRetrySettings, backoff
from agentsdk.types.usage import SpentAttempt

Event = TypeVar("Event")


class SystemClock:
    """The machine's clock, and asyncio's sleep."""

    def time(self) -> float:
        """The Unix timestamp, in seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`."""
        await asyncio.sleep(seconds)


def is_retryable(error: ModelError) -> bool:
    """Whether the same request may succeed later."""
    return isinstance(error, ProviderError) and error.retryable


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Event, None]],
    settings: ModelRetrySettings,
    clock: Clock,
    random: Callable[[], float] = _random.random,
    may_pass: Callable[[ModelError], bool] = is_retryable,
) -> AsyncGenerator[Event | AttemptDiscarded, None]:
    """The events of the first attempt that succeeds.

    An attempt is retried after an error that `may_pass`, as long as nothing of the reply was shown; otherwise, and when the
    retries are used up, its error is raised. What the attempts before cost goes along with either. `random` gives numbers in
    [0, 1).
    """
    failures = 0
    spent: tuple[SpentAttempt, ...] = ()
    while True:
        begun = shown = False
        events = attempt()
        try:
            async for event in events:
                begun = True
                shown = shown or type(event) is not ResponseCreated
                yield after_attempts(event, spent) if spent else event
            return
        except ModelError as error:
            error.attempts = spent = spent + error.attempts
            retry_after = error.retry_after if isinstance(error, ProviderError) else None
            if shown or failures >= settings.max_retries or not may_pass(error):
                raise
            if retry_after is not None and retry_after > settings.max_retry_after:
                raise
            wait = wait_before_retry(failures, retry_after, settings, random())
            reason = type(error).__name__
        finally:
            await events.aclose()
        failures += 1
        if begun:
            yield AttemptDiscarded(reason)
        await wait_idle(clock, wait)


def after_attempts(event: Event, spent: tuple[SpentAttempt, ...]) -> Event:
    """The event, if it completes a reply with what failed attempts before it have cost."""
    if isinstance(event, ResponseCompleted):
        return structs.replace(event, attempts=spent + event.attempts)
    return event


def wait_before_retry(failures: int, retry_after: float | None, settings: ModelRetrySettings, chance: float) -> float:
    """Seconds to wait after `failures` earlier ones: [ra, 1.1 ra] if the provider said `retry_after`."""
    if retry_after is not None:
        return retry_after * (1 + 0.1 * chance)
    return backoff(settings, failures, chance)


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from the `retry-after-ms` or `retry-after` header (seconds or an HTTP-date), None where neither can be read."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if value:
            try:
                seconds: float | None = float(value) * unit
            except ValueError:
                seconds = _seconds_until(value, now)
            if seconds is not None and isfinite(seconds):
                return max(0.0, seconds)
    return None


def _seconds_until(date: str, now: float) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError, TypeError):
        return None
