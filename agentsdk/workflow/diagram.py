"""`Diagram`: a program, a plan or a run as data that can be drawn: nodes, edges, and groups of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentsdk.types.text import escaped

NodeKind = Literal["start", "end", "step", "agent", "person", "wait", "workflow", "unknown", "decision", "undo"]
EdgeKind = Literal["flow", "failure", "undo"]
Status = Literal["", "done", "failed", "open", "skipped", "undone"]
"""What has become of a part of a program: `""` before a run, and of what has yet to come. `open` has begun, or waits."""


@dataclass(frozen=True)
class Node:
    """What is drawn as one shape. `id` is its own among nodes and groups; `group` is the id of the group that it is in.

    `text` is its name, `notes` say more, a line each.
    """

    id: str
    text: str
    kind: NodeKind = "step"
    notes: tuple[str, ...] = ()
    group: str = ""
    status: Status = ""


@dataclass(frozen=True)
class Edge:
    """An arrow between two nodes or groups of one group. That of an `undo` leads from a step to what undoes it."""

    source: str
    target: str
    text: str = ""
    kind: EdgeKind = "flow"


@dataclass(frozen=True)
class Group:
    """A frame around nodes and other groups: the body of a loop, tasks side by side. `group`: the id of the one around it.

    `repeats`: what is in it may run more than once.
    """

    id: str
    text: str
    group: str = ""
    repeats: bool = False


@dataclass(frozen=True)
class Diagram:
    """Nodes, edges and groups in the order in which they are drawn. `title` is what it says to who cannot see it."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    groups: tuple[Group, ...] = ()


def levels(diagram: Diagram) -> dict[str, list[Node | Group]]:
    """What is in each group, and in none (`""`), in order: a group comes where its first node does."""
    groups = {group.id: group for group in diagram.groups}
    inside: dict[str, dict[str, Node | Group]] = {each: {} for each in ("", *groups)}
    for node in diagram.nodes:
        part: Node | Group = node
        while part.id not in inside[part.group]:
            inside[part.group][part.id] = part
            if not part.group:
                break
            part = groups[part.group]
    return {each: [*parts.values()] for each, parts in inside.items()}


def one_line(text: str) -> str:
    """A text as it stands in a drawing: on one line, with what cannot be seen escaped."""
    return escaped(" ".join(text.split()))
