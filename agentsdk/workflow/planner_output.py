"""Plans made by models: the output of an agent, in a form whose schema a provider can enforce, checked before it counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from agentsdk.core.problems import list_problems
from agentsdk.define.output_function import OutputFunction
from agentsdk.define.output_validator import ModelRetry
from agentsdk.define.strict_schema import tidy_json_schema
from agentsdk.types.declared import Fields, whole
from agentsdk.types.errors import UserError
from agentsdk.types.spec import OutputMode
from agentsdk.workflow.actions import Action, Actions, actions_of
from agentsdk.workflow.plan import Plan
from agentsdk.workflow.plan_step import Condition, Operator, PlanStep

_FIELDS = Fields("plan_output", max_steps=whole("a whole number, 1 or more", 1))

Scalar = str | int | float | bool | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PlannedInput(_Part):
    """An argument of a step: where it comes from, or what it is."""

    name: str = Field(description="The argument's name.")
    source: str | None = Field(
        description="The id of an earlier step, or id.field of its result; null where the value is given."
    )
    value: Scalar = Field(description="What the argument is, where it has no source.")


class PlannedCondition(_Part):
    """What must hold for a step to take place."""

    field: str = Field(description="The id of an earlier step, or id.field of its result.")
    op: Operator
    value: Scalar | list[Scalar]


class PlannedStep(_Part):
    """A step, as a model gives it."""

    id: str = Field(description="A short name of your own: letters, digits, '_' or '-'.")
    do: str = Field(description="The action that does it.")
    task: str = Field(description="What an agent is asked to do, in full: it knows nothing else. Empty for other actions.")
    inputs: list[PlannedInput] = Field(description="Its arguments; an agent is given them beside its task.")
    after: list[str] = Field(description="The ids of steps that must come before it, though it takes nothing of them.")
    when: list[PlannedCondition] = Field(description="Empty, or what must hold for it to take place.")

    def as_step(self) -> PlanStep:
        """The same as data of a plan."""
        return PlanStep(
            self.id,
            self.do,
            self.task,
            self.after,
            {one.name: one.source for one in self.inputs if one.source},
            {one.name: one.value for one in self.inputs if not one.source},
            [Condition(one.field, one.op, one.value) for one in self.when],
        )


def plan_output(
    actions: Actions, *, known: Mapping[str, object] | None = None, max_steps: int = 50, mode: OutputMode = "native"
) -> OutputFunction[Plan]:
    """What has an agent make a plan of these actions: `Agent[None, Plan](name="Planner", output_type=plan_output(actions))`.

    The model can name no other actions. A plan that is wrong goes back to it with all that is wrong, within
    `RunConfig(max_output_retries=...)`; so does one of more than `max_steps` steps. Steps may take `known` results. `mode` is
    that of `AgentOutputSchema`. Raises `UserError` for what is no action, and where there are none.
    """
    _FIELDS.check_given("plan_output", max_steps=max_steps)
    may_do = actions_of(actions)
    if not may_do:
        raise UserError("plan_output was given no actions, expected one at least; pass what the steps of a plan may do")

    def plan(steps: list[Any]) -> Plan:
        if len(steps) > max_steps:
            raise ModelRetry(f"the plan has {len(steps)} steps, expected {max_steps} at most; plan less at once")
        made = Plan([one.as_step() for one in cast("list[PlannedStep]", steps)])
        if problems := made.problems(may_do, known):
            raise ModelRetry(f"the plan cannot be carried out:\n{list_problems(problems)}")
        return made

    plan.__annotations__["steps"] = _steps_of(tuple(may_do))
    plan.__doc__ = "Make a plan: its steps. Those that do not wait for each other take place at the same time."
    return OutputFunction(plan, mode=mode)


@lru_cache(maxsize=64)
def _steps_of(names: tuple[str, ...]) -> object:
    """The type of a list of steps that do these actions."""
    any_of: Any = Literal[names]
    step: Any = create_model("Step", __base__=PlannedStep, do=(any_of, Field(description="The action that does it.")))
    return list[step]


def describe_actions(actions: Actions) -> str:
    """What to tell a model of these actions: their names, what they are for, what they take and give."""
    return "\n".join(_described(action) for action in actions_of(actions).values())


def _described(action: Action) -> str:
    about = " ".join(action.about.split())
    if action.parameters is None:
        takes = "a task, and any inputs"
    else:
        takes = ", ".join(_parameter(action, name) for name in action.parameters) or "nothing"
    return f"- {action.name} ({action.kind}){': ' if about else ''}{about}\n  takes {takes}\n  gives {_shown(action.result)}"


def _parameter(action: Action, name: str) -> str:
    assert action.parameters is not None, "what takes anything has no parameters"
    optional = "" if name in action.required else " (optional)"
    return f"{name}{optional} {_shown(action.parameters[name])}"


def _shown(schema: Mapping[str, object]) -> str:
    return json.dumps(tidy_json_schema(dict(schema)), ensure_ascii=False, separators=(",", ":"))
