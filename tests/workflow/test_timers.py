"""Times that a workflow waits for: nobody is asked, the run rests, is due then, and says until when."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, UserError
from agentsdk.core.next_step import PendingTimer, ToolAnswerItem, pending_calls
from agentsdk.errors import RunConflictError
from agentsdk.runs import Decision
from agentsdk.stores import DueRuns, RunQuery
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.summary import RunSummary
from agentsdk.workflow import flow, workflow
from tests.stores.stores import STORES
from tests.workflow.programs import StillClock

pytestmark = pytest.mark.anyio


@workflow
async def naps(x: int) -> str:
    """Wait for two times."""
    await flow.sleep(60)
    await flow.until(1_200.0)
    return f"slept {x}"


@workflow
async def asks_beside(x: int) -> list[object]:
    asked = flow.ask("", answer=int, timeout=500), flow.wait_for("go", int, timeout=500)
    return list(await asyncio.gather(flow.sleep(60), *asked))


def stands(summary: RunSummary | None) -> tuple[str, int, float]:
    assert summary is not None
    return summary.status, summary.waiting, summary.due_at


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres", "redis"])
async def test_a_run_that_only_sleeps_waits_for_nobody_until_its_time(kind: str, request: pytest.FixtureRequest) -> None:
    clock, run_id = StillClock(), f"naps in {kind}"  # others use the same database
    async with aclosing(STORES[kind].factory(request)()) as store:
        config = RunConfig(store=store, clock=clock)
        await naps.submit(5, run_config=config, run_id=run_id)
        result = await naps.drive(run_id, 5, run_config=config)
        assert (result.interruptions, result.to_state().interruptions) == ([], [])
        assert (result.is_finished, result.stop_reason, "paused" in repr(result)) == (False, "waiting", True)
        with pytest.raises(UserError, match="no final output: it waits for a time"):
            _ = result.final_output
        assert stands(await store.summary(run_id)) == ("waiting", 0, 1060.0)
        assert [run.waiting for run in await store.list(RunQuery(status="waiting", agent="naps"))] == [0]
        assert await store.due(DueRuns(at=1059.0, agents=["naps"])) == []
        assert [run.run_id for run in await store.due(DueRuns(at=1060.0, agents=["naps"]))] == [run_id]
        with pytest.raises(RunConflictError, match="sleep"):
            await Runner.decide(run_id, Decision("sleep", "answer", answer=None), run_config=config)
        rests = len(result.to_state().value.log)
        early = await naps.drive(run_id, 5, run_config=config)
        assert len(early.to_state().value.log) == rests, "nothing comes of it before its time"
        clock.now = 1060.0
        await naps.drive(run_id, 5, run_config=config)
        assert stands(await store.summary(run_id)) == ("waiting", 0, 1200.0)
        clock.now = 1200.0
        assert (await naps.drive(run_id, 5, run_config=config)).final_output == "slept 5"
        assert stands(await store.summary(run_id)) == ("finished", 0, 0.0)


async def test_beside_a_time_what_can_be_answered_is_an_interruption() -> None:
    clock, store = StillClock(), MemoryRunStore()
    config = RunConfig(store=store, clock=clock, run_id="r")
    state = (await asks_beside.run(5, run_config=config)).to_state()
    assert [(item.call_id, type(item)) for item in state.interruptions] == [("ask", ToolAnswerItem), ("go", ToolAnswerItem)]
    assert [type(item) for item in pending_calls(state.value)] == [PendingTimer, ToolAnswerItem, ToolAnswerItem]
    assert stands(await store.summary("r")) == ("waiting", 2, 1060.0)
    for number, item in enumerate(state.interruptions):
        state.answer(item, number)
    result = await Runner.run(asks_beside, state, run_config=config)
    assert (result.interruptions, stands(await store.summary("r"))) == ([], ("waiting", 0, 1060.0))
    clock.now = 1061.0
    assert (await Runner.resume(asks_beside, "r", run_config=config)).final_output == [None, 0, 1]


async def test_an_agent_whose_tool_sleeps_waits_for_nobody_either() -> None:
    clock, store = StillClock(), MemoryRunStore()
    config = RunConfig(store=store, clock=clock, run_id="r")
    agent = Agent(name="A", tools=[naps.as_tool("nap", "Sleep.")], model=ScriptedModel([call("nap", input="3"), "awake"]))
    result = await Runner.run(agent, "Sleep.", run_config=config)
    assert (result.interruptions, stands(await store.summary("r"))) == ([], ("waiting", 0, 1060.0))
    for clock.now in (1060.0, 1200.0):
        result = await Runner.drive({"A": agent}, "r", run_config=config)
    assert result.final_output == "awake"


async def test_a_cancel_does_not_wait_for_the_time() -> None:
    clock, store = StillClock(), MemoryRunStore()
    config = RunConfig(store=store, clock=clock, run_id="r")
    await naps.run(5, run_config=config)
    await Runner.cancel("r", by="ann", run_config=config)
    assert [run.run_id for run in await store.due(DueRuns(at=1001.0))] == ["r"]
