"""A plan as a diagram: before a run, or with what has become of its steps."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from agentsdk.core.state import State
from agentsdk.types.events import StepBegan, ToolFinished
from agentsdk.types.text import shortened
from agentsdk.workflow.actions import Action
from agentsdk.workflow.diagram import Diagram, Edge, Node, NodeKind, Status
from agentsdk.workflow.plan_run import PlanStepResult
from agentsdk.workflow.plan_step import INPUT, PlanStep, dependencies

_MAX_TASK = 60
"""How much of a task is shown."""

_KEY = re.compile(r"(plan(?:#\d+)?)/([^/]+)/")
"""The keys of the steps of a plan that is carried out: which plan of its workflow, which step of that."""

_TIMER = re.compile(r"/sleep(#\d+)?$")

_STATUS: Mapping[str, Status] = {"done": "done", "failed": "failed", "skipped": "skipped", "not run": ""}
_KINDS: Mapping[str, NodeKind] = {"agent": "agent", "workflow": "workflow"}


def diagram_of(steps: Sequence[PlanStep], actions: Mapping[str, Action], statuses: Mapping[str, Status]) -> Diagram:
    """The drawing of a plan. What its steps wait for and is not there is left out."""
    drawn = {step.id: step for step in steps}
    nodes = [_node(step, actions.get(step.do), statuses.get(step.id, "")) for step in drawn.values()]
    edges = [
        Edge(before, id, ", ".join(_taken(drawn[id], before)))
        for id, waits in dependencies(drawn.values()).items()
        for before in waits
        if before in drawn or before == INPUT
    ]
    if any(edge.source == INPUT for edge in edges) and INPUT not in drawn:
        nodes.insert(0, Node(INPUT, INPUT, "start"))
    return Diagram("plan", tuple(nodes), tuple(edges))


def statuses_of(results: Mapping[str, PlanStepResult]) -> dict[str, Status]:
    """What has become of the steps, by their results."""
    return {id: _STATUS[result.status] for id, result in results.items()}


def statuses_in(state: State) -> dict[str, Status]:
    """What has become of the steps of the plan that a run carries out, or carried out last."""
    plan = ""
    begun: defaultdict[str, dict[str, Status]] = defaultdict(dict)
    for key, event in _of_steps(state):
        found = _KEY.match(key)
        if found is None:
            continue
        if found[1] != plan:
            plan = found[1]
            begun.clear()
        begun[found[2]][key] = "open" if isinstance(event, StepBegan) else "failed" if event.is_error else "done"
    return {id: _together(of_step) for id, of_step in begun.items()}


def _of_steps(state: State) -> Iterable[tuple[str, StepBegan | ToolFinished]]:
    for event in state.log:
        if isinstance(event, StepBegan | ToolFinished):
            yield event.call_id, event


def _together(calls: Mapping[str, Status]) -> Status:
    """The status of a step by its calls, of which the last counts: those before it have failed. Beside it is its timer."""
    work: list[Status] = [status for key, status in calls.items() if not _TIMER.search(key)] or list(calls.values())
    return "open" if "open" in work else work[-1]


def _node(step: PlanStep, action: Action | None, status: Status) -> Node:
    notes = [step.do] if step.do != step.id else []
    if step.task:
        notes.append(shortened(step.task, _MAX_TASK))
    notes += [f"if {condition}" for condition in step.when]
    kind = "step" if action is None else _KINDS.get(action.kind, "step")
    return Node(step.id, step.id, kind, tuple(notes), status=status)


def _taken(step: PlanStep, source: str) -> list[str]:
    """Which arguments of a step come from another."""
    return [name for name, path in step.inputs.items() if path.partition(".")[0] == source]
