"""Signals with data: kept until the workflow waits for them, taken once each, in their order, whoever gave them from where."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, RunState, SQLiteRunStore, UserError, Worker
from agentsdk.core.revisions import step_start
from agentsdk.core.state import fold
from agentsdk.errors import RunConflictError, RunNotFoundError
from agentsdk.events import CallAnswered, RunEnded, SignalGiven
from agentsdk.testing import ScriptedModel, call
from agentsdk.workflow import flow, step, workflow

pytestmark = pytest.mark.anyio


@step(effect="none")
async def look(x: int) -> int:
    return x


@workflow
async def two_payments(x: int) -> list[int]:
    await look(x)
    first = await flow.wait_for("paid", int)
    shipped = await flow.wait_for("shipped", list[int])
    return [first, *shipped, await flow.wait_for("paid", int)]


def stored() -> RunConfig:
    return RunConfig(store=MemoryRunStore(), run_id="r")


async def give(config: RunConfig, *signals: tuple[str, Any]) -> None:
    for name, data in signals:
        await Runner.signal("r", name, data, by="ann", run_config=config)


async def test_signals_that_come_before_they_are_waited_for_are_kept_in_their_order() -> None:
    config = stored()
    await two_payments.submit(1, run_config=config, run_id="r")
    await give(config, ("paid", 1), ("paid", 2), ("paid", 3))
    result = await two_payments.drive("r", 1, run_config=config)
    assert [item.call_id for item in result.interruptions] == ["shipped"]
    await give(config, ("shipped", [7, 8]))
    result = await two_payments.drive("r", 1, run_config=config)
    assert result.final_output == [1, 7, 8, 2], "each is taken once"
    state = result.to_state().value
    assert [(signal.data, signal.by) for signal in state.signals] == [("3", "ann")]
    assert not any(isinstance(event, CallAnswered) for event in state.log), "its coming is enough"


async def test_a_run_that_waits_goes_on_once_its_signal_comes_and_no_sooner() -> None:
    config = stored()
    waiting = await two_payments.run(1, run_config=config)
    (item,) = waiting.interruptions
    assert item.call_id == "paid"
    await give(config, ("shipped", [5]))
    waiting = await two_payments.drive("r", 1, run_config=config)
    log = waiting.to_state().value.log
    again = await two_payments.drive("r", 1, run_config=config)
    assert list(again.to_state().value.log) == list(log), "it waits, with nothing to do"
    await give(config, ("paid", 1), ("paid", 2))
    assert (await two_payments.drive("r", 1, run_config=config)).final_output == [1, 5, 2]


async def test_a_live_run_takes_a_signal_while_another_branch_is_at_work() -> None:
    config, begun, go = stored(), asyncio.Event(), asyncio.Event()

    @step(effect="none")
    async def long() -> int:
        begun.set()
        await go.wait()
        return 1

    @workflow
    async def program(x: int) -> list[int]:
        return list(await asyncio.gather(flow.wait_for("paid", int), long(), flow.wait_for("paid", int)))

    running = asyncio.create_task(program.run(1, run_config=config))
    await begun.wait()
    await give(config, ("paid", 8), ("paid", 9))
    go.set()
    result = await running
    if result.interruptions:  # it looks for signals between two steps
        result = await program.drive("r", 1, run_config=config)
    assert result.final_output == [8, 1, 9], "the first that waits has the first"


async def test_any_process_gives_a_signal_and_a_worker_goes_on(tmp_path: Path) -> None:
    ours, theirs = SQLiteRunStore(tmp_path / "runs.db"), SQLiteRunStore(tmp_path / "runs.db")
    config = RunConfig(store=ours)
    with pytest.raises(RunNotFoundError):
        await Runner.signal("r", "paid", 1, run_config=RunConfig(store=theirs))
    await two_payments.submit(1, run_config=config, run_id="r")
    await Runner.signal("r", "paid", 1, run_config=RunConfig(store=theirs))
    worker = Worker(ours, agents=[two_payments], config=config)
    working = asyncio.create_task(worker.run())
    for signals in ((("shipped", [2]),), (("paid", 3),)):
        while (summary := await theirs.summary("r")) is None or summary.status != "waiting":
            await theirs.wait("r", 0 if summary is None else summary.rev, timeout=0.05)
        await give(RunConfig(store=theirs), *signals)
    while (summary := await theirs.summary("r")) is None or summary.status != "finished":
        await theirs.wait("r", 0 if summary is None else summary.rev, timeout=0.05)
    worker.stop()
    await working
    assert (await two_payments.drive("r", 1, run_config=config)).final_output == [1, 2, 3]
    with pytest.raises(RunConflictError):
        await Runner.signal("r", "paid", 4, run_config=config)
    await ours.aclose()
    await theirs.aclose()


async def test_from_every_prefix_of_the_log_each_signal_is_taken_as_it_was() -> None:
    config = stored()
    await two_payments.submit(1, run_config=config, run_id="r")
    await give(config, ("paid", 1), ("shipped", [5]), ("paid", 2))
    log = list((await two_payments.drive("r", 1, run_config=config)).to_state().value.log)
    given = max(number for number, event in enumerate(log, 1) if isinstance(event, SignalGiven))
    for length in range(given, len(log)):
        if step_start(log, length) == length:
            result = await Runner.run(two_payments, RunState(fold(log[:length])))
            assert result.final_output == [1, 5, 2], f"after event {length} of {len(log)}: {log[length - 1]!r}"


async def test_a_signal_that_does_not_fit_is_left_out_and_the_next_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    config = stored()
    await two_payments.submit(1, run_config=config, run_id="r")
    await give(config, ("paid", "much"), ("paid", 1), ("paid", 2), ("shipped", None), ("shipped", []))
    assert (await two_payments.drive("r", 1, run_config=config)).final_output == [1, 2]
    assert caplog.text.count("did nothing: the answer does not fit") == 2 and "much" not in caplog.text


@pytest.mark.parametrize("as_tool", [True, False])
async def test_a_nested_workflow_has_the_signals_of_its_run(as_tool: bool) -> None:
    @workflow
    async def outer(x: str) -> list[int]:
        return [*await two_payments(1), await flow.wait_for("paid", int)]

    model = ScriptedModel([call("two_payments", input="1"), "Done."])
    boss = Agent(name="Boss", tools=[two_payments.as_tool(tool_name="two_payments")], model=model)
    first: Agent[Any, Any] = boss if as_tool else outer
    config = stored()
    waiting = await Runner.run(first, "go" if as_tool else '"go"', run_config=config)
    assert waiting.interruptions
    await give(config, ("paid", 1), ("paid", 2), ("paid", 3), ("shipped", [0]))
    result = await Runner.drive(first, "r", run_config=config)
    assert result.final_output == ("Done." if as_tool else [1, 0, 2, 3])
    assert len(result.to_state().value.signals) == as_tool


async def test_a_fork_has_the_signals_that_had_come() -> None:
    config = stored()
    await two_payments.submit(1, run_config=config, run_id="r")
    await give(config, ("paid", 1), ("paid", 2))
    await two_payments.drive("r", 1, run_config=config)
    fork = await Runner.fork("r", new_run_id="f", run_config=config)
    for run_id, shipped in (("r", 5), (fork, 6)):
        await Runner.signal(run_id, "shipped", [shipped], run_config=config)
        result = await Runner.drive(two_payments, run_id, run_config=config)
        assert result.final_output == [1, shipped, 2]


async def test_a_signal_of_a_run_that_waits_for_none_is_recorded_and_changes_nothing() -> None:
    config = stored()
    clerk = Agent(name="Clerk", model=ScriptedModel(["Done."]))
    await Runner.submit(clerk, "go", run_config=config, run_id="r")
    await give(config, ("paid", 1))
    result = await Runner.drive(clerk, "r", run_config=config)
    log = result.to_state().value.log
    assert (result.final_output, isinstance(log[-1], RunEnded)) == ("Done.", True)
    assert [event.name for event in log if isinstance(event, SignalGiven)] == ["paid"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": ""}, "Runner.signal has name='', expected a str that is not empty; name the signal"),
        ({"name": "paid", "data": object()}, "the data of a signal .* which has no JSON form"),
        ({"name": "paid", "by": 3}, "Runner.signal has by=3, expected a str"),
    ],
)
async def test_a_wrong_signal_says_what_is_expected(given: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        await Runner.signal("r", **given, run_config=stored())
