"""`Plan`: a graph of steps as data, which a person or a model can write, read and change before it is carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import Any, ClassVar, cast

from pydantic import TypeAdapter, ValidationError

from agentsdk.core.given_json import json_text
from agentsdk.core.problems import list_problems
from agentsdk.core.run_state import RunState
from agentsdk.define.given_yaml import read_yaml
from agentsdk.define.problems import problems_of
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import FLAG, Fields, a, sequence_of, whole
from agentsdk.types.errors import PlanError, StepFailedError, UserError
from agentsdk.workflow.actions import Actions, actions_of
from agentsdk.workflow.diagram import Status
from agentsdk.workflow.flow import flow
from agentsdk.workflow.plan_check import problems_of_steps
from agentsdk.workflow.plan_draw import diagram_of, statuses_in, statuses_of
from agentsdk.workflow.plan_run import Execution, PlanStepResult
from agentsdk.workflow.plan_step import CLOSED, INPUT, Condition, PlanStep
from agentsdk.workflow.render import Format, render
from agentsdk.workflow.scope import current_scope
from agentsdk.workflow.workflow import Workflow, workflow

_EMPTY = ("after", "inputs", "values", "when")
_FIELDS = Fields("plan_workflow", limit=whole("a whole number, 1 or more", 1), review=FLAG)
_PLAN = Fields("Plan", steps=sequence_of(a(PlanStep, "a PlanStep"), "a list of PlanStep(...)"))


@dataclass(frozen=True)
class Plan:
    """Steps, and what they need of each other: a graph as data. `input` is what the steps may take as `"input"`.

    It is carried out by a workflow (`plan_workflow`), or within one (`execute`). Raises `UserError` for values of wrong types.
    """

    __pydantic_config__: ClassVar[Any] = CLOSED

    steps: Sequence[PlanStep]
    input: object = None

    def __post_init__(self) -> None:
        _PLAN.check(self)
        object.__setattr__(self, "steps", tuple(self.steps))

    @staticmethod
    def from_json(text: str | bytes) -> Plan:
        """The plan that a JSON text says. Raises `PlanError` with all that is wrong with it."""
        try:
            return _reader().validate_json(text)
        except ValidationError as error:
            raise plan_error(problems_of(error)) from None

    @staticmethod
    def from_yaml(text: str) -> Plan:
        """The same of YAML, which has no aliases: needs `pip install agentsdk[yaml]`. Raises `PlanError`, `UserError`."""
        return Plan.from_json(json_text("a plan", _read_yaml(text)))

    def to_json(self) -> str:
        """The plan as JSON text, without what is left at its default. Raises `UserError` for a value that has no JSON form."""
        return json_text("a plan", self.to_dict())

    def to_dict(self) -> JsonObject:
        """The same as a dict."""
        return _said(self)

    def with_input(self, input: object) -> Plan:
        """The same steps on another input."""
        return replace(self, input=input)

    def problems(self, actions: Actions, known: Mapping[str, object] | None = None) -> list[str]:
        """What is wrong with the plan: cycles, names that are not there, types that do not fit; nothing where it can be begun.

        `actions` are what the steps may do, `known` earlier results that they may take, by ids.
        """
        return problems_of_steps(self.steps, actions_of(actions), self._known(known))

    def check(self, actions: Actions, known: Mapping[str, object] | None = None) -> None:
        """Raises `PlanError` with all of `problems`."""
        if problems := self.problems(actions, known):
            raise plan_error(problems)

    async def review(
        self, actions: Actions, *, question: str = "Run this plan?", known: Mapping[str, object] | None = None
    ) -> PlanReview:
        """In a workflow: show the plan to a person, who approves it, changes it or sends it back.

        A changed plan that is wrong is shown again, with what is wrong with it. The `plan` of an approving answer is the one to
        carry out, that of another None.
        """
        checked, plan = actions_of(actions), self
        problems: list[str] = []
        while True:
            shown: JsonObject = {"plan": plan.to_dict()}
            if problems:
                shown["problems"] = problems
            said = await flow.ask(question, shown, answer=PlanReview)
            if not said.approved:
                return replace(said, plan=None)
            plan = plan if said.plan is None else said.plan
            problems = plan.problems(checked, known)
            if not problems:
                return replace(said, plan=plan)

    async def execute(self, actions: Actions, *, limit: int = 16, known: Mapping[str, object] | None = None) -> PlanResult:
        """In a workflow: carry it out, at most `limit` steps at once.

        A step that fails raises nothing: what has begun comes to its end, no more begins, and the result says so. Its
        `raise_for_failure` has the workflow fail, and undo. Raises `PlanError` for a plan that cannot be carried out.
        """
        _FIELDS.check_given("Plan.execute", limit=limit)
        checked = actions_of(actions)
        self.check(checked, known)
        scope = current_scope()
        if scope is None:
            raise UserError("Plan.execute was called outside of a workflow's program, expected within one; see plan_workflow")
        execution = Execution(self.steps, checked, self._known(known), limit, scope)
        return PlanResult(self, await execution.results())

    def draw(self, of: RunState | PlanResult | None = None, *, actions: Actions = (), format: Format = "mermaid") -> str:
        """The plan as a Mermaid flowchart, or as a picture (`"svg"`); with what has become of its steps in a run, or a result.

        With `actions` agents and workflows have shapes of their own.
        """
        statuses: Mapping[str, Status] = {}
        if of is not None:
            statuses = statuses_in(of.value) if isinstance(of, RunState) else statuses_of(of.steps)
        return render(diagram_of(self.steps, actions_of(actions), statuses), format)

    def _known(self, known: Mapping[str, object] | None) -> dict[str, object]:
        return {**(known or {}), INPUT: self.input}


@dataclass(frozen=True)
class PlanResult:
    """What a plan has come to: the `plan` as it was carried out, and `steps`, what became of each, by id.

    `rejected` is what the person said who would not have it carried out.
    """

    plan: Plan
    steps: Mapping[str, PlanStepResult] = field(default_factory=dict[str, PlanStepResult])
    rejected: str | None = None

    def __getitem__(self, id: str) -> Any:
        """The output of a step, as JSON. Raises `KeyError` where it has none."""
        result = self.steps[id]
        if result.status != "done":
            raise KeyError(id)
        return result.output

    @property
    def outputs(self) -> dict[str, object]:
        """The outputs of the steps that are done."""
        return {id: result.output for id, result in self.steps.items() if result.status == "done"}

    @property
    def failed(self) -> str | None:
        """The id of the step that failed; None where none did."""
        return next((id for id, result in self.steps.items() if result.status == "failed"), None)

    def raise_for_failure(self) -> None:
        """Raises `StepFailedError` where a step failed: a workflow that lets it pass is undone."""
        id = self.failed
        if id is not None:
            failed = self.steps[id]
            raise StepFailedError(
                f"step {id!r} of a plan failed with {failed.error_type}, expected a result; catch StepFailedError where the "
                "program can go on without it",
                step=id,
                error_type=failed.error_type,
                detail=failed.reason,
            )


@dataclass(frozen=True)
class PlanReview:
    """What a person says of a plan: that it is approved, as it is or as the changed `plan`; or not, and why (`comment`)."""

    approved: bool = True
    plan: Plan | None = None
    comment: str = ""


def plan_workflow(actions: Actions, *, name: str = "plan", limit: int = 16, review: bool = False) -> Workflow[Plan, PlanResult]:
    """A workflow that carries out the plan which it is given, at most `limit` steps at once.

    `actions` are what the plans' steps may do: step functions, agents, tools and workflows, by name. With `review` a person
    is asked first: `state.answer(item, PlanReview(plan=changed))`. Where a step fails for good, what is done is undone, as in
    any workflow. Raises `UserError` for what is no action; runs of it raise `PlanError`.
    """
    known = actions_of(actions)
    _FIELDS.check_given(limit=limit, review=review)

    @workflow(name=name)
    async def run(plan: Plan) -> PlanResult:
        plan.check(known)
        if review:
            said = await plan.review(known)
            if said.plan is None:
                return PlanResult(plan, rejected=said.comment)
            plan = said.plan
        result = await plan.execute(known, limit=limit)
        result.raise_for_failure()
        return result

    return run


def plan_error(problems: Sequence[str]) -> PlanError:
    """The error that says these problems."""
    return PlanError(
        f"a plan cannot be carried out:\n{list_problems(list(problems))}\nexpected none of these; change the plan",
        problems=tuple(problems),
    )


def _said(one: Plan | PlanStep | Condition) -> JsonObject:
    """The fields of `one` that are not left at their defaults."""
    said: JsonObject = {}
    for given in fields(one):
        value = getattr(one, given.name)
        if isinstance(value, tuple):
            parts = cast("tuple[object, ...]", value)
            value = [_said(part) if isinstance(part, PlanStep | Condition) else part for part in parts]
        default = given.default is not MISSING and value == given.default and type(value) is type(given.default)
        if not (default or (given.name in _EMPTY and not value)):
            said[given.name] = value
    return said


@cache
def _reader() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def _read_yaml(text: str) -> object:
    try:
        return read_yaml(text, "Plan.from_yaml")
    except ValueError as error:
        raise plan_error([f"the whole: {error}"]) from None
