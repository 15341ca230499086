"""Plans are typed: what carries one out is a workflow of a plan."""

from __future__ import annotations

from typing import Any, assert_type

from agentsdk.core.run_state import RunState
from agentsdk.define.agent import Agent
from agentsdk.define.tool import FunctionTool
from agentsdk.patterns import PlannedAnswer, Todo, plan_then_execute, todo_tool, todos_of
from agentsdk.result import RunResult
from agentsdk.workflow import (
    Condition,
    Dag,
    Plan,
    PlanResult,
    PlanReview,
    PlanStep,
    Workflow,
    plan_output,
    plan_workflow,
    step,
    workflow,
)


@step
async def fetch(id: str) -> int:
    return 1


@workflow
async def own(plan: Plan) -> PlanResult:
    said = await plan.review([fetch])
    assert_type(said, PlanReview)
    assert_type(said.plan, Plan | None)
    result = await plan.execute({"fetch": fetch, "ask": Agent(name="A")}, limit=2, known={"a": 1})
    assert_type(result, PlanResult)
    return result


assert_type(plan_workflow([fetch, own, Agent(name="A"), todo_tool()]), Workflow[Plan, PlanResult])
PlanStep("a", "fetch", after=["b"], inputs={"id": "b"}, values={"x": [1]}, when=[Condition("b.c", "<", 3)])
PlanStep("a", "fetch", retry="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Condition("a", "~")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
plan_workflow([1])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


assert_type(Agent[None, Plan](name="P", output_type=plan_output([fetch])), Agent[None, Plan])
planning = plan_then_execute((fetch, own), Agent(name="P"), Agent[None, int](name="W", output_type=int))
assert_type(planning, Workflow[str, PlannedAnswer[int]])
assert_type(plan_then_execute([fetch], Agent(name="P"), Agent(name="W"), review=True), Workflow[str, PlannedAnswer[str]])
assert_type(Dag({"fetch": fetch}, [("input", "fetch.id")]).plan, Plan)


async def called(plan: Plan, state: RunState) -> None:
    assert_type(todos_of(state), list[Todo])
    assert_type(todo_tool(name="x", max_items=5), FunctionTool[Any])
    answer = (await planning.run("x")).final_output
    assert_type(answer.answer, int)
    assert_type(answer.rounds[0].plan, Plan)
    result = await plan_workflow([fetch]).run(plan)
    assert_type(result, RunResult[PlanResult])
    output: Any = result.final_output["a"]
    assert_type(output, Any)
