"""A run goes on under the version of its workflow that it was begun with; new ones begin under the newest."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, RunState, UserError, Worker
from agentsdk.errors import WorkflowChangedError
from agentsdk.runs import Decision
from agentsdk.testing import ScriptedModel, call
from agentsdk.workflow import Workflow, flow, step, workflow

pytestmark = pytest.mark.anyio


@step(effect="none")
async def look(x: int) -> int:
    return x + 1


@workflow(name="refund")
async def first(x: int) -> int:
    y = await look(x)
    return y if await flow.ask("?") else 0


@workflow(name="refund", version="2", earlier=[first])
async def second(x: int) -> list[int]:
    return [await look(x + 10)] if await flow.ask("?") else []


@workflow(name="refund", version="3", earlier=[second])
async def third(x: int) -> str:
    return str(await look(x + 100)) if await flow.ask("?") else ""


OUTPUTS = [(first, 2), (second, [12]), (third, "102")]


def stored(run_id: str = "r") -> RunConfig:
    return RunConfig(store=MemoryRunStore(), run_id=run_id)


async def say_yes(run_id: str, config: RunConfig) -> None:
    state = await Runner.load(run_id, run_config=config)
    (item,) = state.interruptions
    await Runner.decide(run_id, Decision(item.call_id, "answer", item.path, answer=True), run_config=config)


@pytest.mark.parametrize(("begun", "output"), OUTPUTS)
async def test_a_run_in_flight_goes_on_under_its_version(begun: Workflow[int, Any], output: object) -> None:
    config = stored()
    waiting = await begun.run(1, run_config=config)
    assert waiting.interruptions
    assert (await third.drive("r", 1, run_config=config)).interruptions, "shown as it stands"
    state = RunState.from_string(third, waiting.to_state().to_string())
    state.answer(state.interruptions[0], True)
    await say_yes("r", config)
    fork = await Runner.fork("r", new_run_id="f", run_config=config)
    await say_yes("f", config)
    for result in (
        await third.resume("r", run_config=config),
        await third.drive("r", 1, run_config=config),
        await third.resume(fork, run_config=config),
        await Runner.run(third, state),
    ):
        assert result.final_output == output


async def test_workers_drive_each_run_under_its_version_and_leave_what_they_do_not_know_to_others() -> None:
    store = MemoryRunStore()
    config = RunConfig(store=store)
    for begun, _ in OUTPUTS:
        await begun.submit(1, run_config=config, run_id=begun.version or "1")

    async def work(known: Workflow[int, Any], *expected: tuple[str, str]) -> None:
        worker = Worker(store, agents=[known], config=config)
        working = asyncio.create_task(worker.run())
        for run_id, status in expected:
            while (summary := await store.summary(run_id)) is None or summary.status != status:
                await store.wait(run_id, 0 if summary is None else summary.rev, timeout=0.05)
        worker.stop()
        await working

    await work(second, ("1", "waiting"), ("2", "waiting"))
    summary = await store.summary("3")
    assert summary is not None and (summary.status, summary.rev) == ("ready", 1), "nothing is recorded of it"
    await work(third, ("3", "waiting"))
    for run_id in ("1", "2", "3"):
        await say_yes(run_id, config)
    await work(third, ("1", "finished"), ("2", "finished"), ("3", "finished"))
    results = [await third.drive(begun.version or "1", 1, run_config=config) for begun, _ in OUTPUTS]
    assert [result.final_output for result in results] == [output for _, output in OUTPUTS]


@pytest.mark.parametrize("as_tool", [True, False])
async def test_a_nested_run_goes_on_under_its_version(as_tool: bool) -> None:
    def outer(inner: Workflow[int, Any]) -> Agent[Any, Any]:
        if as_tool:
            model = ScriptedModel([call("refund", input="1"), "Done."])
            return Agent(name="Boss", tools=[inner.as_tool(tool_name="refund")], model=model)

        @workflow(name="Boss")
        async def program(x: str) -> list[str]:
            given = [repr(await inner(1)), repr(await inner(1))]
            return [*given, str(await flow.ask("Both?"))]

        return program

    config = stored()
    given = "go" if as_tool else '"go"'
    await Runner.run(outer(first), given, run_config=config)
    await say_yes("r", config)
    if as_tool:
        result = await Runner.resume(outer(third), "r", run_config=config)
        assert "'2'" in repr(result.to_state().value.transcript)
        return
    for inner in (second, third):  # the second call begins under version 2
        assert (await Runner.resume(outer(inner), "r", run_config=config)).interruptions
        await say_yes("r", config)
    with pytest.raises(WorkflowChangedError, match=r"under version '2' of workflow 'refund', expected one of \[''\]"):
        await Runner.resume(outer(first), "r", run_config=config)
    assert (await Runner.resume(outer(third), "r", run_config=config)).final_output == ["2", "[12]", "True"]


async def test_a_run_of_an_unknown_version_is_left_as_it_is() -> None:
    config = stored()
    await third.run(1, run_config=config)
    await say_yes("r", config)
    before = (await Runner.load("r", run_config=config)).value.log
    expected = r"begun under version '3' of workflow 'refund', expected one of \['', '2'\]; pass .* in earlier=\[...\]"
    for go_on in (
        lambda: second.resume("r", run_config=config),
        lambda: second.drive("r", 1, run_config=config),
    ):
        with pytest.raises(WorkflowChangedError, match=expected) as raised:
            await go_on()
        assert raised.value.step == ""
    assert list((await Runner.load("r", run_config=config)).value.log) == list(before)
    assert (await third.resume("r", run_config=config)).final_output == "102"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"name": "refund", "version": "2", "earlier": [second]},
            "of version '2' was given version '2' of 'refund'",
        ),
        ({"name": "refund", "earlier": [third]}, "of version '' was given version '3' of 'refund'"),
        ({"version": "2", "earlier": [first]}, "workflow '_body' of version '2' was given version '' of 'refund'"),
        ({"version": 2}, "workflow has version=2, expected a str; name the version"),
        ({"earlier": ["1"]}, r"earlier\[0\]='1', expected what @workflow made"),
    ],
)
def test_a_wrong_declaration_says_what_is_expected(options: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        workflow(**options)(_body)


async def _body(x: int) -> int:
    return x
