"""`Sketch`: a diagram in the making, drawn along the flow of a program."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from agentsdk.workflow.diagram import Diagram, Edge, EdgeKind, Group, Node, NodeKind
from agentsdk.workflow.scope import Place, key_name

MOST_NODES = 500
"""How many nodes are drawn of one program."""


class End(NamedTuple):
    """Where the flow has come to: the next node is joined to it."""

    id: str
    text: str = ""
    kind: EdgeKind = "flow"


Ends = tuple[End, ...] | None
"""All the places that the flow may have come to. None where it goes no further; `()` at the beginning of a group."""


class FullError(Exception):
    """There are as many nodes as are drawn."""


class Sketch:
    """Nodes, edges and groups so far. `group` is the id of the group that is drawn in, `path` says in which tasks and loops.

    `places` says of nodes what they are called by in the record of a run; those in `perhaps` may run never, or more than once.
    The program ends at those in `finals`.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.groups: list[Group] = []
        self.places: dict[str, Place] = {}
        self.group = ""
        self.is_full = False
        self.path: tuple[Literal["each", "task"], ...] = ()
        self.perhaps: set[str] = set()
        self.finals: set[str] = set()
        self._is_perhaps = False

    def add(self, ends: Ends, kind: NodeKind, text: str, *notes: str, name: str = "") -> tuple[End]:
        """A node, joined to where the flow has come to. Raises `FullError`."""
        if len(self.nodes) >= MOST_NODES:
            self.is_full = True
            raise FullError
        node = Node(f"node {len(self.nodes)}", text, kind, tuple(filter(None, notes)), self.group)
        self.nodes.append(node)
        if name:
            self.places[node.id] = Place(key_name(name), () if kind == "undo" else self.path)
        if self._is_perhaps:
            self.perhaps.add(node.id)
        self._join(ends, node.id)
        return (End(node.id),)

    def undo(self, step: End, text: str, name: str) -> None:
        """What undoes a step."""
        (undo,) = self.add(None, "undo", text, name=name)
        self.edges.append(Edge(step.id, undo.id, "undo", "undo"))

    def enter(self, text: str, *, repeats: bool = False) -> str:
        """Draw in a new group from now on; its id. The flow in it begins with `()`."""
        group = Group(f"group {len(self.groups)}", text, self.group, repeats)
        self.groups.append(group)
        self.group = group.id
        return group.id

    def leave(self, group: str, ends: Ends) -> tuple[End, ...] | None:
        """Draw around that group again, to which `ends` led; None where nothing was drawn in it: then there is none."""
        place = next(number for number, each in enumerate(self.groups) if each.id == group)
        self.group = self.groups[place].group
        if not any(node.group == group for node in self.nodes) and not any(each.group == group for each in self.groups):
            del self.groups[place]
            return None
        self._join(ends, group)
        return (End(group),)

    @contextmanager
    def within(self, *kind: Literal["each", "task"]) -> Generator[None]:
        """What is drawn meanwhile is in a task or a loop of that kind."""
        path, self.path = self.path, (*self.path, *kind)
        yield
        self.path = path

    @contextmanager
    def maybe(self) -> Generator[None]:
        """What is drawn meanwhile may run never, or more than once."""
        before, self._is_perhaps = self._is_perhaps, True
        yield
        self._is_perhaps = before

    def diagram(self, title: str) -> Diagram:
        """What has been drawn."""
        if self.is_full:
            self.group = ""
            self.nodes.append(Node("rest", f"more than {MOST_NODES}: the rest is not drawn", "unknown"))
        used = {node.group for node in self.nodes}
        for group in reversed(self.groups):
            used |= {group.group} if group.id in used else set()
        return Diagram(title, tuple(self.nodes), tuple(self.edges), tuple(group for group in self.groups if group.id in used))

    def _join(self, ends: Ends, target: str) -> None:
        for end in merged([ends]) or ():
            self.edges.append(Edge(end.id, target, end.text, end.kind))


def merged(branches: Iterable[Ends]) -> Ends:
    """Where the flow has come to on one of several ways. Two ways of one decision that are the same are none."""
    alive = [ends for ends in branches if ends is not None]
    if not alive:
        return None
    ends = list(dict.fromkeys(end for branch in alive for end in branch))
    return tuple(dict.fromkeys(_plain(end, ends) for end in ends))


def _plain(end: End, ends: Sequence[End]) -> End:
    both = {"yes", "no"} <= {other.text for other in ends if other.id == end.id}
    return End(end.id) if both and end.text in ("yes", "no") else end
