from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.models.prices import RunCost, cost_of, price_run
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

prices = pytest.importorskip("genai_prices", reason="needs the extra: pip install 'agentsdk[prices]'")
USAGE = Usage(requests=1, input_tokens=1000, output_tokens=100, cached_tokens=400, cache_write_tokens=100)


def listed(model: str, provider: str, usage: Usage = USAGE) -> Decimal:
    spent = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    price: Decimal = prices.calc_price(spent, model, provider_id=provider).total_price
    return price


@pytest.mark.parametrize(("model", "provider"), [("gpt-4o", "openai"), ("claude-sonnet-4-5", "anthropic")])
def test_a_known_price(model: str, provider: str) -> None:
    assert cost_of(USAGE, model, provider) == cost_of(USAGE, model) == listed(model, provider) > 0


def test_cached_tokens_are_cheaper_and_written_ones_dearer() -> None:
    plain, read, written = (
        cost_of(Usage(1, 1000, 0, cached, writes), "claude-sonnet-4-5", "anthropic")
        for cached, writes in ((0, 0), (1000, 0), (0, 1000))
    )
    assert plain is not None and read is not None and written is not None
    assert read < plain < written


@pytest.mark.parametrize(
    ("usage", "model", "provider"),
    [
        (USAGE, "a-model-nobody-sells", None),
        (USAGE, "gpt-4o", "nobody"),
        (USAGE, "", None),
        (Usage(1, 1000, 100, known=False), "gpt-4o", "openai"),
        (Usage(1, 10, 1, cached_tokens=20), "gpt-4o", "openai"),
    ],
    ids=["model", "provider", "no name", "usage left out", "contradiction"],
)
def test_what_is_unknown_is_none(usage: Usage, model: str, provider: str | None) -> None:
    assert cost_of(usage, model, provider) is None


def reply(model: str, *items: Message | FunctionCall, usage: Usage = USAGE) -> ModelResponse:
    finish = "tool_calls" if any(isinstance(item, FunctionCall) for item in items) else "stop"
    return ModelResponse(items, usage, finish, model=model)  # type: ignore[arg-type]


@function_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SAID = Message("assistant", "5")


@pytest.mark.anyio
async def test_a_run_is_priced_reply_by_reply() -> None:
    model = ScriptedModel([reply("gpt-4o", call("add", a=2, b=3)), reply("gpt-4o", SAID)])
    result = await Runner.run(Agent(name="Adder", model=model, tools=[add]), "2 + 3?")
    one = listed("gpt-4o", "openai")
    assert price_run(result) == price_run(result, "openai") == RunCost(one * 2, True, {"gpt-4o": one * 2})
    assert price_run(result, "nobody") == RunCost(Decimal(0), False, {"gpt-4o": None})


@pytest.mark.anyio
async def test_an_unknown_price_says_so() -> None:
    replies = [reply("gpt-4o", call("add", a=1, b=1)), reply("odd", call("add", a=1, b=1)), reply("gpt-4o", SAID)]
    result = await Runner.run(Agent(name="Adder", model=ScriptedModel(replies), tools=[add]), "?")
    one = listed("gpt-4o", "openai")
    assert price_run(result) == RunCost(one * 2, False, {"gpt-4o": one * 2, "odd": None})


@pytest.mark.anyio
async def test_a_model_with_one_unknown_reply_is_unknown() -> None:
    unknown = Usage(1, 5, 5, known=False)
    replies = [reply("gpt-4o", call("add", a=1, b=1), usage=unknown), reply("gpt-4o", SAID)]
    cost = price_run(await Runner.run(Agent(name="Adder", model=ScriptedModel(replies), tools=[add]), "?"))
    assert cost == RunCost(listed("gpt-4o", "openai"), False, {"gpt-4o": None})


@pytest.mark.anyio
async def test_a_nested_run_leaves_the_cost_unknown() -> None:
    helper = Agent(name="helper", model=ScriptedModel([reply("gpt-4o", SAID)])).as_tool("helper", "Helps.")
    model = ScriptedModel([reply("gpt-4o", call("helper", input="?")), reply("gpt-4o", SAID)])
    cost = price_run(await Runner.run(Agent(name="Asker", model=model, tools=[helper]), "?"))
    assert cost == RunCost(2 * listed("gpt-4o", "openai"), False, {"gpt-4o": 2 * listed("gpt-4o", "openai")})


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(UserError, match=r"pip install 'agentsdk\[prices\]'"):
        cost_of(USAGE, "gpt-4o")


def test_the_package_is_imported_only_to_price() -> None:
    script = "import sys, agentsdk.models.prices; print('genai_prices' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert outcome.stdout == "False\n"
