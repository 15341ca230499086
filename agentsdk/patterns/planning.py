"""`plan_then_execute`: a model makes a plan, which is carried out, and made anew where it does not work; another answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentsdk.define.agent import Agent
from agentsdk.patterns.agents import as_text, output_type_of
from agentsdk.types.declared import FLAG, Fields, a, a_name, optional, whole
from agentsdk.types.errors import StepFailedError
from agentsdk.types.text import shortened
from agentsdk.workflow import Plan, PlanStep, PlanStepResult, Workflow, describe_actions, flow, plan_output
from agentsdk.workflow.actions import Action, Actions, actions_of

T = TypeVar("T")

PLAN = "{task}\n\nMake a plan for this, of these actions:\n{actions}"
ANEW = (
    "{first}\n\nUp to now:\n{rounds}\n\n{reason}\n\nPlan what is still to be done, under new ids. Steps may take results of "
    "those that are done, by their ids. Where nothing is left to be done, give no steps."
)
ANSWER = "{task}\n\nWhat was done for this:\n{rounds}\n\nGive the answer."
IT_WORKED = "The plan was carried out. Look at its results."


@dataclass(frozen=True)
class PlanRound:
    """One of several plans, as it was carried out: what became of its `steps`, and the `reason` for it, `""` of the first.

    `is_edited`: a person has changed it. One that a person has sent back has no steps.
    """

    plan: Plan
    steps: Mapping[str, PlanStepResult]
    reason: str = ""
    is_edited: bool = False


@dataclass(frozen=True)
class PlannedAnswer(Generic[T]):
    """What `plan_then_execute` came to: the `answer`, and the plans that led there."""

    answer: T
    rounds: tuple[PlanRound, ...]

    @property
    def outputs(self) -> dict[str, object]:
        """The outputs of all steps that are done, as JSON, by their ids."""
        return _outputs(self.rounds)


def plan_then_execute(
    actions: Actions,
    planner: Agent[Any, Any],
    writer: Agent[Any, T],
    *,
    review: bool = False,
    adaptive: bool = False,
    max_replans: int = 2,
    limit: int = 8,
    max_steps: int = 50,
    max_chars: int = 2_000,
    name: str | None = None,
) -> Workflow[str, PlannedAnswer[T]]:
    """A workflow in which `planner` makes a plan of `actions` for a task, which is carried out, and `writer` gives the answer.

    Steps that do not wait for each other run side by side, `limit` at once. Where one fails for good, the planner is told, and
    plans the rest: `max_replans` times at most, after which the workflow fails, and undoes what can be undone. If it is
    `adaptive` it is also asked after each plan that worked, until it plans nothing more, or has no replans left. With `review`
    a person sees each plan, and approves it, changes it, or sends it back with a comment, which is replanning too; without a
    comment the workflow fails.

    A plan has `max_steps` steps at most; of each result `max_chars` characters are shown to planner and writer. The workflow is
    named after the planner unless it is given a `name`. Raises `UserError` for what is no agent, and no action.
    """
    _FIELDS.check_given(
        "plan_then_execute", planner=planner, writer=writer, review=review, adaptive=adaptive, max_replans=max_replans
    )
    _FIELDS.check_given("plan_then_execute", limit=limit, max_steps=max_steps, max_chars=max_chars, name=name)
    may_do = actions_of(actions)
    plan_output(may_do)  # wrong actions are told now

    async def run(task: str) -> PlannedAnswer[T]:
        rounds: list[PlanRound] = []
        reason = ""
        while len(rounds) <= max_replans:
            why = reason or (IT_WORKED if rounds else "")
            plan, reason = await _planned(planner, task, may_do, rounds, why, max_steps, max_chars), ""
            if rounds and not plan.steps:
                break
            done, reason = await _carried_out(plan, may_do, rounds, why, limit, review=review)
            rounds.append(done)
            if not (reason or adaptive):
                break
        if reason:
            raise _failure("plan", "NoReplansLeft", reason)
        answer = await flow.agent(writer, ANSWER.format(task=task, rounds=_told(rounds, max_chars)))
        return PlannedAnswer(answer, tuple(rounds))

    return Workflow(run, f"{planner.name} plan" if name is None else name, {"T": output_type_of(writer)})


_FIELDS = Fields(
    "plan_then_execute",
    planner=a(Agent, "an Agent; pass the one that makes the plan, without an output_type"),
    writer=a(Agent, "an Agent; pass the one that gives the answer"),
    review=FLAG,
    adaptive=FLAG,
    max_replans=whole("a whole number, 0 or more; 2 suits most", 0),
    limit=whole("a whole number, 1 or more", 1),
    max_steps=whole("a whole number, 1 or more", 1),
    max_chars=whole("a whole number of characters, 100 or more", 100),
    name=optional(a_name("a name for the workflow")),
)


async def _planned(
    planner: Agent[Any, Any],
    task: str,
    actions: Mapping[str, Action],
    rounds: Sequence[PlanRound],
    reason: str,
    max_steps: int,
    max_chars: int,
) -> Plan:
    """The plan of what is left to do."""
    first = PLAN.format(task=task, actions=describe_actions(actions))
    prompt = ANEW.format(first=first, rounds=_told(rounds, max_chars), reason=reason) if rounds else first
    output = plan_output(actions, known=_outputs(rounds), max_steps=max_steps)
    return await flow.agent(planner.clone(output_type=output), prompt)


async def _carried_out(
    plan: Plan, actions: Mapping[str, Action], rounds: Sequence[PlanRound], reason: str, limit: int, *, review: bool
) -> tuple[PlanRound, str]:
    """The round that a plan comes to, and why there must be another, `""` where there need not be."""
    known, planned = _outputs(rounds), plan
    if review:
        said = await plan.review(actions, known=known)
        if said.plan is None:
            if not said.comment:
                raise _failure("review", "NotApproved", "a person did not approve the plan")
            return PlanRound(plan, {}, reason), f"A person did not approve the plan: {said.comment}"
        plan = said.plan
    result = await plan.execute(actions, limit=limit, known=known)
    return PlanRound(plan, result.steps, reason, plan != planned), _why_anew(plan, result.steps)


def _outputs(rounds: Sequence[PlanRound]) -> dict[str, object]:
    return {id: one.output for part in rounds for id, one in part.steps.items() if one.status == "done"}


def _why_anew(plan: Plan, steps: Mapping[str, PlanStepResult]) -> str:
    for step in plan.steps:
        became = steps[step.id]
        if became.status == "failed":
            return f"Step {step.id!r} ({step.do}) failed with {became.error_type}: {became.reason}"
    return ""


def _failure(step: str, error_type: str, detail: str) -> StepFailedError:
    return StepFailedError(
        f"plan_then_execute ended without an answer ({error_type}), expected a plan that works; see detail",
        step=step,
        error_type=error_type,
        detail=detail,
    )


def _told(rounds: Sequence[PlanRound], max_chars: int) -> str:
    """What planner and writer are told of what was done."""
    return "\n".join([_line(step, part.steps.get(step.id), max_chars) for part in rounds for step in part.plan.steps])


def _line(step: PlanStep, became: PlanStepResult | None, max_chars: int) -> str:
    what = f"- {step.id} ({step.do}{': ' if step.task else ''}{shortened(step.task, max_chars)})"
    if became is None:
        return f"{what}: not approved"
    if became.status == "done":
        return f"{what}: {shortened(as_text(became.output), max_chars)}"
    return f"{what}: {became.status}{', ' if became.reason else ''}{became.reason}"
