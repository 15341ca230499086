"""How the steps of a plan are carried out, within a workflow: side by side as far as they do not wait for each other."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, Literal

from agentsdk.core.given_json import plain_json
from agentsdk.types.errors import StepFailedError
from agentsdk.workflow.actions import Action, input_failure
from agentsdk.workflow.paths import MISSING, value_at
from agentsdk.workflow.plan_step import Condition, PlanStep, dependencies
from agentsdk.workflow.scope import PLACE, Scope

StepStatus = Literal["done", "failed", "skipped", "not run"]


@dataclass(frozen=True)
class PlanStepResult:
    """What became of a step of a plan: its `output` as JSON, where it is done; where it is not, why (`reason`).

    Of a failed one `error_type` is the class of what its body raised.
    """

    status: StepStatus
    output: object = None
    reason: str = ""
    error_type: str = ""


class Execution:
    """Steps that are carried out in the program of `scope`. `known` are earlier results that they may take, the input too."""

    def __init__(
        self, steps: Sequence[PlanStep], actions: Mapping[str, Action], known: Mapping[str, object], limit: int, scope: Scope
    ) -> None:
        self._steps = {step.id: step for step in steps}
        self._actions = actions
        self._program = scope.program
        self._path = scope.key("plan")
        self._at_once = asyncio.Semaphore(limit)
        self._values = dict(known)
        self._results: dict[str, PlanStepResult] = {}
        self._has_failed = False

    async def results(self) -> dict[str, PlanStepResult]:
        """What becomes of each step."""
        steps = self._steps
        waits = dependencies(steps.values())
        tasks: dict[str, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            for id in TopologicalSorter(waits).static_order():
                if id in steps:
                    before = [tasks[other] for other in waits[id] if other in tasks]
                    tasks[id] = group.create_task(self._come_to(steps[id], before))
        return {id: self._results[id] for id in steps}

    async def _come_to(self, step: PlanStep, before: list[asyncio.Task[None]]) -> None:
        PLACE.set(Scope(self._program, f"{self._path}/{step.id}/", asyncio.current_task()))
        if before:
            await asyncio.wait(before)
        async with self._at_once:
            self._results[step.id] = result = await self._result(step)
        if result.status == "done":
            self._values[step.id] = result.output

    async def _result(self, step: PlanStep) -> PlanStepResult:
        if self._has_failed:
            return PlanStepResult("not run", reason="another step had failed")
        action = self._actions[step.do]
        reason = self._why_skipped(step, action)
        if reason:
            return PlanStepResult("skipped", reason=reason)
        try:
            return PlanStepResult("done", await action.run(step, self._inputs(step)))
        except StepFailedError as error:
            self._has_failed = True
            return PlanStepResult("failed", reason=error.detail, error_type=error.error_type)

    def _why_skipped(self, step: PlanStep, action: Action) -> str:
        """Why a step does not take place, `""` where it does."""
        for condition in step.when:
            if not holds(condition, self._values):
                return f"{condition} does not hold"
        for name, path in step.inputs.items():
            source = path.partition(".")[0]
            if source not in self._values and (action.parameters is None or name in action.required):
                return f"there is no {source!r} for its input {name!r}"
        return ""

    def _inputs(self, step: PlanStep) -> dict[str, object]:
        inputs = dict(step.values)
        for name, path in step.inputs.items():
            source, _, _ = path.partition(".")
            if source in self._values:
                found = value_at(self._values, path)
                if found is MISSING:
                    raise input_failure(name, f"is {path!r}, which is not in the result")
                inputs[name] = found
        return inputs


def _equal(found: object, value: object) -> bool:
    return found == value and isinstance(found, bool) == isinstance(value, bool)  # to Python 1 is True


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda found, value: not _equal(found, value),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda found, value: any(_equal(found, one) for one in value),
}


def holds(condition: Condition, values: Mapping[str, object]) -> bool:
    """Whether a condition holds. What is not there, and what cannot be compared, does not."""
    found = value_at(values, condition.field)
    if found is MISSING:
        return False
    try:
        return bool(_COMPARISONS[condition.op](found, plain_json("the value of a condition", condition.value)))
    except TypeError:
        return False
