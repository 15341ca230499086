"""Cancellation: wherever a run is left, its history is valid, nothing goes on behind it, and it can go on itself."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import httpx
import pytest

import agentsdk.runner
from agentsdk import (
    Agent,
    AgentsException,
    FunctionCall,
    FunctionCallOutput,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MemorySession,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    SessionError,
    ToolContext,
    ToolInDoubtItem,
    UserError,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.engine.run import Run
from agentsdk.testing import FakeOpenAIServer, ScriptedModel, call
from agentsdk.types.items import Item, items_from_input
from tests.scenarios import Brain, World, agent_of, thread_tool, tool_of
from tests.steps import Outcome, at_every_step


class SlowSession(MemorySession):
    """A session that takes a few steps for everything, and keeps each write whole."""

    async def get_items(self, limit: int | None = None) -> list[Item]:
        await asyncio.sleep(0)
        return await super().get_items(limit)

    async def add_items(self, items: Sequence[Any]) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await super().add_items(items)

    async def pop_item(self) -> Item | None:
        await asyncio.sleep(0)
        return await super().pop_item()


class Noted(Run):
    """Every root run there was, in order: a cancelled `Runner.run` gives its caller none."""

    seen: list[Run] = []

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.parent is None:
            Noted.seen.append(self)


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    Noted.seen = []
    monkeypatch.setattr(agentsdk.runner, "Run", Noted)


# The run that is cancelled everywhere: parallel calls of every kind, guardrails on both ends, an agent as tool, a session.

REPLIES: dict[str, Any] = {
    "1": [call("read", x=1), call("pay", x=1), call("put", x=1)],
    "2": [call("sync", x=2), call("pay", x=2), call("helper", input="dig")],
    "3": [call("pay", x=3), call("read", x=3)],
    "4": "all done here",
}
HELPER_REPLIES: dict[str, Any] = {"1": [call("dig", x=1)], "2": "dug"}


def busy_agent(world: World, model: Any = None, helper_model: Any = None) -> Agent[Any, Any]:
    @input_guardrail
    async def polite(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], given: object) -> GuardrailFunctionOutput:
        for _ in range(3):
            await asyncio.sleep(0)
        return GuardrailFunctionOutput(None, False)

    @output_guardrail
    async def proper(ctx: RunContextWrapper[Any], agent: Agent[Any, Any], output: object) -> GuardrailFunctionOutput:
        await asyncio.sleep(0)
        return GuardrailFunctionOutput(None, False)

    helper = Agent("helper", model=helper_model or Brain(world, HELPER_REPLIES), tools=[tool_of(world, "dig", "once", steps=2)])
    return Agent(
        "main",
        model=model or Brain(world, REPLIES),
        tools=[
            tool_of(world, "read", "none", steps=2),
            tool_of(world, "pay", "once", steps=3),
            tool_of(world, "put", "idempotent"),
            thread_tool(world, "sync", "idempotent"),
            helper.as_tool(),
        ],
        input_guardrails=[polite],
        output_guardrails=[proper],
    )


async def run_plain(agent: Agent[Any, Any], given: Any, session: Any, config: RunConfig) -> Any:
    return (await Runner.run(agent, given, session=session, run_config=config)).final_output


async def run_stream(agent: Agent[Any, Any], given: Any, session: Any, config: RunConfig) -> Any:
    async with Runner.run_streamed(agent, given, session=session, run_config=config) as stream:
        async for _ in stream:
            pass
    return stream.final_output


MODES = pytest.mark.parametrize("mode", [run_plain, run_stream], ids=["run", "stream"])


def check_pairs(items: Sequence[Item]) -> None:
    """Every call has one result, after it; every result has its call."""
    calls = [item.call_id for item in items if isinstance(item, FunctionCall)]
    results = [item.call_id for item in items if isinstance(item, FunctionCallOutput)]
    assert sorted(calls) == sorted(results) == sorted(set(calls)), items
    kinds = [(type(item), item.call_id) for item in items if isinstance(item, FunctionCall | FunctionCallOutput)]
    assert all(kinds.index((FunctionCall, one)) < kinds.index((FunctionCallOutput, one)) for one in calls), items


def check_marks(run: Run) -> None:
    """In the history, what has no result is marked so, and nothing else is."""
    turn = run.state.turn
    items = RunState(run.state).items()
    marked = {item.call_id for item in items if isinstance(item, FunctionCallOutput) and item.output == UNKNOWN_OUTCOME}
    assert marked == (set() if turn is None else {one.call_id for one in turn.calls} - turn.results.keys())


async def resumed(agent: Agent[Any, Any], state: RunState, session: Any, config: RunConfig, mode: Any) -> Any:
    """The run gone on from its saved state, calls in doubt settled with the results they have."""
    for _ in range(5):
        state = RunState.from_string(agent, state.to_string())
        for item in state.interruptions:
            assert isinstance(item, ToolInDoubtItem)
            x = item.arguments.partition(":")[2].rstrip("}")
            state.settle(item, result=f"{item.tool_name} gave {x}")
        try:
            return await mode(agent, state, session, config)
        except UserError:
            run = Noted.seen[-1]
            state = RunState(run.state)
            assert state.interruptions
    raise AssertionError("the run does not come to its end")


@MODES
def test_cancelled_at_every_step_a_run_is_whole_and_goes_on(mode: Any) -> None:
    async def main() -> None:
        config = RunConfig(run_id="r")
        expected_session = SlowSession("s")
        expected = await mode(busy_agent(World()), "go", expected_session, config)
        expected_items = RunState(Noted.seen[-1].state).items()
        expected_usage = Noted.seen[-1].state.usage
        worlds: list[World] = []
        sessions: list[SlowSession] = []

        async def work() -> Any:
            Noted.seen = []
            worlds.append(World())
            sessions.append(SlowSession("s"))
            return await mode(busy_agent(worlds[-1]), "go", sessions[-1], config)

        async def check(outcome: Outcome[Any]) -> None:
            where = f"cancelled at step {outcome.at}"
            assert isinstance(outcome.error, asyncio.CancelledError), f"{where}: {outcome.error!r}"
            assert outcome.left_running == [], where
            world, session = worlds[-1], sessions[-1]
            check_pairs(await session.get_items())
            if not Noted.seen or not Noted.seen[-1].state.log:
                assert not world.asked, where
                return
            run = Noted.seen[-1]
            check_pairs(RunState(run.state).items())
            check_marks(run)
            # In its very last step a task ends as cancelled although its run was over.
            assert run.state.stopped == "CancelledError" or run.state.ended is not None, where
            assert list(RunState(run.state).items()) == await session.get_items(), where
            again = World()
            assert await resumed(busy_agent(again), RunState(run.state), session, config, mode) == expected, where
            state = Noted.seen[-1].state
            assert RunState(state).items() == expected_items, where
            assert await session.get_items() == await expected_session.get_items(), where
            assert state.usage == expected_usage, where
            once = [key for key in (*world.done, *again.done) if names[key] in ("pay", "dig")]
            assert len(once) == len(set(once)), f"{where}: an effect was repeated"

        names = dict(effects_of(expected_items))
        steps = await at_every_step(work, check)
        assert steps > 50

    asyncio.run(main())


def effects_of(items: Sequence[Item]) -> list[tuple[str, str]]:
    """The idempotency key of each call with its tool; the nested run's call is known."""
    outer = [(f"r/{item.call_id}", item.name) for item in items if isinstance(item, FunctionCall)]
    return [*outer, *((f"{key}/call_1_1", "dig") for key, name in outer if name == "helper")]
