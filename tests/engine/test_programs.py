"""Programs as nested runs: the interpreter in the model's place, and what of a run's settings is not for it."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentsdk import (
    Agent,
    ContextWindow,
    DropOldest,
    MemoryRunStore,
    ModelRequest,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    ToolContext,
    function_tool,
)
from agentsdk.define.threads import abandoned_tools
from agentsdk.errors import ToolError
from agentsdk.items import FunctionCallOutput
from agentsdk.limits import RunLimits
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import CodeTool, FunctionTool

pytestmark = pytest.mark.anyio

COUNT = (
    "import asyncio\nfirst = await double(2)\nsecond = await asyncio.gather(double(first), double(n=first + 1))\nsum(second)"
)


class Doubling:
    """Doubles numbers, and keeps those that it was given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def tool(self) -> FunctionTool[Any]:
        @function_tool(effect="none")
        async def double(n: int = 1) -> int:
            self.given.append(n)
            return 2 * n

        return double

    def agent(self, *replies: Any, code: str = COUNT, **fields: Any) -> Agent[Any, str]:
        model = ScriptedModel(replies or [call("run_code", code=code), "Done."])
        return Agent("Coder", model=model, tools=[CodeTool([self.tool()])], **fields)


def outputs(items: Sequence[object]) -> list[object]:
    return [item.output for item in items if isinstance(item, FunctionCallOutput)]


async def test_another_model_for_the_run_is_not_the_programs() -> None:
    doubling, model = Doubling(), ScriptedModel([call("run_code", code=COUNT), "Done by another."])
    result = await Runner.run(doubling.agent("never asked"), "Go.", run_config=RunConfig(model=model))
    assert result.final_output == "Done by another." and outputs(model.requests[-1].items) == ["18"]


async def test_what_is_around_model_calls_is_not_around_a_programs_steps() -> None:
    asked: list[str] = []

    async def wrap(context: Any, agent: Agent[Any, Any], request: ModelRequest, handler: Any) -> ModelResponse:
        asked.append(agent.name)
        response: ModelResponse = await handler(request)
        return response

    class Hooks(RunHooks[Any]):
        async def on_llm_start(self, context: RunContextWrapper[Any], agent: Agent[Any, Any], *given: Any) -> None:
            asked.append(f"hook of {agent.name}")

    # A window of which each step of a program would take more than there is.
    config = RunConfig(wrap_model_call=wrap, window=ContextWindow(size=3000, strategies=[DropOldest()]))
    code = "total = 0\nfor n in range(30):\n    total += await double(n)\ntotal"
    result = await Runner.run(Doubling().agent(code=code), "Go.", run_config=config, hooks=Hooks())
    assert outputs(list(result.to_state().value.transcript)) == ["870"]
    assert set(asked) == {"Coder", "hook of Coder"}


async def test_repeated_calls_and_errors_of_a_program_are_no_loop() -> None:
    code = "for n in range(12): await double(1)\n" + "try: await double('x')\nexcept RuntimeError: pass\n" * 5 + "'on'"
    limits = RunLimits(repeated_rounds=2, consecutive_errors=2, no_progress=2)
    result = await Runner.run(Doubling().agent(code=code), "Go.", run_config=RunConfig(limits=limits))
    assert outputs(list(result.to_state().value.transcript)) == ["on"]


async def test_replayed_with_nothing_changed_it_comes_out_the_same() -> None:
    config, doubling = RunConfig(store=MemoryRunStore(), run_id="r"), Doubling()
    agent = doubling.agent()
    await Runner.run(agent, "Go.", run_config=config)
    again = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert (again.divergence, again.asked, again.final_output) == (None, 0, "Done.") and doubling.given == [2, 4, 5]


async def test_a_run_cancelled_in_a_program_goes_on_where_it_was() -> None:
    waiting, given = asyncio.Event(), list[int]()

    @function_tool(effect="idempotent")
    async def work(ctx: ToolContext[Any], n: int) -> int:
        given.append(n)
        if n == 2 and ctx.attempt == 1:
            waiting.set()
            await asyncio.Event().wait()
        return n

    code = "[await work(1), await work(2), await work(3)]"
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    model = ScriptedModel([call("run_code", code=code), "Done."])
    agent = Agent[Any, str]("Coder", model=model, tools=[CodeTool([work])])
    run = asyncio.create_task(Runner.run(agent, "Go.", run_config=config))
    await waiting.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    result = await Runner.resume(agent, "r", run_config=config)
    assert outputs(list(result.to_state().value.transcript)) == ["[1,2,3]"] and given == [1, 2, 2, 3]


async def test_thirty_programs_at_a_time() -> None:
    doubling = Doubling()
    results = await asyncio.gather(*[Runner.run(doubling.agent(), "Go.") for _ in range(30)])
    assert {str(outputs(list(result.to_state().value.transcript))) for result in results} == {"['18']"}
    assert len(doubling.given) == 90


def crashing(folder: Path, times: int) -> Path:
    """A worker that is killed as it begins, so many times."""
    real, worker = Path(sys.executable).with_name("monty"), folder / "monty"
    dies = f'if [ "$(ls {folder} | grep -c crash)" -lt {times} ]; then mktemp {folder}/crashXXXXXX >/dev/null; kill -9 $$; fi'
    worker.write_text(f'#!/bin/sh\n{dies}\nexec {real} "$@"\n')
    worker.chmod(0o755)
    return worker


@pytest.mark.skipif(os.name == "nt", reason="the worker is a shell script")
async def test_a_step_whose_worker_died_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", str(crashing(tmp_path, 1)))
    doubling = Doubling()
    result = await Runner.run(doubling.agent(), "Go.")
    assert outputs(list(result.to_state().value.transcript)) == ["18"] and doubling.given == [2, 4, 5]


@pytest.mark.skipif(os.name == "nt", reason="the worker is a shell script")
async def test_a_program_whose_worker_dies_again_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", str(crashing(tmp_path, 100)))
    result = await Runner.run(Doubling().agent(), "Go.")
    (told,) = outputs(list(result.to_state().value.transcript))
    assert str(told).startswith("The program was stopped: monty worker crashed") and len(list(tmp_path.glob("crash*"))) == 2


async def test_without_a_worker_the_run_ends_with_a_typed_error_and_goes_on_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONTY_BIN", "/nowhere/monty")
    doubling, config = Doubling(), RunConfig(store=MemoryRunStore(), run_id="r")
    with pytest.raises(
        ToolError, match=r"the program could not be run: .*; see that a worker of pydantic-monty can be started"
    ):
        await Runner.run(doubling.agent(), "Go.", run_config=config)
    monkeypatch.delenv("MONTY_BIN")
    result = await Runner.resume(doubling.agent("Done."), "r", run_config=dataclasses.replace(config, run_id=None))
    assert result.final_output == "Done." and doubling.given == [2, 4, 5]


BUSY = "await double(1)\nwhile True: pass"


class Began(RunHooks[Any]):
    """Knows when the program has had its first result, and computes."""

    def __init__(self) -> None:
        self.is_busy = asyncio.Event()

    async def on_tool_end(self, context: Any, agent: Agent[Any, Any], tool: FunctionTool[Any], result: object) -> None:
        self.is_busy.set()


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.name() == "monty"]


async def test_a_program_that_computes_is_stopped_with_its_run() -> None:
    began, doubling = Began(), Doubling()
    model = ScriptedModel([call("run_code", code=BUSY)])
    agent = Agent[Any, str]("Coder", model=model, tools=[CodeTool([doubling.tool()], max_seconds=600)])
    run = asyncio.create_task(Runner.run(agent, "Go.", hooks=began))
    await began.is_busy.wait()
    while not workers():  # noqa: ASYNC110 - the next step has one of its own, and nobody says when
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert workers() == [] and abandoned_tools() == () and doubling.given == [1]


async def test_a_program_that_takes_longer_than_its_tool_may_is_stopped() -> None:
    doubling = Doubling()
    model = ScriptedModel([call("run_code", code=BUSY), "Done."])
    tool = CodeTool([doubling.tool()], max_seconds=600, timeout=0.5)
    result = await Runner.run(Agent[Any, str]("Coder", model=model, tools=[tool]), "Go.")
    (told,) = outputs(list(result.to_state().value.transcript))
    assert "had no answer in time" in str(told)
    assert workers() == [] and abandoned_tools() == () and doubling.given == [1]
