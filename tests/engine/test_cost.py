"""What a run costs: by the name its model is served as, or else by the one it was asked by, nested runs included."""

from __future__ import annotations

import asyncio
import sys
import threading
from copy import copy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    CostLimitExceededError,
    MaxTurnsExceeded,
    MemoryRunStore,
    Message,
    ModelPrice,
    ModelResponse,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    RunSummary,
    SQLiteRunStore,
    Usage,
    function_tool,
    shared_limits,
)
from agentsdk.errors import InvalidOutputError
from agentsdk.models.prices import price_with
from agentsdk.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

PRICES = {"mine": ModelPrice(input="1000", output="1000"), "theirs": ModelPrice(input="2000", output="2000")}
USAGE = Usage(1, 600, 400)
EACH = Decimal(1)
"""What a reply of `mine` costs; one of `theirs` costs twice that."""


@function_tool(effect="none")
def look(x: int) -> str:
    """Look."""
    return f"saw {x}"


def said(item: Any, served: str, usage: Usage = USAGE) -> ModelResponse:
    item = Message("assistant", item) if isinstance(item, str) else item
    return ModelResponse((item,), usage, "stop" if isinstance(item, Message) else "tool_calls", model=served)


def model(served: str, *items: Any, name: str = "mine", usage: Usage = USAGE) -> ScriptedModel:
    return ScriptedModel([said(item, served, usage) for item in items], name=name)


@pytest.mark.parametrize(
    ("served", "cost"),
    [("mine", 2), ("mine-2026-01-01", 2), ("", 2), ("openai/gpt-x", 2), ("gpt-4o", 2), ("theirs", 4), ("theirs-2", 4)],
)
@pytest.mark.parametrize("around", ["nothing", "limit", "block"])
async def test_a_run_is_priced_by_the_served_name_or_else_by_the_asked_one(served: str, cost: int, around: str) -> None:
    agent = Agent("main", model=model(served, call("look", x=1), "done"), tools=[look])
    limits = RunLimits(cost=99) if around == "limit" else RunLimits()
    config = RunConfig(prices=PRICES, limits=limits)
    with shared_limits(cost=99, turns=9) if around == "block" else shared_limits() as budget:
        result = await Runner.run(agent, "go", run_config=config)
    assert result.cost == cost * EACH
    assert budget.spent.cost == cost * EACH


@pytest.mark.parametrize("served", ["mine", "openai/gpt-x", ""])
async def test_a_limit_on_cost_holds_over_a_resume_whatever_the_served_name(served: str) -> None:
    agent = Agent("main", model=model(served, *[call("look", x=n) for n in range(9)]), tools=[look])
    config = RunConfig(prices=PRICES, limits=RunLimits(turns=2, output_tokens_per_request=400))
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(agent, "go", run_config=config)
    assert raised.value.state is not None
    state = RunState.from_string(agent, raised.value.state.to_string())  # type: ignore[attr-defined]
    again = RunConfig(prices=PRICES, limits=RunLimits(turns=9, cost="2.5", output_tokens_per_request=400))
    with pytest.raises(CostLimitExceededError) as reached:
        await Runner.run(agent, state, run_config=again)
    assert Decimal(2) <= Decimal(str(reached.value.used)) <= Decimal("3.5")


async def test_nested_runs_and_replies_of_no_use_are_paid_for() -> None:
    empty = ModelResponse((), USAGE, "stop", model="served")
    child = Agent("child", model=ScriptedModel([empty, said("c", "odd")], name="theirs"))
    parent = model("mine", call("ask", input="?"), "done")
    agent = Agent("main", model=parent, tools=[child.as_tool("ask")])
    result = await Runner.run(agent, "go", run_config=RunConfig(prices=PRICES))
    assert result.cost == 2 * EACH + 2 * 2 * EACH


@pytest.mark.parametrize("unknown", ["price", "usage"])
@pytest.mark.parametrize("nested", [False, True])
async def test_what_is_not_known_is_none_and_never_a_guess(unknown: str, nested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.setattr("agentsdk.models.prices.find_spec", lambda name: None)
    odd = model("odd", "c", name="odd") if unknown == "price" else model("mine", "c", usage=Usage(1, 5, 5, known=False))
    agent = Agent("odd", model=odd)
    if nested:
        agent = Agent("main", model=model("mine", call("ask", input="?"), "done"), tools=[agent.as_tool("ask")])
    assert (await Runner.run(agent, "go", run_config=RunConfig(prices=PRICES))).cost is None


async def test_the_cost_grows_while_a_run_is_read_and_each_reply_is_priced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    priced: list[int] = []
    prices = {"mine": PRICES["mine"]}
    of = ModelPrice.of

    def noted(self: ModelPrice, usage: Usage) -> Decimal:
        priced.append(usage.input_tokens)
        return of(self, usage)

    monkeypatch.setattr(ModelPrice, "of", noted)
    agent = Agent("main", model=model("mine", *[call("look", x=n) for n in range(9)], "done"), tools=[look])
    run = Runner.run_streamed(agent, "go", run_config=RunConfig(prices=prices))
    seen: list[Decimal | None] = []
    async for _ in run:
        seen.append(run.cost)
    assert run.cost == 10 * EACH and len(priced) == 10
    assert seen == sorted(seen) and len(set(seen)) >= 10  # type: ignore[type-var]


def test_what_is_given_comes_before_the_lists() -> None:
    price = price_with(PRICES)
    pytest.importorskip("genai_prices", reason="needs the extra: pip install 'agentsdk[prices]'")
    assert price(USAGE, "gpt-4o", "mine") == EACH, "the asked name is given, the served one only listed"
    assert price(USAGE, "theirs", "mine") == 2 * EACH, "both are given"
    listed = price_with(None)(USAGE, "gpt-4o")
    assert price(USAGE, "gpt-4o") == price(USAGE, "nobody-sells-it", "gpt-4o") == listed is not None
    assert price(USAGE, "nobody-sells-it", "nobody-either") is price(USAGE, "", "") is None


@pytest.mark.parametrize("durability", ["sync", "batch", "steps", 3600.0, "exit"])
async def test_a_stored_runs_summary_says_what_it_cost(durability: Any, tmp_path: Path) -> None:
    async def summary() -> RunSummary:
        found = await store.summary("r")
        assert found is not None
        return found

    seen: list[Decimal | None] = []

    @function_tool(effect="none")
    async def ask(x: int) -> str:
        seen.append((await summary()).cost)
        return "ok"

    @function_tool(needs_approval=True)
    def pay() -> str:
        return "paid"

    child = Agent("child", model=model("odd", "c", name="theirs"))
    items = [call("ask", x=1), call("child", input="?"), call("ask", x=2), call("pay"), "done"]
    agent = Agent("main", model=model("odd", *items), tools=[ask, pay, child.as_tool("child")])
    store = SQLiteRunStore(tmp_path / "runs.db")
    config = RunConfig(prices=PRICES, store=store, run_id="r", durability=durability)
    result = await Runner.run(agent, "go", run_config=config)
    assert (await summary()).cost == result.cost == 4 * EACH + 2 * EACH
    assert durability not in ("sync", "batch") or seen == [EACH, 5 * EACH]
    [waiting] = result.interruptions
    state = await Runner.load("r", run_config=config)
    state.approve(waiting)
    await Runner.decide(state, run_config=config)
    assert (await summary()).cost == 6 * EACH
    forked = await Runner.fork("r", run_config=config)
    fork = await store.summary(forked)
    assert fork is not None and fork.cost == 6 * EACH
    resumed = await Runner.resume(agent, "r", run_config=config)
    assert (await summary()).cost == resumed.cost == 7 * EACH
    await store.aclose()


async def test_a_stored_run_without_a_known_price_costs_nobody_knows_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.prices.find_spec", lambda name: None)
    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r")
    await Runner.run(Agent("main", model=model("odd", "done", name="odd")), "go", run_config=config)
    summary = await store.summary("r")
    assert summary is not None and summary.cost is None and summary.paid == ""


async def test_the_price_lists_are_read_once_and_not_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentsdk.models import prices

    readers: list[threading.Thread] = []

    def noted(*given: Any) -> None:
        readers.append(threading.current_thread())

    monkeypatch.setattr(prices, "_reading", [])
    monkeypatch.setattr(prices, "find_spec", lambda name: name)
    monkeypatch.delitem(sys.modules, "genai_prices.data", raising=False)
    monkeypatch.setattr(prices, "cost_of", noted)
    await asyncio.gather(*[prices.read_price_lists() for _ in range(5)])
    assert len(readers) == 1 and readers[0] is not threading.main_thread()


async def test_a_run_that_failed_says_what_it_has_cost() -> None:
    agent = Agent[None, int]("clerk", output_type=int, model=ScriptedModel(["many", "very many", '{"response": 3}']))
    config = RunConfig(prices={"scripted": ModelPrice(input="1", output="2")})
    with pytest.raises(InvalidOutputError) as caught:
        await Runner.run(agent, "How many?", run_config=config)
    state = caught.value.state
    assert isinstance(state, RunState)
    spent = state.usage
    assert spent.requests == 2
    assert state.cost == Decimal(spent.input_tokens + 2 * spent.output_tokens) / 1_000_000
    assert copy(state).cost == state.cost
    assert RunState.from_string(agent, state.to_string()).cost is None, "who loads it does not know the prices"
    result = await Runner.run(agent, state, run_config=config)
    assert result.cost == result.to_state().cost
    assert result.cost is not None and result.cost > Decimal(0)
