from __future__ import annotations

import time
from collections.abc import AsyncGenerator

import pytest

from agentsdk.models.retry import SystemClock, parse_retry_after, wait_before_retry, with_retries
from agentsdk.types.deltas import AttemptDiscarded, ModelStreamEvent, OutputTextDelta, ResponseCreated
from agentsdk.types.errors import MalformedResponseError, ModelConnectionError, ProviderError, RateLimitError
from agentsdk.types.settings import ModelRetrySettings
from tests.models.wire import FakeClock

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:10 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_parse_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, NOW) == seconds


def test_waits() -> None:
    settings = ModelRetrySettings(initial_delay=1, multiplier=3, max_delay=5, jitter=0.5)
    assert [wait_before_retry(n, None, settings, 0.0) for n in range(3)] == [1, 3, 5]
    assert wait_before_retry(0, None, settings, 1.0) == 0.5
    assert wait_before_retry(2, 10.0, settings, 0.0) == 10.0
    assert wait_before_retry(2, 10.0, settings, 1.0) == pytest.approx(11.0)


class Attempts:
    """Attempts that give what each was told to, an error last."""

    def __init__(self, *attempts: list[ModelStreamEvent | Exception]) -> None:
        self.left = list(attempts)
        self.made = 0
        self.closed = 0

    async def __call__(self) -> AsyncGenerator[ModelStreamEvent, None]:
        self.made += 1
        try:
            for step in self.left[self.made - 1]:
                if isinstance(step, Exception):
                    raise step
                yield step
        finally:
            self.closed += 1


async def drain(attempts: Attempts, clock: FakeClock, **settings: float) -> list[ModelStreamEvent]:
    retry = ModelRetrySettings(**settings)  # type: ignore[arg-type]
    return [event async for event in with_retries(attempts, retry, clock, lambda: 0.0)]


TEXT = OutputTextDelta("a")
BROKEN = ModelConnectionError("broken", retryable=True)


@pytest.mark.anyio
async def test_a_failed_attempt_is_repeated() -> None:
    attempts, clock = Attempts([BROKEN], [BROKEN], [TEXT]), FakeClock()
    assert await drain(attempts, clock) == [TEXT]
    assert clock.slept == [0.5, 1.0]
    assert attempts.made == attempts.closed == 3


@pytest.mark.anyio
@pytest.mark.parametrize("retries", [0, 1, 4])
async def test_requests_are_one_and_the_retries(retries: int) -> None:
    attempts = Attempts(*[[BROKEN]] * 9)
    with pytest.raises(ModelConnectionError):
        await drain(attempts, FakeClock(), max_retries=retries)
    assert attempts.made == 1 + retries


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ProviderError("no"), MalformedResponseError("html"), ValueError("ours")])
async def test_other_errors_are_not_repeated(error: Exception) -> None:
    attempts = Attempts([error], [TEXT])
    with pytest.raises(type(error)):
        await drain(attempts, FakeClock())
    assert attempts.made == 1


@pytest.mark.anyio
async def test_nothing_is_repeated_once_something_was_shown() -> None:
    attempts = Attempts([ResponseCreated("1"), TEXT, BROKEN], [TEXT])
    with pytest.raises(ModelConnectionError):
        await drain(attempts, FakeClock())
    assert attempts.made == 1


@pytest.mark.anyio
async def test_a_bare_beginning_is_discarded() -> None:
    attempts = Attempts([ResponseCreated("1"), BROKEN], [ResponseCreated("2"), TEXT])
    assert await drain(attempts, FakeClock()) == [
        ResponseCreated("1"),
        AttemptDiscarded("ModelConnectionError"),
        ResponseCreated("2"),
        TEXT,
    ]


@pytest.mark.anyio
async def test_retry_after_is_kept_up_to_the_cap() -> None:
    clock = FakeClock()
    asked = RateLimitError("slow down", retryable=True, retry_after=60.0)
    assert await drain(Attempts([asked], [TEXT]), clock) == [TEXT]
    assert clock.slept == [60.0]
    longer = Attempts([RateLimitError("slow down", retryable=True, retry_after=60.5)], [TEXT])
    with pytest.raises(RateLimitError) as caught:
        await drain(longer, clock)
    assert caught.value.retry_after == 60.5
    assert longer.made == 1


@pytest.mark.anyio
async def test_closing_closes_the_attempt() -> None:
    attempts = Attempts([TEXT, TEXT])
    events = with_retries(attempts, ModelRetrySettings(), FakeClock())
    assert await events.__anext__() == TEXT
    await events.aclose()
    assert attempts.closed == 1


@pytest.mark.anyio
async def test_system_clock() -> None:
    clock = SystemClock()
    assert abs(clock.time() - time.time()) < 5
    await clock.sleep(0)
