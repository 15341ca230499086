"""What the steps of a plan may do, by name: step functions, agents, tools and workflows, seen alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, ClassVar, cast

import msgspec
from pydantic import TypeAdapter

from agentsdk.core.given_json import json_text, plain_json
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.tool import FunctionTool
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import is_tool_name, shown
from agentsdk.types.errors import StepFailedError, UserError
from agentsdk.types.settings import ToolRetrySettings
from agentsdk.workflow.codec import Codec, Signature
from agentsdk.workflow.flow import flow
from agentsdk.workflow.plan_step import PlanStep
from agentsdk.workflow.step import Step
from agentsdk.workflow.workflow import Workflow


class Action:
    """What the steps of a plan may do under one name.

    `parameters` are the JSON schemas of what it takes, `required` those of them that it cannot do without; `parameters` is None
    where it takes whatever it is given. `result` is the schema of what it gives. `may_retry`: running it again does no harm.
    """

    kind: ClassVar[str]
    may_retry = True

    def __init__(
        self,
        name: str,
        about: str | None,
        result: JsonObject,
        parameters: Mapping[str, JsonObject] | None = None,
        required: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.about = about or ""
        self.result = result
        self.parameters = parameters
        self.required = required

    async def run(self, planned: PlanStep, inputs: Mapping[str, object]) -> object:
        """Its result, as JSON reads it, within a workflow. Raises `StepFailedError`."""
        raise NotImplementedError

    def read(self, name: str, value: object) -> Any:
        """The argument that a value, as JSON reads it, is. Raises `ValueError` where it does not fit."""
        return value

    def arguments(self, inputs: Mapping[str, object]) -> dict[str, Any]:
        """The arguments that inputs, as JSON reads them, are. Raises `StepFailedError` for one that does not fit."""
        arguments: dict[str, Any] = {}
        for name, value in inputs.items():
            try:
                arguments[name] = self.read(name, value)
            except ValueError:
                raise input_failure(name, "does not fit its parameter") from None
        return arguments


class _Function(Action):
    """A step function, or a workflow: its parameters have types."""

    def __init__(self, name: str, about: str | None, signature: Signature) -> None:
        schemas = {name: schema_of(codec) for name, codec in signature.parameters.items()}
        super().__init__(name, about, schema_of(signature.result), schemas, signature.required)
        self.signature = signature

    def read(self, name: str, value: object) -> Any:
        return self.signature.parameters[name].read(msgspec.json.encode(value).decode())


Usable = Step[..., Any] | Agent[Any, Any] | FunctionTool[Any] | Action
Actions = Sequence[Usable] | Mapping[str, Usable]
"""What the steps of a plan may do: step functions, agents, tools and workflows, by the names that plans know them by, which are
their own where none are given."""


_JSON_TYPES = ("object", "array", "integer", "number", "boolean")


def actions_of(given: Actions) -> dict[str, Action]:
    """The actions by name. Raises `UserError` for what is none, and for two of one name."""
    named: Iterable[tuple[object, object]]
    try:
        if isinstance(given, Mapping):
            named = list(cast("Mapping[object, object]", given).items())
        else:
            named = [(getattr(one, "name", None), one) for one in given]
    except Exception:  # of what cannot be gone through, or of a method of the user's own
        raise UserError(
            f"the actions of a plan are {shown(cast(object, given))}, expected a list of step functions, agents, tools and "
            "workflows, or a dict of them by name; pass these"
        ) from None
    actions: dict[str, Action] = {}
    for name, one in named:
        if not isinstance(name, str) or not is_tool_name(name):
            raise UserError(
                f"an action of a plan has the name {shown(name)}, expected 1 to 64 letters, digits, '_' or '-'; pass a dict of "
                "actions by such names"
            )
        if name in actions:
            raise UserError(f"two actions of a plan are called {name!r}, expected one; pass a dict of actions by other names")
        actions[name] = one if isinstance(one, Action) else _action(name, one)
    return actions


def _action(name: str, one: object) -> Action:
    given: Any = one
    if isinstance(one, Step):
        return _StepAction(name, given)
    if isinstance(one, Workflow):
        return _WorkflowAction(name, given)
    if isinstance(one, Agent):
        return _AgentAction(name, given)
    if isinstance(one, FunctionTool):
        return _ToolAction(name, given)
    raise UserError(
        f"action {name!r} of a plan is {shown(one)}, expected a step function, an agent, a tool or a workflow; write @step "
        "above an async function"
    )


class _StepAction(_Function):
    """A step function."""

    kind = "step"

    def __init__(self, name: str, step: Step[..., Any]) -> None:
        super().__init__(name, step.__doc__, step.signature)
        self.step = step
        self.may_retry = step.effect != "once"

    async def run(self, planned: PlanStep, inputs: Mapping[str, object]) -> object:
        step = self.step
        if planned.retry is not None or planned.timeout is not None:
            step = copy(step)
            if planned.retry is not None:
                step.retry = ToolRetrySettings(max_retries=planned.retry)
            if planned.timeout is not None:
                step.timeout = planned.timeout
        return _as_json(step.signature, await step(**self.arguments(inputs)))


class _WorkflowAction(_Function):
    """A workflow, whose run is nested in the plan's."""

    kind = "workflow"

    def __init__(self, name: str, workflow: Workflow[Any, Any]) -> None:
        super().__init__(name, workflow.__doc__, workflow.signature)
        self.workflow = workflow

    async def run(self, planned: PlanStep, inputs: Mapping[str, object]) -> object:
        given = self.arguments(inputs)
        result = await _tried(planned, lambda: self.workflow(*given.values()))
        return _as_json(self.workflow.signature, result)


class _ToolAction(Action):
    """A tool: its effect, approval and guardrails hold as in an agent. It gives a text, or the JSON that it says it returns."""

    kind = "tool"

    def __init__(self, name: str, tool: FunctionTool[Any]) -> None:
        given = tool.answer_type.schema or {}
        self._is_json = given.get("type") in _JSON_TYPES or "$ref" in given
        schema = tool.params_json_schema
        root = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        parameters = {key: one | root for key, one in cast("dict[str, JsonObject]", schema.get("properties", {})).items()}
        required = tuple([key for key in cast("list[str]", schema.get("required", [])) if key not in tool.defaults])
        super().__init__(name, tool.description, given if self._is_json else {"type": "string"}, parameters, required)
        self.tool = tool
        self.may_retry = tool.effect != "once"

    async def run(self, planned: PlanStep, inputs: Mapping[str, object]) -> object:
        given = await _tried(planned, lambda: flow.tool(self.tool, **inputs))
        try:
            return msgspec.json.decode(given) if self._is_json else given
        except msgspec.DecodeError:
            return given


class _AgentAction(Action):
    """An agent: it is given the step's task, and all of its inputs."""

    kind = "agent"

    def __init__(self, name: str, agent: Agent[Any, Any]) -> None:
        super().__init__(name, agent.handoff_description, _output_schema(agent))
        self.agent = agent

    async def run(self, planned: PlanStep, inputs: Mapping[str, object]) -> object:
        given = json_text("the inputs of a step", inputs) if inputs else ""
        text = "\n\n".join(filter(None, [planned.task, given]))
        output = await _tried(planned, lambda: flow.agent(self.agent, text))
        return plain_json(f"the output of agent {self.agent.name!r}", output)


def input_failure(name: str, why: str) -> StepFailedError:
    """What is raised of a step whose argument cannot be had."""
    return StepFailedError(
        f"input {name!r} of a plan's step {why}, expected a value of its type; change the plan",
        step="",
        error_type="InputError",
        detail=f"input {name!r} {why}",
    )


@lru_cache(maxsize=1024)
def schema_of(codec: Codec) -> JsonObject:
    """The JSON schema of a type's values; one that says nothing where there is none."""
    try:
        return codec.schema
    except Exception:  # of a type that pydantic can write and read, and not describe
        return {}


def _output_schema(agent: Agent[Any, Any]) -> JsonObject:
    """The JSON schema of an agent's output."""
    declaration = Declaration.of(agent)
    output = declaration.output
    if declaration.handoffs:
        return {}  # another agent may end it
    if output is None or output.is_plain_text:
        return {"type": "string"}
    try:
        return TypeAdapter[Any](output.output_type).json_schema()
    except Exception:
        return {}


def _as_json(signature: Signature, value: object) -> object:
    return msgspec.json.decode(signature.result.write(value))


async def _tried(planned: PlanStep, begin: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The result of a nested run, which is begun anew where it fails."""
    for _ in range(planned.retry or 0):
        try:
            return await _within(planned.timeout, begin())
        except StepFailedError:
            pass
    return await _within(planned.timeout, begin())


async def _within(seconds: float | None, running: Coroutine[Any, Any, Any]) -> Any:
    """The result of a nested run that has so much time."""
    if seconds is None:
        return await running
    run = asyncio.ensure_future(running)
    clock = asyncio.ensure_future(flow.sleep(seconds))
    await asyncio.wait((run, clock), return_when=asyncio.FIRST_COMPLETED)
    late = run if clock.done() and not run.done() else clock
    late.cancel()
    await asyncio.wait((late,))
    if late is clock:
        return run.result()
    raise StepFailedError(
        f"a step of a plan passed its timeout of {seconds:g} seconds, expected a result; give it more time",
        step="",
        error_type="TimeoutError",
        detail=f"it took more than {seconds:g} seconds",
    )
