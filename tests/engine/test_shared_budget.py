"""Sixteen children over real sockets share one budget: a server that bills by a tokenizer of its own says what they spent."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest

from agentsdk import (
    Agent,
    CostLimitExceededError,
    Message,
    ModelPrice,
    ModelResponse,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunLimits,
    Runner,
    Usage,
    aclose,
    function_tool,
)
from agentsdk.errors import TokenLimitExceededError, ToolCallLimitExceededError
from agentsdk.testing import CapturedRequest, FakeOpenAIServer, call
from agentsdk.testing.scripted import Say

pytestmark = pytest.mark.anyio

CHILDREN = 16


class Biller:
    """The provider: it counts a token for every four bytes it is sent, writes what it may, and keeps the bill."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.input_tokens = self.output_tokens = self.largest = 0

    def answer(self, request: CapturedRequest) -> Say:
        body = request.json
        names = [cast(Any, tool)["function"]["name"] for tool in cast(Any, body.get("tools", []))]
        cap = cast("int | None", body.get("max_tokens", body.get("max_completion_tokens")))
        wanted = self._random.randint(1, 1_500)
        output = wanted if cap is None else min(wanted, cap)
        asked = len(request.body) // 4
        self.input_tokens += asked
        self.output_tokens += output
        self.largest = max(self.largest, asked + output)
        usage = Usage(1, asked, output)
        if "child_0" in names:
            said: tuple[Any, ...] = tuple(call(f"child_{number}", input="work") for number in range(CHILDREN))
        elif "work" in names:
            said = (call("work", x=self._random.randrange(10**6)),)
        else:
            said = (Message("assistant", "done"),)
        return ModelResponse(said, usage, "stop" if isinstance(said[0], Message) else "tool_calls")


async def spend(seed: int, prices: Any = None, **limits: Any) -> tuple[Biller, list[int], BaseException]:
    """Let sixteen children work concurrently until a limit ends it."""
    biller, done = Biller(seed), list[int]()

    @function_tool(effect="none")
    async def work(x: int) -> str:
        done.append(x)
        return "x" * (x % 300)

    async with FakeOpenAIServer([biller.answer] * 2_000) as server:
        model = OpenAIChatCompletionsModel("some-model", base_url=server.base_url, api_key="none")
        child = Agent("child", model=model, tools=[work])
        tools = [child.as_tool(f"child_{number}") for number in range(CHILDREN)]
        parent = Agent("parent", model=model, tools=tools)
        given = RunConfig(limits=RunLimits(turns=None, **limits), prices=prices)
        with pytest.raises((TokenLimitExceededError, CostLimitExceededError, ToolCallLimitExceededError)) as raised:
            await Runner.run(parent, "go", run_config=given)
        await aclose()
    return biller, done, raised.value


@pytest.mark.parametrize("seed", range(3))
async def test_tokens_overshoot_by_one_response_at_most(seed: int) -> None:
    biller, _, _ = await spend(seed, tokens=60_000)
    overshoot = biller.input_tokens + biller.output_tokens - 60_000
    print(f"16 children, 60,000 tokens: overshoot {overshoot}, the largest response {biller.largest}")
    assert overshoot <= biller.largest
    assert overshoot > -12_000, "the budget is used"


@pytest.mark.parametrize("seed", range(3))
async def test_output_does_not_overshoot_at_all(seed: int) -> None:
    biller, _, _ = await spend(seed, output_tokens=30_000)
    print(f"16 children, 30,000 output tokens: overshoot {biller.output_tokens - 30_000}")
    assert 30_000 - 1_500 < biller.output_tokens <= 30_000


async def test_cost_overshoots_by_one_response_at_most() -> None:
    price = ModelPrice(input="1", output="4")
    biller, _, _ = await spend(7, prices={"some-model": price}, cost="0.10")
    cost = price.of(Usage(1, biller.input_tokens, biller.output_tokens))
    print(f"16 children, 0.10 dollars: spent {cost}")
    assert cost <= cast(Any, price.of(Usage(1, 1_500, 1_500))) + cast(Any, type(cost)("0.10"))


async def test_calls_do_not_overshoot() -> None:
    _, done, _ = await spend(3, tool_calls=100)
    print(f"16 children, 100 calls: {CHILDREN + len(done)} made")
    assert CHILDREN + len(done) == 100
