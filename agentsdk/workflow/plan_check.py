"""What is wrong with a plan: all of it, each problem with the step that has it. The cost is linear in the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import Any, cast

import msgspec

from agentsdk.core.given_json import plain_json
from agentsdk.core.json_schema import problems_with
from agentsdk.core.problems import MAX_NAME, MAX_PROBLEMS
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import is_tool_name
from agentsdk.types.errors import UserError
from agentsdk.workflow.actions import Action
from agentsdk.workflow.paths import MISSING, value_at
from agentsdk.workflow.plan_step import Condition, PlanStep, dependencies
from agentsdk.workflow.schemas import Schema, clash, schema_at

_MAX_CYCLES = 3
"""How many cycles are told apart."""

_MAX_GUESSES = MAX_PROBLEMS
"""For how many unknown names the nearest one is looked for."""

_MAX_COMPARED = 1_000
"""Among how many names."""

_ORDERED = ("<", "<=", ">", ">=")
_TRUTH: JsonObject = {"type": "boolean"}


UNKNOWN: Any = object()
"""An earlier result, or an input, of which nothing is known yet."""


def problems_of_steps(steps: Sequence[PlanStep], actions: Mapping[str, Action], known: Mapping[str, object]) -> list[str]:
    """What is wrong with the steps of a plan, given what they may do, and earlier results that they may take, the input too."""
    return list(_Check(steps, actions, known).problems())


class _Check:
    def __init__(self, steps: Sequence[PlanStep], actions: Mapping[str, Action], known: Mapping[str, object]) -> None:
        self._all = steps
        self._actions = actions
        self._known = known
        self._steps = {step.id: step for step in steps}
        self._guesses = 0

    def problems(self) -> Iterator[str]:
        times = Counter(step.id for step in self._all)
        for id, count in times.items():
            if not is_tool_name(id):
                yield f"step {_shown(id)}: wrong id, expected 1 to 64 letters, digits, '_' or '-'"
            elif id in self._known:
                yield f"step {_shown(id)}: the id is that of an earlier result, expected a new one"
            elif count > 1:
                yield f"step {_shown(id)}: {count} steps have this id, expected one"
        for step in self._all:
            for problem in self._step(step):
                yield f"step {_shown(step.id)}: {problem}"
        yield from self._cycles()

    def _step(self, step: PlanStep) -> Iterator[str]:
        for id in step.after:
            if id not in self._steps and id not in self._known:
                yield f"comes after {_shown(id)}, which is no step{self._nearest(id, self._steps)}"
        for condition in step.when:
            yield from self._condition(condition)
        action = self._actions.get(step.do)
        if action is None:
            yield f"does {_shown(step.do)}, expected one of {sorted(self._actions)}{self._nearest(step.do, self._actions)}"
            for path in step.inputs.values():
                if isinstance(found := self._source(path), str):
                    yield found
            return
        if step.retry and not action.may_retry:
            yield f"has a retry, and {step.do!r} must not run twice; expected none"
        yield from self._arguments(step, action)

    def _arguments(self, step: PlanStep, action: Action) -> Iterator[str]:
        parameters = action.parameters
        given = {**step.inputs, **step.values}
        if parameters is None:
            if not step.task and not given:
                yield f"gives {step.do!r} nothing to do, expected a task"
        else:
            for name in given:
                if name not in parameters:
                    nearest = self._nearest(name, parameters)
                    yield f"has an input {_shown(name)}, expected only {list(parameters)}{nearest}"
            for name in action.required:
                if name not in given:
                    yield f"lacks the input {name!r} of {step.do!r}"
        for name, path in step.inputs.items():
            if name in step.values:
                yield f"input {_shown(name)}: is both taken and given, expected one of these"
            found = self._source(path)
            if isinstance(found, str):
                yield f"input {_shown(name)}: {found}"
            elif why := _misfit(found, action, name):
                yield f"input {_shown(name)}: {_shown(path)} {why}"
        for name, value in step.values.items():
            if why := _misfit(_Value(value), action, name):
                yield f"value of {_shown(name)}: {why}"

    def _condition(self, condition: Condition) -> Iterator[str]:
        where = f"condition on {_shown(condition.field)}: "
        found = self._source(condition.field)
        if isinstance(found, str):
            yield where + found
            return
        wanted = _wanted(condition)
        if isinstance(wanted, str):
            yield where + wanted
        elif isinstance(found, Schema) and (why := clash(found, wanted)):
            yield f"{where}it {why}"

    def _source(self, path: str) -> Schema | _Value | str:
        """What a path leads to, or why it leads nowhere."""
        id, _, rest = path.partition(".")
        step = self._steps.get(id)
        if step is None:
            if id not in self._known:
                return f"{_shown(path)} is no step, expected one of their ids{self._nearest(id, self._steps)}"
            if self._known[id] is UNKNOWN:
                return Schema({}, {})
            found = value_at(self._known, path)
            return f"{_shown(path)} is not in {_shown(id)}" if found is MISSING else _Value(found)
        action = self._actions.get(step.do)
        schema: JsonObject = {} if action is None else action.result
        found = schema_at(Schema(schema, schema), rest.split(".")) if rest else Schema(schema, schema)
        return f"{_shown(path)}: the result of {_shown(id)} {found}" if isinstance(found, str) else found

    def _cycles(self) -> Iterator[str]:
        waits = {id: dict.fromkeys(before) for id, before in dependencies(self._all).items()}
        for _ in range(_MAX_CYCLES):
            try:
                TopologicalSorter(waits).prepare()
            except CycleError as error:
                cycle = cast("list[str]", error.args[1])
                yield f"steps wait for each other: {' -> '.join(_shown(id) for id in cycle)}; expected no cycle"
                before, after = next(islice(pairwise(cycle), 1))
                del waits[after][before]
            else:
                return

    def _nearest(self, name: str, names: Mapping[str, object]) -> str:
        self._guesses += 1
        if self._guesses > _MAX_GUESSES or len(name) > MAX_NAME:
            return ""
        near = get_close_matches(name, islice(names, _MAX_COMPARED), 1)
        return f"; did you mean {near[0]!r}?" if near else ""


class _Value(msgspec.Struct, frozen=True):
    """A value that is given, or known, not only by its type."""

    value: object


def _misfit(given: Schema | _Value, action: Action, name: str) -> str:
    """Why what is given cannot be the argument `name` of an action; `""` where it may, and for one that it does not take."""
    known = action.parameters or {}
    schema = known.get(name, {})
    if isinstance(given, Schema):
        return clash(given, Schema(schema, schema))
    try:
        value = plain_json("a value", given.value)
    except UserError:
        return "has no JSON form, expected text, numbers, lists or dicts"
    if problems := problems_with(schema, value):
        return problems[0].removeprefix("the whole: ")
    try:
        if name in known:
            action.read(name, value)
    except ValueError:
        return "does not fit its parameter"
    return ""


def _wanted(condition: Condition) -> Schema | str:
    """What a field must be to be compared so, or what is wrong with the comparison."""
    try:
        value = plain_json("a value", condition.value)
    except UserError:
        return "its value has no JSON form, expected text, numbers, true or false"
    if condition.op == "in":
        return Schema({}, {}) if isinstance(value, list) else "its value is no list, expected one with 'in'"
    if condition.op in _ORDERED:
        kind = "string" if isinstance(value, str) else "number" if isinstance(value, int | float) else None
        if kind is None or isinstance(value, bool):
            return f"its value is no number or text, expected one with {condition.op!r}"
        return Schema({"type": kind}, {})
    return Schema(_TRUTH if isinstance(value, bool) else {}, {})


def _shown(name: str) -> str:
    return repr(name if len(name) <= MAX_NAME else name[:MAX_NAME] + "...")
