"""A model plans, the plan is carried out and made anew where it fails, a person may change it, and another model answers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, RunLimits, Runner, UserError, function_tool
from agentsdk.core.next_step import PendingCall, ToolAnswerItem
from agentsdk.core.run_state import RunState
from agentsdk.errors import LimitExceededError, WorkflowFailedError
from agentsdk.patterns import PlannedAnswer, PlanRound, plan_then_execute
from agentsdk.testing import ScriptedModel, call, workflow_check
from agentsdk.types.items import Message
from agentsdk.workflow import Plan, PlanReview, PlanStep, describe_actions, flow, plan_output, step, workflow

pytestmark = pytest.mark.anyio

done: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    done.clear()


@step(effect="none", retry=0)
async def price(shop: str) -> int:
    """The price of a lamp in a shop, in cents."""
    done.append(f"price {shop}")
    if shop == "closed":
        raise LookupError(f"there is no shop {shop}")
    return len(shop)


@step
async def order(shop: str, cents: int) -> str:
    done.append(f"order {shop} {cents}")
    return f"ordered at {shop}"


@order.undo
async def cancel(ordered: str) -> None:
    done.append(f"cancel {ordered}")


ACTIONS = [price, order]


def planned(id: str, do: str, *after: str, task: str = "", **inputs: object) -> dict[str, object]:
    """A step as a model gives it; an input that is a text with a dollar comes from there."""
    given = [
        {"name": name, "source": value[1:], "value": None}
        if isinstance(value, str) and value.startswith("$")
        else {"name": name, "source": None, "value": value}
        for name, value in inputs.items()
    ]
    return {"id": id, "do": do, "task": task, "inputs": given, "after": list(after), "when": []}


def said(*steps: dict[str, object]) -> str:
    return json.dumps({"steps": steps})


FIRST = said(
    planned("a", "price", shop="one"), planned("b", "price", shop="three"), planned("buy", "order", shop="one", cents="$a")
)
FAILS = said(
    planned("a", "price", shop="one"), planned("b", "price", "a", shop="closed"), planned("buy", "order", shop="x", cents="$b")
)
REST = said(planned("buy", "order", shop="one", cents="$a"))


@dataclass
class Bought:
    where: str


def agents(*plans: Any, answers: int = 1) -> tuple[Agent[Any, Any], Agent[Any, Bought]]:
    planner = Agent[Any, Any](name="Planner", instructions="Plan.", model=ScriptedModel(list(plans)))
    writer = Agent[Any, Bought](name="Writer", output_type=Bought, model=ScriptedModel(['{"where": "one"}'] * answers))
    return planner, writer


def asked(agent: Agent[Any, Any], number: int) -> str:
    model = agent.model
    assert isinstance(model, ScriptedModel)
    message = model.requests[number].items[0]
    assert isinstance(message, Message) and isinstance(message.content, str)
    return message.content


# Plans made by a model.


async def test_a_model_makes_a_plan_of_the_actions() -> None:
    planner = Agent[None, Plan](name="P", output_type=plan_output(ACTIONS), model=ScriptedModel([FIRST]))
    plan = (await Runner.run(planner, "Buy a lamp.")).final_output
    assert plan == Plan(
        [
            PlanStep("a", "price", values={"shop": "one"}),
            PlanStep("b", "price", values={"shop": "three"}),
            PlanStep("buy", "order", values={"shop": "one"}, inputs={"cents": "a"}),
        ]
    )
    model = planner.model
    assert isinstance(model, ScriptedModel)
    output = model.requests[0].output
    assert output is not None and output.strict
    assert output.schema["$defs"]["Step"]["properties"]["do"]["enum"] == ["price", "order"]  # type: ignore[index]


async def test_a_plan_that_is_wrong_goes_back_to_the_model_with_all_that_is_wrong() -> None:
    wrong = said(planned("a", "price", cents=1), planned("buy", "order", shop="$c", cents="$a"))
    model = ScriptedModel([wrong, said(*[planned(f"s{n}", "price", shop="x") for n in range(4)]), FIRST])
    planner = Agent[None, Plan](name="P", output_type=plan_output(ACTIONS, max_steps=3), model=model)
    await Runner.run(planner, "Buy a lamp.", run_config=RunConfig(max_output_retries=2))
    feedback = [str(request.items[-1]) for request in model.requests[1:]]
    for problem in ("has an input 'cents'", "lacks the input 'shop'", "'c' is no step"):
        assert problem in feedback[0]
    assert "the plan has 4 steps, expected 3 at most" in feedback[1]


def test_the_actions_are_described_to_a_model() -> None:
    assert describe_actions([price, order, Agent(name="Clerk", handoff_description="Knows the shops.")]) == (
        "- price (step): The price of a lamp in a shop, in cents.\n"
        '  takes shop {"type":"string"}\n'
        '  gives {"type":"integer"}\n'
        "- order (step)\n"
        '  takes shop {"type":"string"}, cents {"type":"integer"}\n'
        '  gives {"type":"string"}\n'
        "- Clerk (agent): Knows the shops.\n"
        "  takes a task, and any inputs\n"
        '  gives {"type":"string"}'
    )


def test_there_must_be_an_action() -> None:
    with pytest.raises(UserError, match="no actions"):
        plan_output([])


# Planning, carrying out, answering.


async def test_a_plan_is_made_carried_out_and_answered_with() -> None:
    planner, writer = agents(FIRST)
    result = await plan_then_execute(ACTIONS, planner, writer).run("Buy a lamp.")
    answer = result.final_output
    assert answer.answer == Bought("one") and len(answer.rounds) == 1
    assert answer.outputs == {"a": 3, "b": 5, "buy": "ordered at one"}
    assert asked(planner, 0).startswith("Buy a lamp.\n\nMake a plan for this, of these actions:\n- price (step)")
    assert "- buy (order): ordered at one" in asked(writer, 0)
    assert result.usage.requests == 2


async def test_where_a_step_fails_the_rest_is_planned_anew_with_what_is_done() -> None:
    planner, writer = agents(FAILS, REST)
    answer = (await plan_then_execute(ACTIONS, planner, writer).run("Buy a lamp.")).final_output
    first, second = answer.rounds
    assert [one.status for one in first.steps.values()] == ["done", "failed", "not run"] and not first.reason
    assert second.reason == "Step 'b' (price) failed with LookupError: there is no shop closed"
    assert done == ["price one", "price closed", "order one 3"]
    assert "- a (price): 3\n- b (price): failed, there is no shop closed\n- buy (order): not run" in asked(planner, 1)
    assert second.reason in asked(planner, 1)


async def test_once_there_are_no_replans_left_the_workflow_fails_and_undoes() -> None:
    fails = said(planned("buy", "order", shop="one", cents=1), planned("b", "price", "buy", shop="closed"))
    planner, writer = agents(fails, said(planned("c", "price", shop="closed")))
    with pytest.raises(WorkflowFailedError) as caught:
        await plan_then_execute(ACTIONS, planner, writer, max_replans=1).run("Buy a lamp.")
    assert done == ["order one 1", "price closed", "price closed", "cancel ordered at one"]
    assert caught.value.__cause__.error_type == "NoReplansLeft"  # type: ignore[union-attr]


async def test_an_id_of_a_result_cannot_be_given_again() -> None:
    again = said(planned("a", "price", shop="one"))
    planner, writer = agents(FAILS, again, REST)
    await plan_then_execute(ACTIONS, planner, writer).run("Buy a lamp.")
    model = planner.model
    assert isinstance(model, ScriptedModel)
    assert "the id is that of an earlier result" in str(model.requests[2].items[-1])


async def test_an_adaptive_planner_looks_at_each_result_and_ends_it() -> None:
    looks = said(planned("a", "price", shop="one"))
    planner, writer = agents(looks, REST, said())
    answer = (await plan_then_execute(ACTIONS, planner, writer, adaptive=True).run("Buy a lamp.")).final_output
    assert [part.reason for part in answer.rounds] == ["", "The plan was carried out. Look at its results."]
    assert done == ["price one", "order one 3"] and "Look at its results." in asked(planner, 1)
    planner, writer = agents(looks, said(planned("b", "price", shop="two")))
    answer = (await plan_then_execute(ACTIONS, planner, writer, adaptive=True, max_replans=1).run("Look.")).final_output
    assert len(answer.rounds) == 2


async def test_agents_within_a_plan_work_in_their_own_way() -> None:
    @function_tool(effect="none")
    def look_up(shop: str) -> str:
        """Look a shop up."""
        done.append(f"look up {shop}")
        return "open"

    clerk = Agent[Any, str](name="Clerk", tools=[look_up], model=ScriptedModel([call("look_up", shop="one"), "It is open."]))
    plan = said(planned("open", "Clerk", task="Is shop one open?"), planned("a", "price", "open", shop="one"))
    planner, writer = agents(plan)
    answer = (await plan_then_execute([price, clerk], planner, writer).run("Buy a lamp.")).final_output
    assert answer.outputs == {"open": "It is open.", "a": 3} and done == ["look up one", "price one"]


async def test_what_is_shown_of_results_has_a_bound() -> None:
    @step(effect="none")
    async def book() -> str:
        return "word " * 10_000

    planner, writer = agents(said(planned("a", "book")))
    await plan_then_execute([book], planner, writer, max_chars=100).run("Read.")
    assert len(asked(writer, 0)) < 250


async def test_the_limits_of_the_run_hold_for_all_of_it() -> None:
    planner, writer = agents(FAILS, REST)
    with pytest.raises(LimitExceededError):
        await plan_then_execute(ACTIONS, planner, writer).run("Buy.", run_config=RunConfig(limits=RunLimits(requests=2)))


# A person.


def config() -> RunConfig:
    return RunConfig(store=MemoryRunStore(), run_id="r")


async def answered(pattern: Any, given: object, stored: RunConfig) -> Any:
    state = await Runner.load("r", run_config=stored)
    (item,) = state.interruptions
    assert isinstance(item, ToolAnswerItem)
    state.answer(item, given)
    await Runner.decide(state, run_config=stored)
    return await pattern.resume("r", run_config=stored)


async def test_a_person_changes_the_plan() -> None:
    stored, pattern = config(), plan_then_execute(ACTIONS, *agents(FIRST), review=True)
    assert (await pattern.run("Buy a lamp.", run_config=stored)).interruptions and not done
    changed = Plan([PlanStep("buy", "order", values={"shop": "mine", "cents": 9})])
    result = await answered(pattern, PlanReview(plan=changed), stored)
    (only,) = result.final_output.rounds
    assert only.plan == changed and only.is_edited and done == ["order mine 9"]


async def test_a_plan_that_a_person_sends_back_is_made_anew() -> None:
    planner, writer = agents(FIRST, REST.replace("$a", "a"), FIRST)
    stored, pattern = config(), plan_then_execute(ACTIONS, planner, writer, review=True)
    await pattern.run("Buy a lamp.", run_config=stored)
    await answered(pattern, PlanReview(approved=False, comment="Too dear."), stored)
    assert "- buy (order): not approved" in asked(planner, 1)
    assert "A person did not approve the plan: Too dear." in asked(planner, 1)
    result = await answered(pattern, {}, stored)
    assert [len(part.steps) for part in result.final_output.rounds] == [0, 3]


async def test_a_plan_that_a_person_refuses_ends_the_workflow() -> None:
    stored, pattern = config(), plan_then_execute(ACTIONS, *agents(FIRST), review=True)
    await pattern.run("Buy a lamp.", run_config=stored)
    with pytest.raises(WorkflowFailedError):
        await answered(pattern, PlanReview(approved=False), stored)
    assert not done


# Durable.


async def test_it_is_the_same_from_every_prefix_of_its_record() -> None:
    def decide(state: RunState, item: PendingCall) -> None:
        assert isinstance(item, ToolAnswerItem)
        state.answer(item, PlanReview())

    def plans(request: Any) -> str:
        return REST if "failed with" in str(request.items[0]) else FAILS

    planner = Agent[Any, Any](name="Planner", model=ScriptedModel([plans] * 50))
    pattern = plan_then_execute(ACTIONS, planner, agents(answers=50)[1], review=True)
    assert (await workflow_check(pattern, "Buy a lamp.", decide=decide, orders=2)).steps == 8


KILLED = """
import asyncio, os, signal, sys, time
from pathlib import Path
from agentsdk import RunConfig, SQLiteRunStore
from agentsdk.patterns import plan_then_execute
from agentsdk.workflow import step
from tests.patterns.test_planning import agents, planned, said

folder, place = Path(sys.argv[1]), sys.argv[2]

@step(effect="idempotent", retry=0)
async def work(name: str) -> str:
    with (folder / "done").open("a") as log:
        log.write(name + "\\n")
    if name == place:
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "fails":
        raise ConnectionError
    return name

first = said(planned("a", "work", name="a"), planned("b", "work", name="b"), planned("c", "work", "a", "b", name="fails"))
second = said(planned("d", "work", name="$b"), planned("e", "work", "d", name="e"))

class Later:
    # The lease of the process that was killed has passed.

    def time(self):
        return time.time() + (1_000 if place == "nowhere" else 0)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)

def plans(request):
    return second if "failed with" in str(request.items[0]) else first

pattern = plan_then_execute([work], *agents(plans, plans))
store = SQLiteRunStore(folder / "runs.db")

async def main():
    result = await pattern.drive("r", "Work.", run_config=RunConfig(store=store, clock=Later()))
    print(sorted(result.final_output.outputs.items()), len(result.final_output.rounds))
    await store.aclose()

asyncio.run(main())
"""


@pytest.mark.parametrize("place", ["a", "fails", "e"])
async def test_killed_it_goes_on_where_it_was(place: str, tmp_path: Path) -> None:
    async def run(place: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", KILLED, str(tmp_path), place),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        out, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode()

    assert (await run(place))[0] == -signal.SIGKILL
    code, out = await run("nowhere")
    assert code == 0 and out == "[('a', 'a'), ('b', 'b'), ('d', 'b'), ('e', 'e')] 2\n"
    # Only what was cut runs twice: the step that was killed, and what ran beside it.
    names = (tmp_path / "done").read_text().split()
    assert {name: names.count(name) for name in set(names) - {place, "a", "b"}} == {
        name: 2 if name == "b" and place != "a" else 1 for name in {"fails", "e"} - {place}
    }


# Declared.


async def test_it_is_a_step_and_a_workflow_by_name() -> None:
    planner, writer = agents(FIRST, FIRST)
    pattern = plan_then_execute(ACTIONS, planner, writer, name="buy")

    @workflow
    async def outer(task: str) -> str:
        found = await pattern(task)
        return found.answer.where

    assert (await outer.run("Buy.")).final_output == "one" and pattern.name == "buy"


def test_what_is_no_pattern() -> None:
    planner, writer = agents()
    for fields, why in (
        ({"actions": [5]}, "an action of a plan"),
        ({"actions": []}, "no actions"),
        ({"planner": "x"}, "planner"),
        ({"max_replans": -1}, "max_replans"),
        ({"limit": 0}, "limit"),
        ({"name": ""}, "name"),
    ):
        with pytest.raises(UserError, match=why):
            plan_then_execute(**{"actions": ACTIONS, "planner": planner, "writer": writer, **fields})  # type: ignore[arg-type]
    assert PlannedAnswer("x", (PlanRound(Plan([]), {}),)).outputs == {} and flow
