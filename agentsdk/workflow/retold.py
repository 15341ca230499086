"""A diagram of a run from its record alone, for a program whose source is not to be had."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.core.state import State
from agentsdk.workflow.diagram import Diagram, Edge, Node, NodeKind
from agentsdk.workflow.happened import status_of
from agentsdk.workflow.record import Recorded, account, recorded_steps

MOST_STEPS = 300
"""How many places of a program are drawn."""


def retold(name: str, state: State) -> Diagram:
    """The steps of a run: each below those that had ended when it began. Calls for each item of a list are one node."""
    places: dict[str, list[Recorded]] = {}
    for step in recorded_steps(state):
        *path, last = step.key.split("/")
        items = ["*" if part.isdecimal() else part for part in path]
        places.setdefault("/".join((*items, last)), []).append(step)
    shown = dict([*places.items()][:MOST_STEPS])
    nodes = [Node("start", name, "start", status="done")]
    edges: list[Edge] = []
    for place, steps in shown.items():
        kind: NodeKind = "undo" if steps[0].is_undoing else "step"
        nodes.append(Node(f"at {place}", place.removeprefix("undo/"), kind, tuple(account(steps)), status=status_of(steps)))
        before = _just_before(steps, shown)
        edges += [Edge(f"at {one}" if one else "start", f"at {place}") for one in before or [""]]
    if len(places) > len(shown):
        nodes.append(Node("rest", f"{len(places) - len(shown)} more are not drawn", "unknown"))
    return Diagram(name, tuple(nodes), tuple(edges))


def _just_before(steps: Sequence[Recorded], places: dict[str, list[Recorded]]) -> list[str]:
    """The places that had ended when these steps began, and after whose end nothing began that had ended by then too."""
    spans = {place: (min(one.order for one in found), _end(found)) for place, found in places.items()}
    began = min(step.order for step in steps)
    ended = {place: span for place, span in spans.items() if span[1] < began}
    latest = max((start for start, _ in ended.values()), default=0)
    return [place for place, (_, end) in ended.items() if end > latest]


def _end(steps: Sequence[Recorded]) -> float:
    return float("inf") if any(step.ended < 0 for step in steps) else max(step.ended for step in steps)
