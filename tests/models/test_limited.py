"""So many requests at once, whether a request is read to its end, cancelled or fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import Agent, OutputTextDelta, Runner
from agentsdk.events import ResponseCompleted
from agentsdk.models.limited import ConcurrencyLimitedModel
from agentsdk.types.errors import RateLimitError, UserError
from agentsdk.types.items import Message
from agentsdk.types.response import ModelResponse

pytestmark = pytest.mark.anyio


class Counting:
    """Counts how many are asked at once; each reply waits until `go`."""

    name = "counting"

    def __init__(self, busy_at: int = 1) -> None:
        self.now = self.most = self.asked = 0
        self.busy_at = busy_at
        self.busy = asyncio.Event()
        self.go = asyncio.Event()

    async def stream(self, request: Any) -> Any:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self.busy_at:
            self.busy.set()
        try:
            yield OutputTextDelta("h")
            await self.go.wait()
            if self.asked % 3 == 0:
                raise RateLimitError("slow down", status=429)
            yield ResponseCompleted(ModelResponse((Message("assistant", "hello"),)))
        finally:
            self.now -= 1


async def test_never_more_than_the_limit_at_once() -> None:
    model = Counting(busy_at=3)
    agent = Agent("main", model=ConcurrencyLimitedModel(model, 3))
    runs = [asyncio.create_task(Runner.run(agent, "go")) for _ in range(12)]
    await model.busy.wait()
    runs[0].cancel()
    model.go.set()
    outcomes = await asyncio.gather(*runs, return_exceptions=True)
    assert model.most == 3 and model.now == 0 and model.asked == 12
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert all(isinstance(outcome, RateLimitError) or outcome.final_output == "hello" for outcome in outcomes[1:])  # type: ignore[union-attr]


async def test_a_waiting_request_can_be_cancelled() -> None:
    model = Counting()
    agent = Agent("main", model=ConcurrencyLimitedModel(model, 1))
    first, second = (asyncio.create_task(Runner.run(agent, "go")) for _ in range(2))
    await model.busy.wait()
    second.cancel()
    model.go.set()
    assert (await first).final_output == "hello"
    assert model.asked == 1


def test_a_limit_lets_something_through() -> None:
    with pytest.raises(UserError, match="at least 1"):
        ConcurrencyLimitedModel(Counting(), 0)


def test_the_limit_holds_in_each_event_loop() -> None:
    model = ConcurrencyLimitedModel(Counting(), 1)

    async def ask() -> str:
        counting = Counting()
        counting.go.set()
        model._model = counting
        return (await Runner.run(Agent("main", model=model), "go")).final_output

    assert [asyncio.run(ask()) for _ in range(2)] == ["hello", "hello"]
