"""A plan is data: it is read, checked, shown, changed and carried out; nonsense in it is told, all of it at once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, UserError, function_tool
from agentsdk.core.next_step import PendingCall, ToolAnswerItem
from agentsdk.core.run_state import RunState
from agentsdk.errors import AgentsException, PlanError, WorkflowFailedError
from agentsdk.testing import ScriptedModel, workflow_check
from agentsdk.workflow import Condition, Plan, PlanResult, PlanReview, PlanStep, flow, plan_workflow, step, workflow
from tests.workflow.programs import Clock

pytestmark = pytest.mark.anyio

done: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    done.clear()


@dataclass
class Line:
    cents: int


@dataclass
class Order:
    id: str
    lines: list[Line]
    note: str | None = None


@step(effect="none")
async def fetch(id: str) -> Order:
    """Fetch an order."""
    done.append(f"fetch {id}")
    return Order(id, [Line(100), Line(250)])


@step
async def pay(order: Order, cents: int, note: str = "-") -> str:
    done.append(f"pay {order.id} {cents} {note}")
    return f"receipt of {order.id}"


@pay.undo
async def take_back(receipt: str) -> None:
    done.append(f"take back {receipt}")


@step(effect="none")
async def note_of(order: Order) -> str | None:
    return order.note


@step(effect="none", retry=0)
async def send(receipt: str) -> None:
    done.append("send")
    raise ConnectionError("the mail server is away")


@dataclass
class Risk:
    score: int


def judge(*replies: Any) -> Agent[Any, Any]:
    return Agent(name="Judge", output_type=Risk, model=ScriptedModel(list(replies or ['{"score": 3}'])))


ACTIONS = [fetch, pay, note_of, send, judge()]
FETCH = PlanStep("fetch", "fetch", inputs={"id": "input"})
PAY = PlanStep("pay", "pay", inputs={"order": "fetch", "cents": "fetch.lines.1.cents"})
REFUND = Plan([FETCH, PAY], input="o-1")


async def carried_out(plan: Plan, actions: Any = ACTIONS, **options: Any) -> PlanResult:
    return (await plan_workflow(actions, **options).run(plan)).final_output


def problems(*steps: PlanStep, actions: Any = ACTIONS, input: object = "o-1") -> list[str]:
    return Plan(steps, input=input).problems(actions)


# Carrying out.


async def test_steps_take_fields_of_earlier_results() -> None:
    result = await carried_out(REFUND)
    assert done == ["fetch o-1", "pay o-1 250 -"]
    assert result["pay"] == "receipt of o-1" and result["fetch"]["lines"] == [{"cents": 100}, {"cents": 250}]
    assert result.plan == REFUND and result.failed is None


async def test_independent_steps_run_side_by_side_within_the_limit() -> None:
    running = [0, 0]

    @step(effect="none")
    async def work() -> None:
        running[0] += 1
        running[1] = max(running)
        for _ in range(50):
            await asyncio.sleep(0)
        running[0] -= 1

    await carried_out(Plan([PlanStep(f"w{number}", "work") for number in range(9)]), [work], limit=3)
    assert running == [0, 3]


async def test_a_plan_may_be_written_in_any_order() -> None:
    await carried_out(Plan([PAY, FETCH], input="o-1"))
    assert done == ["fetch o-1", "pay o-1 250 -"]


async def test_an_agent_is_given_its_task_and_its_inputs_and_its_output_is_typed() -> None:
    agent = judge('{"score": 8}')
    risk = PlanStep("risk", "Judge", "How risky?", inputs={"order": "fetch.id"})
    paid = PlanStep("pay", "pay", inputs={"order": "fetch", "cents": "risk.score"})
    result = await carried_out(Plan([FETCH, risk, paid], input="o-1"), [fetch, pay, agent])
    assert done[-1] == "pay o-1 8 -" and result["risk"] == {"score": 8}
    assert agent.model.requests[0].items[0].content == 'How risky?\n\n{"order":"o-1"}'  # type: ignore[union-attr]


def test_of_an_agent_with_handoffs_nobody_knows_what_it_gives() -> None:
    clerk = Agent[Any, Any](name="Clerk", handoffs=[judge()])
    steps = [PlanStep("clerk", "Clerk", "Go."), PlanStep("pay", "pay", inputs={"order": "clerk.order", "cents": "clerk.cents"})]
    assert problems(*steps, actions=[clerk, pay]) == []


async def test_a_workflow_is_a_step() -> None:
    @workflow
    async def total(order: Order) -> int:
        return sum(await flow.each(cents, order.lines))

    @step(effect="none")
    async def cents(line: Line) -> int:
        return line.cents

    steps = [FETCH, PlanStep("total", "total", inputs={"order": "fetch"})]
    assert (await carried_out(Plan(steps, input="o-1"), [fetch, total]))["total"] == 350


async def test_a_tool_is_a_step_with_its_approval_and_what_it_returns() -> None:
    @function_tool(effect="none")
    def count(text: str, times: int = 2) -> list[int]:
        """Count characters."""
        return [len(text)] * times

    @function_tool(needs_approval=True)
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    actions: list[Any] = [count, greet, fetch]
    assert problems(PlanStep("a", "count", values={"text": 5}), PlanStep("b", "count"), actions=actions) == [
        "step 'a': value of 'text': expected a string, got an integer",
        "step 'b': lacks the input 'text' of 'count'",
    ]
    wrong = PlanStep("c", "count", values={"text": "x"}, inputs={"times": "b"})
    assert problems(PlanStep("b", "greet", values={"name": "Ada"}, retry=1), wrong, actions=actions) == [
        "step 'b': has a retry, and 'greet' must not run twice; expected none",
        "step 'c': input 'times': 'b' is a string, expected a number",
    ]
    steps = [PlanStep("count", "count", values={"text": "abc"}), PlanStep("greet", "greet", values={"name": "Ada"})]
    again = PlanStep("again", "count", inputs={"text": "greet", "times": "count.0"})
    run = plan_workflow(actions)
    result = await run.run(Plan([*steps, again]))
    state = result.to_state()
    state.approve(state.interruptions[0])
    finished = await Runner.run(run, state)
    assert finished.final_output.outputs == {"count": [3, 3], "greet": "Hello Ada", "again": [9, 9, 9]}


async def test_a_step_is_skipped_where_its_condition_does_not_hold_and_so_are_those_that_need_it() -> None:
    risk = PlanStep("risk", "Judge", "How risky?")
    paid = PlanStep("pay", "pay", inputs=PAY.inputs, when=[Condition("risk.score", ">", 5)])
    sent = PlanStep("send", "send", inputs={"receipt": "pay"})
    after = PlanStep("again", "fetch", inputs={"id": "input"}, after=["send"])
    result = await carried_out(Plan([FETCH, risk, paid, sent, after], input="o-1"), [fetch, pay, send, judge()])
    said = {id: (one.status, one.reason) for id, one in result.steps.items() if one.status != "done"}
    assert said == {
        "pay": ("skipped", "risk.score > 5 does not hold"),
        "send": ("skipped", "there is no 'pay' for its input 'receipt'"),
    }
    assert done == ["fetch o-1", "fetch o-1"]
    with pytest.raises(KeyError):
        result["send"]


async def test_an_input_with_a_default_is_left_out_where_its_source_was_skipped() -> None:
    noted = PlanStep("note", "note_of", inputs={"order": "fetch"}, when=[Condition("fetch.note", "!=", None)])
    paid = PlanStep("pay", "pay", inputs={**PAY.inputs, "note": "note"})
    await carried_out(Plan([FETCH, noted, paid], input="o-1"))
    assert done[-1] == "pay o-1 250 -"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition("input.n", "==", 3), True),
        (Condition("input.n", "==", True), False),
        (Condition("input.yes"), True),
        (Condition("input.yes", "!=", 1), True),
        (Condition("input.n", "<", 3), False),
        (Condition("input.n", ">=", 2.5), True),
        (Condition("input.name", "in", ["a", "b"]), True),
        (Condition("input.name", "<", "b"), True),
        (Condition("input.n", "in", [True]), False),
        (Condition("input.list.1", "==", 5), True),
        (Condition("input.none", "==", None), True),
    ],
)
async def test_conditions(condition: Condition, holds: bool) -> None:
    given = {"n": 3, "yes": True, "name": "a", "list": [4, 5], "none": None}
    plan = Plan([PlanStep("fetch", "fetch", values={"id": "x"}, when=[condition])], input=given)
    assert ((await carried_out(plan)).steps["fetch"].status == "done") is holds


async def test_what_cannot_be_compared_does_not_hold() -> None:
    @step(effect="none")
    async def odd() -> Any:
        return {"x": "text"}

    whens = [Condition("odd.x", "<", 3), Condition("odd.y"), Condition("odd.x.y"), Condition("odd.x", ">", 1.5)]
    steps = [PlanStep("odd", "odd"), *(PlanStep(f"s{n}", "odd", when=[when]) for n, when in enumerate(whens))]
    result = await carried_out(Plan(steps), [odd])
    assert [one.status for one in result.steps.values()] == ["done", *["skipped"] * 4]


async def test_a_failed_step_fails_the_workflow_and_what_is_done_is_undone() -> None:
    plan = Plan([*REFUND.steps, PlanStep("send", "send", inputs={"receipt": "pay"})], input="o-1")
    with pytest.raises(WorkflowFailedError) as caught:
        await carried_out(plan)
    assert caught.value.step == "send" and caught.value.undone == ("plan/pay/pay",)
    assert done[-2:] == ["send", "take back receipt of o-1"]


async def test_in_a_workflow_of_ones_own_a_failure_is_a_result() -> None:
    @workflow
    async def own(plan: Plan) -> PlanResult:
        return await plan.execute(ACTIONS)

    steps = [
        PlanStep("send", "send", values={"receipt": "x"}),
        PlanStep("fetch", "fetch", inputs={"id": "input"}, after=["send"]),
    ]
    result = (await own.run(Plan(steps, input="o-1"))).final_output
    assert result.failed == "send"
    assert (result.steps["send"].status, result.steps["send"].error_type) == ("failed", "ConnectionError")
    assert result.steps["fetch"].status == "not run" and result.outputs == {}


async def test_an_argument_that_does_not_fit_only_in_the_end_fails_its_step() -> None:
    @step(effect="none")
    async def odd() -> Any:
        return {"id": 5}

    @step(effect="none")
    async def take(order: Order) -> None: ...

    @workflow
    async def own(plan: Plan) -> PlanResult:
        return await plan.execute([odd, take])

    for source, reason in {"odd.id": "does not fit its parameter", "odd.x": "is 'odd.x', which is not in the result"}.items():
        steps = [PlanStep("odd", "odd"), PlanStep("take", "take", inputs={"order": source})]
        taken = (await own.run(Plan(steps))).final_output.steps["take"]
        assert (taken.status, taken.error_type, taken.reason) == ("failed", "InputError", f"input 'order' {reason}")


async def test_a_plan_says_how_often_and_how_long_steps_are_tried() -> None:
    tries: Counter[str] = Counter()

    @step(effect="none", retry=0)
    async def flaky() -> str:
        tries["flaky"] += 1
        if tries["flaky"] < 3:
            raise ConnectionError
        return "there"

    @step(effect="none", retry=0)
    async def slow() -> None:
        await asyncio.Event().wait()

    agent = judge("nonsense", "nonsense", '{"score": 1}')
    plan = Plan([PlanStep("flaky", "flaky", retry=2), PlanStep("Judge", "Judge", "Judge.", retry=1)])
    config = RunConfig(clock=Clock())
    result = (await plan_workflow([flaky, agent]).run(plan, run_config=config)).final_output
    assert result.outputs == {"flaky": "there", "Judge": {"score": 1}}

    with pytest.raises(WorkflowFailedError) as caught:
        await plan_workflow([slow]).run(Plan([PlanStep("slow", "slow", timeout=0.01)]))
    assert caught.value.__cause__.error_type == "TimeoutError"  # type: ignore[union-attr]


async def test_an_agent_has_the_time_that_its_step_says() -> None:
    async def never(request: object) -> str:
        await asyncio.Event().wait()
        return ""

    plan = Plan([PlanStep("risk", "Judge", "Judge.", timeout=60, retry=1)])
    with pytest.raises(WorkflowFailedError) as caught:
        await plan_workflow([judge(never, never)]).run(plan, run_config=RunConfig(clock=Clock()))
    assert caught.value.__cause__.error_type == "TimeoutError"  # type: ignore[union-attr]
    in_time = Plan([PlanStep("risk", "Judge", "Judge.", timeout=60)])
    assert (await carried_out(in_time, [judge()]))["risk"] == {"score": 3}


async def test_a_plan_is_carried_out_the_same_from_every_prefix_of_its_record() -> None:
    def decide(state: RunState, item: PendingCall) -> None:
        assert isinstance(item, ToolAnswerItem)
        state.answer(item, PlanReview())

    risk = PlanStep("risk", "Judge", "How risky?", inputs={"order": "fetch"}, timeout=60, retry=1)
    paid = PlanStep("pay", "pay", inputs=PAY.inputs, when=[Condition("risk.score", "<", 5)])
    other = [PlanStep(f"f{number}", "fetch", values={"id": str(number)}) for number in range(3)]
    plan = Plan([FETCH, risk, paid, *other], input="o-1")
    reviewed = plan_workflow([fetch, pay, judge(*['{"score": 3}'] * 20)], limit=2, review=True)
    checked = await workflow_check(reviewed, plan, decide=decide, orders=3)
    assert checked.steps == 8


# A person.


async def asked(state: RunState) -> tuple[ToolAnswerItem, dict[str, Any]]:
    (item,) = state.interruptions
    assert isinstance(item, ToolAnswerItem)
    return item, json.loads(item.arguments)["about"]


async def decided(config: RunConfig, answer: object) -> tuple[Any, dict[str, Any]]:
    """A new process gives the answer, another one goes on: what it comes to, and what was shown."""
    state = await Runner.load("r", run_config=config)
    item, shown = await asked(state)
    state.answer(item, answer)
    await Runner.decide(state, run_config=config)
    return await plan_workflow(ACTIONS, review=True).resume("r", run_config=config), shown


async def test_a_person_approves_a_plan_changes_it_or_sends_it_back() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    result = await plan_workflow(ACTIONS, review=True).run(REFUND, run_config=config)
    assert not result.is_finished and not done

    changed = json.loads(REFUND.to_json())
    changed["steps"][1]["do"] = "pey"
    result, shown = await decided(config, {"plan": changed})
    assert not result.is_finished and shown == {"plan": json.loads(REFUND.to_json())}

    changed["steps"][1] = {"id": "pay", "do": "pay", "inputs": {"order": "fetch"}, "values": {"cents": 1}}
    result, shown = await decided(config, {"plan": changed})
    assert shown["plan"]["steps"][1]["do"] == "pey"
    assert shown["problems"] == [f"step 'pay': does 'pey', expected one of {sorted(NAMES)}; did you mean 'pay'?"]
    assert result.final_output.plan == Plan.from_json(json.dumps(changed)) and done == ["fetch o-1", "pay o-1 1 -"]


NAMES = ["fetch", "pay", "note_of", "send", "Judge"]


async def test_a_person_who_does_not_approve_has_nothing_carried_out() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await plan_workflow(ACTIONS, review=True).run(REFUND, run_config=config)
    result, _ = await decided(config, PlanReview(approved=False, comment="too dear"))
    assert result.final_output == PlanResult(REFUND, rejected="too dear") and not done


async def test_an_answer_that_is_no_plan_is_refused_where_it_is_given() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await plan_workflow(ACTIONS, review=True).run(REFUND, run_config=config)
    for wrong in ({"plan": {"steps": [{"id": 5}]}}, {"plan": "yes"}, "yes", {"plan": {"steps": [], "more": 1}}):
        with pytest.raises(UserError, match="does not fit"):
            await decided(config, wrong)


# Checking.


def test_all_problems_are_told_at_once_with_the_nearest_name() -> None:
    wrong = Plan(
        [
            PlanStep("fetch", "fech", inputs={"id": "inputt"}),
            PlanStep("fetch", "fetch", inputs={"id": "input.id"}),
            PlanStep(
                "a b", "pay", inputs={"order": "note", "cents": "fetch.lines.0", "notes": "fetch.x"}, after=["fetchs"], retry=2
            ),
            PlanStep("note", "note_of", values={"order": "o-1"}),
            PlanStep("judge", "Judge"),
        ],
        input="o-1",
    )
    with pytest.raises(PlanError) as caught:
        wrong.check(ACTIONS)
    assert list(caught.value.problems) == [
        "step 'fetch': 2 steps have this id, expected one",
        "step 'a b': wrong id, expected 1 to 64 letters, digits, '_' or '-'",
        "step 'fetch': does 'fech', expected one of ['Judge', 'fetch', 'note_of', 'pay', 'send']; did you mean 'fetch'?",
        "step 'fetch': 'inputt' is no step, expected one of their ids",
        "step 'fetch': input 'id': 'input.id' is not in 'input'",
        "step 'a b': comes after 'fetchs', which is no step; did you mean 'fetch'?",
        "step 'a b': has a retry, and 'pay' must not run twice; expected none",
        "step 'a b': has an input 'notes', expected only ['order', 'cents', 'note']; did you mean 'note'?",
        "step 'a b': input 'order': 'note' is a string, expected an object",
        "step 'a b': input 'cents': 'fetch.lines.0' is an object, expected a number",
        "step 'a b': input 'notes': 'fetch.x': the result of 'fetch' has no 'x', expected one of ['id', 'lines', 'note']",
        "step 'note': value of 'order': expected an object, got a string of 3 characters",
        "step 'judge': gives 'Judge' nothing to do, expected a task",
    ]
    assert all(f"- {problem}\n" in str(caught.value) for problem in caught.value.problems)


def test_cycles_are_named_by_their_path() -> None:
    one = [PlanStep(id, "fetch", values={"id": "x"}, after=[before]) for id, before in [("a", "c"), ("b", "a"), ("c", "b")]]
    two = [PlanStep(id, "fetch", inputs={"id": f"{before}.id"}) for id, before in [("d", "e"), ("e", "d")]]
    alone = PlanStep("f", "fetch", values={"id": "x"}, when=[Condition("f.id", "==", "x")])
    assert problems(*one, *two, alone) == [
        "steps wait for each other: 'a' -> 'b' -> 'c' -> 'a'; expected no cycle",
        "steps wait for each other: 'd' -> 'e' -> 'd'; expected no cycle",
        "steps wait for each other: 'f' -> 'f'; expected no cycle",
    ]


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (Condition("risk.scor", "<", 3), "'risk.scor': the result of 'risk' has no 'scor', expected one of ['score']"),
        (Condition("risk.score.x", "<", 3), "'risk.score.x': the result of 'risk' is a number, which has no 'x'"),
        (Condition("nobody"), "'nobody' is no step, expected one of their ids"),
        (Condition("risk.score", "<", "3"), "it is a number, expected a string"),
        (Condition("risk.score"), "it is a number, expected true or false"),
        (Condition("risk.score", "<", [3]), "its value is no number or text, expected one with '<'"),
        (Condition("risk.score", ">", True), "its value is no number or text, expected one with '>'"),
        (Condition("risk.score", "in", 3), "its value is no list, expected one with 'in'"),
        (Condition("risk.score", "==", object()), "its value has no JSON form, expected text, numbers, true or false"),
        (Condition("fetch.lines.first"), "'fetch.lines.first': the result of 'fetch' is an array, which has no 'first'"),
        (Condition("risk.score", "==", 3), ""),
        (Condition("fetch.note", "==", None), ""),
        (Condition("fetch.note", "==", "x"), ""),
    ],
)
def test_conditions_that_cannot_be_decided_are_problems(condition: Condition, problem: str) -> None:
    found = problems(
        FETCH, PlanStep("risk", "Judge", "?"), PlanStep("again", "fetch", inputs={"id": "input"}, when=[condition])
    )
    assert (found == [] and not problem) or (problem and problem in found[0] and len(found) == 1)


def test_types_of_connected_fields_are_compared() -> None:
    @dataclass
    class Cheap:
        id: str
        lines: list[str]

    @step(effect="none")
    async def cheap() -> Cheap: ...  # type: ignore[empty-body]

    @step(effect="none")
    async def bare() -> dict[str, int]: ...  # type: ignore[empty-body]

    @step(effect="none")
    async def maybe() -> Order | str | None: ...  # type: ignore[empty-body]

    @step(effect="none")
    async def anything() -> Any: ...

    @step(effect="none")
    async def line() -> Line: ...  # type: ignore[empty-body]

    actions = [pay, cheap, bare, maybe, anything, line]
    steps = [PlanStep(name, name) for name in ("cheap", "bare", "maybe", "anything", "line")]

    def paid(**inputs: str) -> list[str]:
        return problems(*steps, PlanStep("pay", "pay", inputs={"order": "maybe", "cents": "bare.x", **inputs}), actions=actions)

    assert paid() == paid(order="anything", cents="anything.a.b") == paid(cents="bare.y") == paid(order="bare") == []
    why = "'cheap' has a 'lines' that has entries of which each is a string, expected an object"
    assert paid(order="cheap") == [f"step 'pay': input 'order': {why}"]
    assert paid(order="line") == ["step 'pay': input 'order': 'line' has no 'id'"]
    assert paid(note="bare.x") == ["step 'pay': input 'note': 'bare.x' is a number, expected a string"]


def test_what_is_given_twice_or_not_at_all_is_a_problem() -> None:
    assert problems(FETCH, PlanStep("pay", "pay", inputs={"order": "fetch"}, values={"order": 1})) == [
        "step 'pay': lacks the input 'cents' of 'pay'",
        "step 'pay': input 'order': is both taken and given, expected one of these",
        "step 'pay': value of 'order': expected an object, got an integer",
    ]
    assert problems(PlanStep("fetch", "fetch", inputs={"id": "input"}), input=None) == [
        "step 'fetch': input 'id': 'input' expected a string, got null"
    ]
    assert problems(PlanStep("fetch", "fetch", values={"id": object()})) == [
        "step 'fetch': value of 'id': has no JSON form, expected text, numbers, lists or dicts"
    ]


def test_thousands_of_steps_are_checked_and_a_chain_of_them_too() -> None:
    first = PlanStep("s0", "fetch", inputs={"id": "input"})
    chain = [first, *(PlanStep(f"s{n}", "fetch", inputs={"id": f"s{n - 1}.id"}) for n in range(1, 5_000))]
    assert problems(*chain) == []
    around = problems(PlanStep("s0", "fetch", inputs={"id": "s4999.id"}), *chain[1:])
    assert len(around) == 1 and around[0].startswith("steps wait for each other: ") and around[0].count("->") == 5_000
    wrong = problems(*(PlanStep(f"s{n}", f"fetch{n}", inputs={"id": f"x{n}"}) for n in range(2_000)))
    assert len(wrong) == 4_000


async def test_a_chain_of_500_steps_is_carried_out() -> None:
    first = PlanStep("s0", "fetch", inputs={"id": "input"})
    chain = Plan([first, *(PlanStep(f"s{n}", "fetch", inputs={"id": f"s{n - 1}.id"}) for n in range(1, 500))], input="o-1")
    assert (await carried_out(chain))["s499"]["id"] == "o-1"


async def test_a_plan_that_cannot_be_carried_out_begins_nothing() -> None:
    with pytest.raises(PlanError):
        await carried_out(Plan([FETCH, PlanStep("pay", "pay", inputs={"order": "fetch"})], input="o-1"))
    assert done == []


def test_wrong_actions() -> None:
    for wrong, why in {
        "a function": ([lambda: None], "has the name None"),
        "a text": ({"a": "b"}, "is 'b', expected a step function"),
        "two": ([fetch, fetch], "two actions of a plan are called 'fetch'"),
        "none": (5, "the actions of a plan are 5"),
        "a name": ({"a.b": fetch}, "has the name 'a.b'"),
    }.values():
        with pytest.raises(UserError, match=why):
            plan_workflow(wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="limit=0"):
        plan_workflow([fetch], limit=0)


async def test_outside_of_a_workflow_no_plan_is_carried_out() -> None:
    with pytest.raises(UserError, match="outside of a workflow"):
        await REFUND.execute(ACTIONS)


# Reading and writing.


def test_a_plan_is_read_from_json_and_yaml() -> None:
    text = """
input: o-1
steps:
  - {id: fetch, do: fetch, inputs: {id: input}}
  - id: pay
    do: pay
    inputs: {order: fetch, cents: fetch.lines.1.cents}
"""
    assert Plan.from_yaml(text) == REFUND == Plan.from_json(REFUND.to_json())
    full = PlanStep("a", "b", "c", ["d"], {"e": "f"}, {"g": [1, None]}, [Condition("h"), Condition("i", "in", ["j"])], 0, 1.5)
    plan = Plan([full], input={"k": [1]})
    assert Plan.from_json(plan.to_json()) == plan
    assert REFUND.with_input("o-2").input == "o-2"


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nsteps: [*b, *b]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the whole: Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("{}", "steps: Field required"),
        ('{"steps": [{"id": "a"}]}', "steps[0].do: Field required"),
        ('{"steps": [{"id": "a", "do": "b", "retry": -1}]}', "steps[0].retry: Input should be greater"),
        ('{"steps": [{"id": "a", "do": "b", "timeout": 0}]}', "steps[0].timeout: Input should be greater"),
        ('{"steps": [{"id": "a", "do": "b", "when": [{"field": "a", "op": "~"}]}]}', "steps[0].when[0].op: Input should be"),
        ('{"steps": [{"id": "a", "do": "b", "whenn": []}]}', "steps[0].whenn: "),
    ],
)
def test_what_is_no_plan_is_told(text: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.from_json(text)
    assert any(problem in one for one in caught.value.problems)


@pytest.mark.parametrize(
    "text", ["a: [", BOMB, "[" * 20_000, "steps: 2020-99-99", "!!python/object:os.system {}", "steps: .nan"]
)
def test_what_is_no_plan_in_yaml_is_told(text: str) -> None:
    with pytest.raises(UserError, match="aliases" if text == BOMB else None):
        Plan.from_yaml(text)


# Drawing.


async def test_a_plan_is_drawn_with_what_has_become_of_its_steps() -> None:
    risk = PlanStep("risk", "Judge", "How risky?", inputs={"order": "fetch"}, timeout=60)
    paid = PlanStep(
        "paid", "pay", inputs={"order": "fetch", "cents": "fetch.lines.0.cents"}, when=[Condition("risk.score", ">", 5)]
    )
    plan = Plan([FETCH, risk, paid, PlanStep("send", "send", inputs={"receipt": "paid"})], input="o-1")
    assert plan.draw(actions=ACTIONS).splitlines() == [
        "flowchart TD",
        '    n1(["input"])',
        '    n2["fetch"]',
        '    n3("risk<br/>Judge<br/>How risky?")',
        '    n4["paid<br/>pay<br/>if risk.score #62; 5"]',
        '    n5["send"]',
        '    n1 -->|"id"| n2',
        '    n2 -->|"order"| n3',
        '    n2 -->|"order, cents"| n4',
        "    n3 --> n4",
        '    n4 -->|"receipt"| n5',
    ]
    result = await plan_workflow([*ACTIONS[:4], judge()]).run(plan, run_config=RunConfig(clock=Clock()))
    drawn = plan.draw(result.final_output)
    assert "    class n2,n3 done" in drawn and "    class n4,n5 skipped" in drawn
    assert plan.draw(result.to_state()).count("class n2,n3 done") == 1
    assert plan.draw(result.final_output, format="svg").startswith("<svg")


async def test_a_run_that_waits_and_one_that_failed_are_drawn() -> None:
    @workflow
    async def asks(order: Order) -> bool:
        return await flow.ask("Shall I?")

    plan = Plan([FETCH, PlanStep("asks", "asks", inputs={"order": "fetch"})], input="o-1")
    waiting = await plan_workflow([fetch, asks]).run(plan)
    drawn = plan.draw(waiting.to_state())
    assert "    class n2 done" in drawn and "    class n3 open" in drawn
    failing = Plan([FETCH, PlanStep("send", "send", values={"receipt": "x"}, after=["fetch"])], input="o-1")
    with pytest.raises(WorkflowFailedError) as caught:
        await carried_out(failing)
    assert "    class n3 failed" in failing.draw(caught.value.state)


async def test_a_step_that_took_too_long_is_drawn_as_failed() -> None:
    async def never(request: object) -> str:
        await asyncio.Event().wait()
        return ""

    plan = Plan([PlanStep("risk", "Judge", "Judge.", timeout=60)])
    with pytest.raises(WorkflowFailedError) as caught:
        await plan_workflow([judge(never)]).run(plan, run_config=RunConfig(clock=Clock()))
    assert "    class n1 failed" in plan.draw(caught.value.state)


async def test_of_several_plans_the_last_one_is_drawn() -> None:
    @workflow
    async def both(plan: Plan) -> PlanResult:
        await plan.execute(ACTIONS)
        return await Plan([PlanStep("send", "send", values={"receipt": "x"})]).execute(ACTIONS)

    run = await both.run(REFUND)
    assert "class" not in REFUND.draw(run.to_state())
    assert "    class n1 failed" in Plan([PlanStep("send", "send")]).draw(run.to_state())


def test_also_a_plan_that_cannot_be_carried_out_is_drawn() -> None:
    wrong = Plan(
        [PlanStep("a", "x", after=["c", "a", "z"]), PlanStep("c", "x", after=["a"]), PlanStep("c", ""), PlanStep("", "y")]
    )
    for format in ("mermaid", "svg"):
        assert wrong.draw(format=format)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="format"):
        wrong.draw(format="png")  # type: ignore[arg-type]


# Nonsense.

_WORDS = st.sampled_from(
    ["fetch", "pay", "note_of", "Judge", "risk", "input", "fetch.id", "risk.score", "x", "", ".", "a.b.", "\x00"]
)
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=5,
)
_VALID = {
    "steps": [
        {"id": "fetch", "do": "fetch", "inputs": {"id": "input"}},
        {"id": "risk", "do": "Judge", "task": "How risky?", "inputs": {"order": "fetch"}, "retry": 1},
        {
            "id": "pay",
            "do": "pay",
            "inputs": {"order": "fetch"},
            "values": {"cents": 1},
            "when": [{"field": "risk.score", "op": "<", "value": 3}],
            "after": ["risk"],
            "timeout": 5,
        },
        {"id": "note", "do": "note_of", "inputs": {"order": "fetch"}},
    ],
    "input": "o-1",
}


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    """A plan that somebody edited: some values in it replaced, dropped, doubled or made a word of another place."""
    plan = json.loads(json.dumps(_VALID))
    for _ in range(draw(st.integers(1, 4))):
        place: Any = plan
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
                place = place[key]
                continue
            match draw(st.sampled_from(["replace", "replace", "word", "drop", "double"])):
                case "replace":
                    place[key] = draw(_JUNK)
                case "word":
                    place[key] = draw(_WORDS)
                case "drop":
                    del place[key]
                case _ if isinstance(place, list):
                    place.append(place[key])
                case _:
                    place[draw(_WORDS)] = place[key]
            break
    return json.dumps(plan)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=_mutated())
def test_a_plan_edited_into_nonsense_is_a_typed_error_or_is_carried_out(text: str) -> None:
    try:
        plan = Plan.from_json(text)
        found = plan.problems(ACTIONS)
    except PlanError:
        return
    runs = plan_workflow([*ACTIONS[:4], judge(*['{"score": 3}'] * 30)])
    try:
        asyncio.run(runs.run(plan))
    except PlanError:
        assert found
    except AgentsException:
        assert not found
    else:
        assert not found
