"""A diagram of a program with what has happened in a run of it.

The record says of each step by which name it was called, in which tasks and loops, and as the how many of that name there.
Where the program calls one name in several places, of which some may run never or more than once, these are not told apart,
but for questions by what they ask.
What has no record (decisions, ends) is inferred from what has: a way was taken where something on it has run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentsdk.core.state import State
from agentsdk.workflow.diagram import Diagram, Edge, Group, Node, Status, levels
from agentsdk.workflow.outline import Outline
from agentsdk.workflow.record import Recorded, account, recorded_steps
from agentsdk.workflow.scope import Place

_MADE = ("now", "random", "new_id")
"""Steps of `flow` that are not drawn."""

_ORDER: tuple[Status, ...] = ("open", "failed", "undone", "done", "skipped")
"""What a node shows that stands for several steps: the first of these that one of them has."""


def with_run(outline: Outline, state: State) -> Diagram:
    """The diagram of a program with what has happened in a run of it."""
    diagram = outline.diagram
    steps = recorded_steps(state)
    ran, shared, lost = _assigned(outline, steps)
    way = _Way(outline, ran, is_over=_is_over(state, steps))
    nodes: list[Node] = []
    for node in diagram.nodes:
        here = ran.get(node.id, [])
        notes = account(here) if here else [*node.notes]
        if here and node.id in shared:
            notes.append(f"here or in {shared[node.id] - 1} other {'place' if shared[node.id] == 2 else 'places'}")
        nodes.append(replace(node, notes=tuple(notes), status=status_of(here) if here else way.status(node)))
    if not lost:
        return replace(diagram, nodes=tuple(nodes))
    nodes += [
        Node(f"lost {number}", place.name, "step", tuple(account(here)), "lost", status_of(here))
        for number, (place, here) in enumerate(lost.items())
    ]
    return replace(diagram, nodes=tuple(nodes), groups=(*diagram.groups, Group("lost", "also in the record")))


def status_of(steps: Iterable[Recorded]) -> Status:
    """What has become of one or more steps."""
    found = {step.status for step in steps}
    return next(status for status in _ORDER if status in found)


def _is_over(state: State, steps: Sequence[Recorded]) -> bool:
    """Whether the record says that nothing more comes: it has ended, is undone, or somebody has cancelled it."""
    stopped = state.stopped
    if stopped is not None and (stopped.reason == "WorkflowFailedError" or stopped.by):
        return True
    return state.ended is not None or any(step.is_undoing for step in steps)


def _assigned(
    outline: Outline, steps: Sequence[Recorded]
) -> tuple[dict[str, list[Recorded]], dict[str, int], dict[Place, list[Recorded]]]:
    """The steps of each node; of nodes that are not told apart, how many these are; and the steps that no node stands for."""
    nodes: defaultdict[Place, list[str]] = defaultdict(list)
    for node, place in outline.places.items():
        nodes[place].append(node)
    ran: defaultdict[str, list[Recorded]] = defaultdict(list)
    shared: dict[str, int] = {}
    lost: defaultdict[Place, list[Recorded]] = defaultdict(list)
    texts = {node.id: node.text for node in outline.diagram.nodes}
    for step in steps:
        alike = nodes.get(step.place, [])
        alike = [node for node in alike if texts[node] == step.question] or alike
        if not alike and step.name not in _MADE:
            lost[step.place].append(step)
        elif len(alike) > 1 and not outline.perhaps.isdisjoint(alike):
            for node in alike:
                ran[node].append(step)
                shared[node] = len(alike)
        elif alike:
            ran[alike[min(step.number, len(alike)) - 1]].append(step)
    return dict(ran), shared, dict(lost)


class _Way:
    """The way that a run took through a diagram.

    `reached`: the nodes and groups on it; `dead`: those that it has passed by; `unsure`: those that it may have come to in one
    round of a loop, which the record does not say.
    """

    def __init__(self, outline: Outline, ran: dict[str, list[Recorded]], *, is_over: bool) -> None:
        diagram = outline.diagram
        self.reached: set[str] = set()
        self.dead: set[str] = set()
        self.unsure: set[str] = set()
        self._ran = ran
        self._placed = outline.places.keys()
        self._finals = outline.finals
        self._is_over = is_over
        self._inside = levels(diagram)
        self._parts: dict[str, Node | Group] = {part.id: part for parts in self._inside.values() for part in parts}
        self._edges: defaultdict[str, list[Edge]] = defaultdict(list)
        self._undo = {edge.target for edge in diagram.edges if edge.kind == "undo"}
        for edge in diagram.edges:
            if edge.kind != "undo":
                self._edges[edge.source].append(edge)
        every = self._steps("")
        last = max((step.order for step in every), default=0)
        if all(step.ended_at is not None for step in every) and any(step.ended > last for step in self._escaped("")):
            self._is_over = True  # nothing has come after an error that nothing handles
        self._walk("", repeats=False)

    def status(self, node: Node) -> Status:
        """That of a node which stands for nothing recorded."""
        if node.id in self.reached and node.id not in self._placed:
            is_end = node.kind == "end" and not node.group
            return "" if node.kind == "unknown" or (is_end and not self._is_over) else "done"
        if node.id in self.unsure:
            return ""
        part: Node | Group | None = node
        while part is not None:
            if part.id in self.dead:
                return "skipped"
            part = self._parts.get(part.group)
        return "skipped" if self._is_over else ""

    def _walk(self, level: str, *, repeats: bool) -> None:
        parts = [part.id for part in self._inside[level]]
        targets = {edge.target for part in parts for edge in self._edges[part]}
        waiting = [part for part in parts if part not in targets and part not in self._undo]
        while waiting:
            part = waiting.pop()
            if part in self.reached:
                continue
            self.reached.add(part)
            found, onward = self._parts[part], self._onward(part, repeats=repeats)
            if isinstance(found, Group):
                self._walk(part, repeats=repeats or found.repeats)
                if not self._finals.isdisjoint(self.reached):
                    continue  # it has returned in there
                if not self._finals.isdisjoint(self.unsure):
                    perhaps = [each for each in onward if not any(self._steps(other) for other in self._from(each))]
                    self._doubt(perhaps)
                    onward = [each for each in onward if each not in perhaps]
            waiting += onward

    def _doubt(self, parts: list[str]) -> None:
        """The run may have come to these, and gone on over what leaves no record."""
        waiting = [*parts]
        while waiting:
            part = waiting.pop()
            if part not in self.unsure and part not in self._placed and not isinstance(self._parts[part], Group):
                self.unsure.add(part)
                waiting += [edge.target for edge in self._edges[part]]

    def _onward(self, part: str, *, repeats: bool) -> list[str]:
        """Where the run has gone from there."""
        edges = self._edges[part]
        if not self._has_ended(part):
            return []
        fails = bool(self._escaped(part))
        if any(edge.kind == "failure" for edge in edges):
            edges = [edge for edge in edges if (edge.kind == "failure") == fails or self._ran_on(edge, edges)]
        elif fails and (part in self._inside or all(step.error for step in self._steps(part))):
            edges = [edge for edge in edges if self._ran_on(edge, edges)]  # nothing, unless it was handled unseen
        if len({edge.text for edge in edges}) < 2:
            return [edge.target for edge in edges]
        taken = [edge for edge in edges if self._ran_on(edge, edges)]
        if not taken:
            possible = [edge for edge in edges if self._may_be_on_the_way(edge.target)]
            taken = possible if len({edge.target for edge in possible}) == 1 else []
            self._doubt([edge.target for edge in possible if not taken])
        if taken:
            others = [edge for edge in edges if edge not in taken]
            if repeats:
                self._doubt([edge.target for edge in others])
            else:
                self.dead |= {part for edge in others for part in self._only_on(edge, edges)}
        return [edge.target for edge in taken]

    def _has_ended(self, part: str) -> bool:
        """Whether the run has gone on from there, as far as the record says."""
        steps = self._steps(part)
        if any(step.ended_at is None for step in steps):
            return False
        return bool(steps) or part not in self._placed

    def _steps(self, part: str) -> list[Recorded]:
        """The steps that a node stands for, or a group has in it."""
        if part in self._inside:
            return [step for inner in self._inside[part] for step in self._steps(inner.id)]
        return self._ran.get(part, [])

    def _escaped(self, part: str) -> list[Recorded]:
        """The steps whose failure has left it: not those in a group that leads to what handles them."""
        if part not in self._inside:
            return [step for step in self._ran.get(part, []) if step.status == "failed"]
        return [
            step
            for inner in self._inside[part]
            if not any(edge.kind == "failure" for edge in self._edges[inner.id])
            for step in self._escaped(inner.id)
        ]

    def _may_be_on_the_way(self, part: str) -> bool:
        if self._steps(part):
            return True
        return self._is_over and part not in self._placed and not isinstance(self._parts[part], Group)

    def _ran_on(self, edge: Edge, edges: Sequence[Edge]) -> bool:
        """Whether something has run that only this one of several ways leads to."""
        return any(self._steps(part) for part in self._only_on(edge, edges))

    def _only_on(self, edge: Edge, edges: Sequence[Edge]) -> set[str]:
        others = {part for other in edges if other.target != edge.target for part in self._from(other.target)}
        return self._from(edge.target) - others

    def _from(self, part: str) -> set[str]:
        found, waiting = set[str](), [part]
        while waiting:
            part = waiting.pop()
            if part not in found:
                found.add(part)
                waiting += [edge.target for edge in self._edges[part]]
        return found
