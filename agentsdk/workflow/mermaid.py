"""A diagram as the text of a Mermaid flowchart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from agentsdk.workflow.diagram import Diagram, EdgeKind, Node, NodeKind, Status, levels, one_line

_UNSAFE = re.compile(r"[^\w .,:()+*/=!?'-]|(?<!\w)-|(?<=\d)\.(?=\s|$)")
"""What could mean something to Mermaid, or to the HTML that it makes: only what surely does not is left as it is."""

_SHAPES: dict[NodeKind, tuple[str, str]] = {
    "start": ("([", "])"),
    "end": ("([", "])"),
    "step": ("[", "]"),
    "agent": ("(", ")"),
    "person": ("[/", "/]"),
    "wait": ("{{", "}}"),
    "workflow": ("[[", "]]"),
    "unknown": ("[", "]"),
    "decision": ("{", "}"),
    "undo": ("[", "]"),
}
_ARROWS: dict[EdgeKind, str] = {"flow": "-->", "failure": "-.->", "undo": "-.->"}
_CLASSES: dict[Status, str] = {
    "": "",
    "done": "fill:#dcfce7,stroke:#16a34a,color:#0f172a",
    "failed": "fill:#fee2e2,stroke:#dc2626,color:#0f172a",
    "open": "fill:#fef9c3,stroke:#ca8a04,color:#0f172a",
    "skipped": "fill:#f1f5f9,stroke:#cbd5e1,color:#94a3b8,stroke-dasharray:4",
    "undone": "fill:#f3e8ff,stroke:#9333ea,color:#0f172a,stroke-dasharray:4",
}


def flowchart(diagram: Diagram) -> str:
    """The text of the flowchart. Whatever a program has as names and texts is escaped."""
    names = {node.id: f"n{number}" for number, node in enumerate(diagram.nodes, 1)}
    names |= {group.id: f"g{number}" for number, group in enumerate(diagram.groups, 1)}
    inside = levels(diagram)

    def body(group: str, indent: str) -> Iterator[str]:
        for part in inside[group]:
            if isinstance(part, Node):
                yield indent + _node(names[part.id], part)
            else:
                yield f'{indent}subgraph {names[part.id]}["{_safe(part.text)}"]'
                yield from body(part.id, indent + "    ")
                yield f"{indent}end"

    lines = ["flowchart TD", *body("", "    ")]
    for edge in diagram.edges:
        text = f'|"{_safe(edge.text)}"|' if edge.text else ""
        lines.append(f"    {names[edge.source]} {_ARROWS[edge.kind]}{text} {names[edge.target]}")
    return "\n".join([*lines, *_styles(diagram, names)])


def _node(name: str, node: Node) -> str:
    before, after = _SHAPES[node.kind]
    text = "<br/>".join(_safe(line) for line in (node.text, *node.notes))
    return f'{name}{before}"{text}"{after}'


def _styles(diagram: Diagram, names: dict[str, str]) -> list[str]:
    of_status: defaultdict[Status, list[str]] = defaultdict(list)
    for node in diagram.nodes:
        of_status[node.status].append(names[node.id])
    lines: list[str] = []
    for status, style in _CLASSES.items():
        if style and status in of_status:
            lines += [f"    classDef {status} {style}", f"    class {','.join(of_status[status])} {status}"]
    return lines


def _safe(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"#{ord(found[0])};", one_line(text)) or "#160;"
