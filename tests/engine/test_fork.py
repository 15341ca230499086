"""A fork goes on from any step of a run as a run of its own, and the run it left stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    MemoryRunStore,
    RunConfig,
    RunConflictError,
    Runner,
    RunNotFoundError,
    RunQuery,
    RunResult,
    RunState,
    ToolAnswerItem,
    ToolApprovalItem,
    UserError,
    function_tool,
)
from agentsdk.core.revisions import step_start
from agentsdk.errors import RunCancelledError
from agentsdk.runs import Decision
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import (
    ApprovalDecided,
    ApprovalJudged,
    Nested,
    RunEvent,
    RunStarted,
    ToolFinished,
    unnested,
)
from tests.engine.recorded import everything, recorded, scenario_called
from tests.scenarios import RUN_ID, SCENARIOS, Scenario, World, finished_calls, reloaded

pytestmark = pytest.mark.anyio


async def test_a_fork_can_read_what_was_cut_in_its_origin() -> None:
    @function_tool(effect="none")
    def look() -> str:
        """Look."""
        return "x" * 500 + "the end of it" + "y" * 500

    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="origin", max_tool_result_chars=100)
    first = Agent("main", model=ScriptedModel([call("look"), "done"]), tools=[look])
    result = await Runner.run(first, "go", run_config=config)
    (whole,) = result.full_results
    fork = await Runner.fork("origin", at=4, run_config=config)
    read = call("read_result", result_id=whole, offset=490, length=30)
    again = await Runner.resume(Agent("main", model=ScriptedModel([read, "read"]), tools=[look]), fork, run_config=config)
    assert "the end of it" in str([item for item in again.to_input_list() if item.get("type") == "function_call_output"][-1])


@pytest.mark.parametrize("begun", [True, False], ids=["waiting", "not begun"])
async def test_the_fork_of_a_cancelled_run_is_not_cancelled(begun: bool) -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    config = RunConfig(store=(store := MemoryRunStore()))
    agent = Agent("main", model=ScriptedModel([call("pay"), "done"]), tools=[pay])
    await Runner.submit(agent, "Pay.", run_id="origin", run_config=config)
    if begun:
        await Runner.resume(agent, "origin", run_config=config)
    await Runner.cancel("origin", by="ann", run_config=config)
    with pytest.raises(RunCancelledError):
        await Runner.resume(agent, "origin", run_config=config)
    fork = await Runner.fork("origin", run_config=config)
    stands = {run.run_id: run.status for run in await store.list(RunQuery())}
    assert stands == {"origin": "cancelled", fork: "waiting" if begun else "ready"}
    (waiting,) = (await Runner.resume(agent, fork, run_config=config)).interruptions
    await Runner.decide(fork, Decision(waiting.call_id, "approve"), run_config=config)
    assert (await Runner.resume(agent, fork, run_config=config)).final_output == "done"


FORKED = [scenario for scenario in SCENARIOS if scenario.recover is None and not isinstance(scenario.ends, type)]


def once(event: RunEvent) -> RunEvent:
    """A copied event, whether or not it was a decision that stood."""
    if isinstance(event, Nested):
        return Nested(event.call_id, once(event.event))
    return structs.replace(event, always=False) if isinstance(event, ApprovalDecided) and event.approved else event


async def to_the_end(
    scenario: Scenario, agent: Agent[Any, Any], run_id: str, config: RunConfig, known: dict[str, ToolFinished]
) -> RunResult[Any]:
    """Resume a stored run until it is finished. What waits is decided by another process, as the scenario says."""
    while True:
        result = await Runner.resume(agent, run_id, run_config=config)
        if result.is_finished:
            return result
        state = reloaded(agent, await Runner.load(run_id, run_config=config))
        for item in state.interruptions:
            if isinstance(item, ToolApprovalItem | ToolAnswerItem):
                scenario.decide(state, item)
            else:
                was = known["/".join((RUN_ID, *item.path, item.call_id))]
                if was.is_error:
                    state.mark_failed(item, str(was.output))
                else:
                    state.provide_result(item, result=str(was.output))
        await Runner.decide(state, run_config=config)


@pytest.mark.parametrize("scenario", FORKED, ids=str)
async def test_from_every_revision_to_the_end(scenario: Scenario) -> None:
    config = await recorded(scenario)
    assert config.store is not None
    origin = await Runner.load(RUN_ID, run_config=config)
    log, before = list(origin.value.log), await everything(config)
    known = finished_calls(log)
    for revision in range(1, len(log) + 1):
        world = World()
        fork = await Runner.fork(RUN_ID, at=revision, new_run_id=f"fork{revision}", run_config=config)
        taken = (await Runner.load(fork, run_config=config)).value.log
        start = step_start(log, revision)
        assert list(map(once, taken))[1:start] == list(map(once, log))[1:start]
        assert all(isinstance(unnested(event)[1], ApprovalJudged) for event in taken[start:])
        started = taken[0]
        assert isinstance(started, RunStarted)
        assert structs.replace(started, at=0.0) == structs.replace(log[0], run_id=fork, forked_from=RUN_ID, at=0.0)
        result = await to_the_end(scenario, scenario.build(world), fork, config, known)
        assert (result.final_output, result.run_id) == (scenario.ends, fork), revision
        assert result.to_state().items() == origin.items(), revision
        # Whatever ran again ran once, and under the fork's own keys.
        assert not any(what.startswith(f"{RUN_ID}/") for what in world.done)
        assert all(times == 1 for what, times in world.done.items() if what.startswith(f"{fork}/"))
        summary = await config.store.summary(fork)
        assert summary is not None
        assert (summary.forked_from, summary.status, summary.rev) == (RUN_ID, "finished", len(result.to_state().value.log))
    assert await everything(config) == before


async def test_a_fork_runs_again_what_lies_ahead_of_it() -> None:
    scenario = scenario_called("tool turns")
    config = await recorded(scenario)
    world = World()
    fork = await Runner.fork(RUN_ID, at=5, run_config=config)
    await Runner.resume(scenario.build(world), fork, run_config=config)
    assert sorted(world.done) == [f"{fork}/call_2_1", f"{fork}/call_3_1"]


async def test_the_whole_run_by_default_under_an_id_of_its_own() -> None:
    config = await recorded(scenario_called("one answer"))
    one, other = [await Runner.fork(RUN_ID, run_config=config) for _ in range(2)]
    assert len({one, other, RUN_ID}) == 3
    assert (await Runner.load(one, run_config=config)).is_finished


async def test_a_fork_of_a_fork_knows_where_it_comes_from() -> None:
    config = await recorded(scenario_called("one answer"))
    fork = await Runner.fork(RUN_ID, run_config=config)
    second = await Runner.fork(fork, at=1, run_config=config)
    assert config.store is not None
    summary = await config.store.summary(second)
    assert summary is not None and (summary.forked_from, summary.rev, summary.owner) == (fork, 1, "")


async def test_a_paused_fork_waits_by_itself() -> None:
    scenario = scenario_called("approved and rejected")
    config = await recorded(scenario)
    log = (await Runner.load(RUN_ID, run_config=config)).value.log
    assert config.store is not None
    statuses: list[str] = []
    for revision in range(1, len(log) + 1):
        fork = await Runner.fork(RUN_ID, at=revision, run_config=config)
        summary = await config.store.summary(fork)
        assert summary is not None
        statuses.append(f"{summary.status} {summary.waiting}")
    assert {"ready 0", "waiting 3", "waiting 1", "finished 0"} <= set(statuses)


async def test_a_fork_has_a_mailbox_of_its_own() -> None:
    @function_tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    first = Agent("main", model=ScriptedModel([call("pay"), "done", "done"]), tools=[pay])
    config = RunConfig(store=MemoryRunStore(), run_id="origin")
    await Runner.submit(first, "go", run_config=config)
    await Runner.send("origin", "Hurry.", run_config=config)
    (item,) = (await Runner.drive(first, "origin", run_config=config)).interruptions
    fork = await Runner.fork("origin", run_config=config)
    await Runner.decide(fork, Decision(item.call_id, "approve"), run_config=config)
    result = await Runner.drive(first, fork, run_config=config)
    assert (result.final_output, result.to_state().value.taken) == ("done", 1)


async def test_an_id_in_use_is_a_conflict_and_changes_nothing() -> None:
    config = await recorded(scenario_called("one answer"))
    before = await everything(config)
    with pytest.raises(RunConflictError, match="it exists already"):
        await Runner.fork(RUN_ID, new_run_id=RUN_ID, run_config=config)
    assert await everything(config) == before


@pytest.mark.parametrize("revision", [0, -1, 99])
async def test_a_revision_there_is_not(revision: int) -> None:
    config = await recorded(scenario_called("one answer"))
    with pytest.raises(UserError, match=f"run 'r' has no revision {revision}, expected 1 to "):
        await Runner.fork(RUN_ID, at=revision, run_config=config)


async def test_a_run_there_is_not() -> None:
    config = await recorded(scenario_called("one answer"))
    with pytest.raises(RunNotFoundError):
        await Runner.fork("nope", run_config=config)
    with pytest.raises(UserError, match="expected text without NUL"):
        await Runner.fork(RUN_ID, new_run_id="a\0b", run_config=config)
    with pytest.raises(UserError, match="no store given"):
        await Runner.fork(RUN_ID, run_config=RunConfig())


async def test_load_shows_a_run_as_it_was() -> None:
    config = await recorded(scenario_called("tool turns"))
    state: RunState = await Runner.load(RUN_ID, at=6, run_config=config)
    assert (state.turns, state.is_finished, len(state.value.log)) == (2, False, 6)


async def test_the_metadata_of_a_fork_is_its_origins_and_what_is_given_over_it() -> None:
    store = MemoryRunStore()
    given = RunConfig(store=store, run_id="r", metadata={"user": "ada", "tenant": "acme"})
    await Runner.run(Agent(name="A", model=ScriptedModel(["Hello."])), "Hello.", run_config=given)
    fork = await Runner.fork("r", run_config=RunConfig(store=store, metadata={"user": "bob", "why": "to compare"}))
    summary, origin = await store.summary(fork), await store.summary("r")
    assert summary is not None and origin is not None
    assert summary.metadata == {"user": "bob", "tenant": "acme", "why": "to compare"}
    assert origin.metadata == {"user": "ada", "tenant": "acme"}
