"""So much a minute: who comes too soon waits, in the order of coming, and a wait that is cancelled takes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest

from agentsdk import Agent, Runner
from agentsdk.models.rate_limited import RateLimitedModel
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import ScriptedModel
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import UserError
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage
from tests.models.wire import FakeClock, ask, request

pytestmark = pytest.mark.anyio


@dataclass
class Metered:
    """Each reply uses the next number of tokens, None leaves the usage out; what was asked is kept."""

    uses: list[int | None]
    name: str = "metered"
    requests: int = 1
    asked: list[str] = field(default_factory=list[str])

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        self.asked.append(request.request_id)
        used = self.uses.pop(0)
        usage = Usage(known=False) if used is None else Usage(self.requests, used - 1, 1)
        yield ResponseCompleted(ModelResponse((Message("assistant", "ok"),), usage))


class HeldClock(FakeClock):
    """Every sleep lasts until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()
        self.go = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asleep.set()
        await self.go.wait()
        await super().sleep(seconds)


async def test_requests_are_spread_once_the_bucket_is_empty() -> None:
    clock = FakeClock()
    model = RateLimitedModel(Metered([1] * 7), requests_per_minute=2, clock=clock)
    for _ in range(4):
        await ask(model, request())
    assert clock.slept == [pytest.approx(30.0)] * 2
    clock.now += 600
    for _ in range(3):
        await ask(model, request())
    assert clock.slept[2:] == [pytest.approx(30.0)], "a quiet time leaves no more than one minute's worth"


async def test_what_a_reply_used_is_taken_and_the_next_one_set_aside() -> None:
    clock = FakeClock()
    model = RateLimitedModel(Metered([60, 30, 10, 10]), tokens_per_minute=60, clock=clock)
    await ask(model, request())
    await ask(model, request())
    assert clock.slept == [pytest.approx(60.0)]
    await ask(model, request())  # 30 of the 60 set aside came back
    assert clock.slept == [pytest.approx(60.0)]
    await ask(model, request())
    assert clock.slept == [pytest.approx(60.0)]


async def test_a_reply_larger_than_the_limit_leaves_a_debt() -> None:
    clock = FakeClock()
    model = RateLimitedModel(Metered([120, None, 5]), tokens_per_minute=60, clock=clock)
    await ask(model, request())
    await ask(model, request())
    assert clock.slept == [pytest.approx(120.0)]
    await ask(model, request())  # an unknown usage counts as the one before
    assert clock.slept[1:] == [pytest.approx(120.0)]


async def test_first_come_first_served_and_a_cancelled_wait_takes_nothing() -> None:
    clock = HeldClock()
    inner = Metered([1] * 9)
    model = RateLimitedModel(inner, requests_per_minute=1, clock=clock)
    asked = [ModelRequest(Tape([]), request_id=str(number)) for number in range(5)]
    await ask(model, asked[0])
    waiting = [asyncio.create_task(ask(model, one)) for one in asked[1:]]
    await clock.asleep.wait()
    waiting[0].cancel()
    waiting[2].cancel()
    clock.go.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert inner.asked == ["0", "2", "4"]
    assert [isinstance(outcome, asyncio.CancelledError) for outcome in outcomes] == [True, False, True, False]
    assert sum(clock.slept) == pytest.approx(120.0)


async def test_nobody_overtakes_one_who_waits() -> None:
    clock = HeldClock()
    inner = Metered([1] * 3)
    model = RateLimitedModel(inner, requests_per_minute=1, clock=clock)
    asked = [ModelRequest(Tape([]), request_id=str(number)) for number in range(3)]
    await ask(model, asked[0])
    waiting = asyncio.create_task(ask(model, asked[1]))
    await clock.asleep.wait()
    clock.now += 60  # there is something to take again, but the one who waits has not seen it yet
    late = asyncio.create_task(ask(model, asked[2]))
    await asyncio.sleep(0)
    clock.go.set()
    await asyncio.gather(waiting, late)
    assert inner.asked == ["0", "1", "2"]


async def test_a_reply_that_took_several_requests_counts_as_such() -> None:
    clock = FakeClock()
    model = RateLimitedModel(Metered([1, 1], requests=3), requests_per_minute=3, clock=clock)
    await ask(model, request())
    await ask(model, request())
    assert clock.slept == [pytest.approx(20.0)]


def test_the_limits_hold_in_each_event_loop() -> None:
    model = RateLimitedModel(ScriptedModel(["a", "b"]), requests_per_minute=1, clock=FakeClock())
    texts = [asyncio.run(Runner.run(Agent("main", model=model), "go")).final_output for _ in range(2)]
    assert texts == ["a", "b"]


def test_a_limit_is_positive_and_there_is_one() -> None:
    with pytest.raises(UserError, match="no limit"):
        RateLimitedModel(ScriptedModel([]))
    for limit in (0, -1, float("nan")):
        with pytest.raises(UserError, match="requests_per_minute"):
            RateLimitedModel(ScriptedModel([]), limit)
