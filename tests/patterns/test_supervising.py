"""A supervisor starts tasks, goes on, is told as they end, and no task outlives its run."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    MemoryRunStore,
    ModelRequest,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    RunLimits,
    Runner,
    SQLiteRunStore,
    function_tool,
    output_guardrail,
)
from agentsdk.errors import MaxTurnsExceeded, RunCancelledError, UserError, WorkflowFailedError
from agentsdk.output import ValidatorContext
from agentsdk.patterns import BackgroundTask, Supervised, supervisor
from agentsdk.testing import ScriptedModel, call, workflow_check
from agentsdk.testing.scripted import ScriptedReply
from tests.patterns.killed_supervisor import team

pytestmark = pytest.mark.anyio


def orders(*start: str, then: str = "wait", cancel: tuple[str, ...] = (), note: str = "") -> str:
    """What the lead says. A task is for Digger, unless it is written as `Worker: task`."""
    tasks = [{"worker": worker or "Digger", "input": task} for worker, _, task in (text.rpartition(": ") for text in start)]
    return msgspec.json.encode({"start": tasks, "cancel": cancel, "note": note, "then": then}).decode()


def agent(name: str, *replies: ScriptedReply) -> Agent[None, str]:
    return Agent(name=name, model=ScriptedModel(replies))


def shown(agent: Agent[None, str], number: int = -1) -> str:
    model = agent.model
    assert isinstance(model, ScriptedModel)
    text = str(getattr(model.requests[number].items[-1], "content", ""))
    return text.rpartition("What has happened:\n")[2] or text


class Held:
    """A worker whose answers come when they are let out."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.has_begun = asyncio.Event()
        self.may_go: dict[str, asyncio.Event] = {}
        self.cancelled: list[str] = []

    async def answer(self, request: ModelRequest) -> str:
        task = str(getattr(request.items[-1], "content", ""))
        self.begun.append(task)
        self.has_begun.set()
        try:
            await self.may_go.setdefault(task, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(task)
            raise
        return f"done: {task}"

    def once_begun(self, say: str) -> Callable[[ModelRequest], Awaitable[str]]:
        """A reply of the lead's that comes once a task is at work."""

        async def reply(request: ModelRequest) -> str:
            await self.has_begun.wait()
            return say

        return reply

    def let(self, *tasks: str, say: str) -> Callable[[ModelRequest], str]:
        """A reply of the lead's, at which these tasks may come to their end."""

        def reply(request: ModelRequest) -> str:
            for task in tasks:
                self.may_go.setdefault(task, asyncio.Event()).set()
            return say

        return reply


async def test_the_lead_goes_on_and_is_told_as_tasks_end() -> None:
    held = Held()
    lead = agent(
        "Lead",
        orders("a", "b", then="go_on", note="a matters more"),
        held.let("a", say=orders(then="wait")),
        held.let("b", say=orders(then="finish")),
        "All done.",
    )
    result = await supervisor(lead, [agent("Digger", *[held.answer] * 2)]).run("Dig.")
    tasks = (
        BackgroundTask("t1", "Digger", "a", "finished", "done: a"),
        BackgroundTask("t2", "Digger", "b", "finished", "done: b"),
    )
    assert result.final_output == Supervised("All done.", tasks, 3)
    begun = "You noted: a matters more\nYou started t1, Digger: a\nYou started t2, Digger: b"
    assert shown(lead, 0) == "Nothing yet."
    assert shown(lead, 1) == begun
    assert shown(lead, 2) == f"{begun}\nt1 finished: done: a"
    assert shown(lead, 3).endswith(f"{begun}\nt1 finished: done: a\nt2 finished: done: b\n\nGive the answer.")
    assert result.usage.requests == 6


class Ended(RunHooks[None]):
    """Says when an agent has ended."""

    def __init__(self) -> None:
        self.outputs: dict[str, asyncio.Event] = {}

    def event(self, output: str) -> asyncio.Event:
        return self.outputs.setdefault(output, asyncio.Event())

    async def on_agent_end(self, context: RunContextWrapper[None], agent: Agent[None, Any], output: object) -> None:
        self.event(str(output)).set()


async def test_to_wait_is_over_at_once_where_there_is_news_and_not_before_where_there_is_none() -> None:
    held, ended = Held(), Ended()

    async def think(request: ModelRequest) -> str:
        held.let("a", say="")(request)
        await ended.event("done: a").wait()
        return orders(then="wait")

    lead = agent(
        "Lead", orders("a", "b", then="go_on"), think, held.let("b", say=orders(then="wait")), orders(then="finish"), "Done."
    )
    async with asyncio.timeout(10):
        await supervisor(lead, [agent("Digger", *[held.answer] * 2)]).run("Dig.", hooks=ended)
    assert shown(lead, 2).endswith("\nt1 finished: done: a")
    assert shown(lead, 3).endswith("\nt2 finished: done: b")


async def test_what_judges_answers_judges_no_orders_and_nobody_is_handed_over_to_before_the_end() -> None:
    judged: list[str] = []

    def judge(context: ValidatorContext[None], output: str) -> None:
        judged.append(output)

    @output_guardrail
    def guard(context: RunContextWrapper[None], agent: Agent[None, Any], output: object) -> GuardrailFunctionOutput:
        judged.append(str(output))
        return GuardrailFunctionOutput(None, tripwire_triggered=False)

    model = ScriptedModel([orders(then="finish"), "Done."])
    lead = Agent[None, str](
        name="Lead", model=model, handoffs=[agent("Deputy")], output_validators=[judge], output_guardrails=[guard]
    )
    assert (await supervisor(lead, [agent("Digger")]).run("Dig.")).final_output.answer == "Done."
    assert judged == ["Done.", "Done."]
    assert [len(request.tools) for request in model.requests] == [0, 1]


async def test_a_task_that_is_not_needed_is_cancelled() -> None:
    held = Held()
    cancel = held.once_begun(orders(cancel=("t1", "t7")))
    lead = agent("Lead", orders("a", then="go_on"), cancel, orders(then="finish"), "Without.")
    result = await supervisor(lead, [agent("Digger", held.answer)]).run("Dig.")
    assert result.final_output.tasks == (BackgroundTask("t1", "Digger", "a", "cancelled"),)
    assert shown(lead, 2) == "You started t1, Digger: a\nt1 cancelled"
    assert held.cancelled == ["a"]


async def test_a_task_that_fails_is_told() -> None:
    strict = Agent[None, int](name="Digger", output_type=int, model=ScriptedModel(["x"]))
    lead = agent("Lead", orders("a"), orders(then="finish"), "It failed.")
    result = await supervisor(lead, [strict]).run("Dig.", run_config=RunConfig(max_output_retries=0))
    assert result.final_output.tasks[0].status == "failed"
    assert shown(lead, 1).endswith("t1 failed: InvalidOutputError")


async def test_tasks_turns_and_what_is_shown_are_bounded() -> None:
    lead = agent("Lead", orders("a", "b", "c"), orders("d"), orders("e", then="go_on"), "Enough.")
    digger = agent("Digger", "x" * 9_000, "y")
    result = await supervisor(lead, [digger], max_tasks=2, turns=3, max_chars=100).run("Dig.")
    assert [task.input for task in result.final_output.tasks] == ["a", "b"]
    assert result.final_output.turns == 3
    assert "no more tasks than: 2" in shown(lead, 1)
    assert len(shown(lead)) < 800


async def test_the_lead_can_name_no_other_worker() -> None:
    lead = agent("Lead", orders("Chef: a"))
    with pytest.raises(WorkflowFailedError, match="InvalidOutputError"):
        await supervisor(lead, [agent("Digger")]).run("Dig.", run_config=RunConfig(max_output_retries=0))


async def test_where_the_lead_fails_its_tasks_end() -> None:
    held = Held()
    lead = agent("Lead", orders("a", then="go_on"), held.once_begun("no orders"))
    with pytest.raises(WorkflowFailedError):
        await supervisor(lead, [agent("Digger", held.answer)]).run("Dig.", run_config=RunConfig(max_output_retries=0))
    assert held.cancelled == ["a"]


async def test_tasks_count_against_the_limits_of_the_run() -> None:
    lead = agent("Lead", orders("a", "b"), orders(then="finish"), "Done.")
    with pytest.raises(MaxTurnsExceeded):
        await supervisor(lead, [agent("Digger", "1", "2")]).run("Dig.", run_config=RunConfig(limits=RunLimits(turns=2)))


async def test_a_killed_run_starts_no_task_twice() -> None:
    held, stopped = Held(), asyncio.Event()

    async def stop(request: ModelRequest) -> str:
        stopped.set()
        await asyncio.Event().wait()
        raise AssertionError

    config = RunConfig(store=MemoryRunStore(), run_id="dig-1", lease=0.001)
    digger = agent("Digger", "done: a", held.answer)
    lead = agent("Lead", orders("a"), orders("b", then="go_on"), stop)
    running = asyncio.create_task(supervisor(lead, [digger]).run("Dig.", run_config=config))
    await stopped.wait()
    running.cancel()
    with pytest.raises((asyncio.CancelledError, RunCancelledError)):
        await running
    lead = agent("Lead", orders(then="finish"), "Both.")
    result = await supervisor(lead, [agent("Digger", "done: b")]).resume("dig-1", run_config=config)
    assert [task.result for task in result.final_output.tasks] == ["done: a", "done: b"]


async def test_after_a_kill_tasks_that_have_ended_are_not_run_again(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.patterns.killed_supervisor", str(tmp_path))
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == -signal.SIGKILL
    store = SQLiteRunStore(tmp_path / "runs.db")
    config = RunConfig(store=store, run_id="dig-9")
    result = await Runner.resume(team(tmp_path, dies=False), "dig-9", take_over=True, run_config=config)
    assert [task.result for task in result.final_output.tasks] == ["done: a", "done: b"]
    assert sorted((tmp_path / "begun.txt").read_text(encoding="utf-8").split()) == ["a", "b", "b"]
    await store.aclose()


async def test_cancelling_the_run_cancels_its_tasks() -> None:
    held = Held()
    config = RunConfig(store=MemoryRunStore(), run_id="dig-2")
    lead = agent("Lead", orders("a"))
    running = asyncio.create_task(supervisor(lead, [agent("Digger", held.answer)]).run("Dig.", run_config=config))
    await held.has_begun.wait()
    await Runner.cancel("dig-2", run_config=config)
    with pytest.raises(RunCancelledError):
        await running
    assert held.cancelled == ["a"]


async def test_it_is_deterministic() -> None:
    script = [orders("a", "b", then="go_on"), orders("c", note="more"), orders(cancel=("t2",)), orders(then="finish"), "Done."]
    lead, digger = agent("Lead", *script * 40), agent("Digger", *["done"] * 60)
    checked = await workflow_check(supervisor(lead, [digger], turns=4), "Dig.")
    assert checked.steps >= 8


def test_what_is_no_team_is_refused() -> None:
    with pytest.raises(UserError, match="one at least"):
        supervisor(agent("Lead"), [])
    with pytest.raises(UserError, match="turns=0"):
        supervisor(agent("Lead"), [agent("Digger")], turns=0)


async def test_a_task_that_waits_for_a_person_holds_up_no_other() -> None:
    paid: list[str] = []

    @function_tool(needs_approval=True)
    def pay(name: str) -> str:
        paid.append(name)
        return "paid"

    cashier = Agent[None, str](name="Cashier", tools=[pay], model=ScriptedModel([call("pay", name="Ada"), "Ada has it."]))
    lead = agent("Lead", orders("Cashier: Pay Ada.", "Digger: a"), orders(then="finish"), "Done.")
    config = RunConfig(store=MemoryRunStore(), run_id="pay-1")
    team = supervisor(lead, [cashier, agent("Digger", "dug")])
    result = await team.run("Pay, and dig.", run_config=config)
    (item,) = result.interruptions
    assert "t2 finished: dug" in shown(lead, 1)
    state = await Runner.load("pay-1", run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    result = await team.resume("pay-1", run_config=config)
    assert (item.tool_name, paid) == ("pay", ["Ada"])
    assert [task.result for task in result.final_output.tasks] == ["Ada has it.", "dug"]
