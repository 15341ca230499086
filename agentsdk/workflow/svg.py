"""A diagram as an SVG picture. It needs no more than a viewer: no script, no style sheet, no font of its own."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agentsdk.types.text import shortened
from agentsdk.workflow.diagram import Diagram, Edge, Group, Node, NodeKind, levels, one_line
from agentsdk.workflow.layout import Layout, Link, Point, Size, lay_out
from agentsdk.workflow.shapes import FAINT, INK, LINE, SOFT, STATUS, label, page, shown

_NAME, _NOTE, _LEADING = 14, 11, 16
_ROOM, _MARGIN, _HEAD, _LONGEST, _MOST_LINES = 14.0, 20.0, 26.0, 34, 3

_FILLS: dict[NodeKind, tuple[str, str]] = {
    "start": ("#e2e8f0", "#64748b"),
    "end": ("#e2e8f0", "#64748b"),
    "step": ("#f8fafc", "#64748b"),
    "agent": ("#e0e7ff", "#6366f1"),
    "person": ("#ffedd5", "#ea580c"),
    "wait": ("#e0f2fe", "#0284c7"),
    "workflow": ("#e0e7ff", "#6366f1"),
    "unknown": ("#ffffff", "#94a3b8"),
    "decision": ("#ffffff", "#64748b"),
    "undo": ("#f3e8ff", "#9333ea"),
}
"""Fill and edge of a node before a run."""

_CAPTIONS: dict[NodeKind, str] = {
    "agent": "agent",
    "person": "a person",
    "workflow": "workflow",
    "undo": "undo",
    "unknown": "not known from here",
}


def svg(diagram: Diagram) -> str:
    """The picture. Whatever a program has as names and texts is escaped."""
    drawing = _Drawing(diagram)
    (width, height), shapes = drawing.level("", _MARGIN, _MARGIN)
    width, height = width + 2 * _MARGIN, height + 2 * _MARGIN
    return page(diagram.title, width, height, shapes)


class _Drawing:
    """A diagram, level by level: a group is laid out first, and then stands as one box among those around it."""

    def __init__(self, diagram: Diagram) -> None:
        self._inside = levels(diagram)
        self._edges: defaultdict[str, list[Edge]] = defaultdict(list)
        places = {node.id: node.group for node in diagram.nodes} | {group.id: group.group for group in diagram.groups}
        for edge in diagram.edges:
            self._edges[places[edge.source]].append(edge)
        self._layouts: dict[str, Layout] = {}
        for group in reversed(diagram.groups):
            self._layouts[group.id] = self._laid_out(group.id)
        self._layouts[""] = self._laid_out("")

    def level(self, group: str, x: float, y: float) -> tuple[Size, list[str]]:
        """The size and the shapes of what is in a group, its upper left corner given."""
        layout, shapes = self._layouts[group], list[str]()
        inside = [(part, *layout.places[part.id]) for part in self._inside[group]]
        for part, left, top in inside:
            if isinstance(part, Group):
                size = self._box(part)
                side = (size[0] - self._layouts[part.id].size[0]) / 2
                shapes += _frame(part, x + left, y + top, size)
                shapes += self.level(part.id, x + left + side, y + top + _HEAD)[1]
        skipped = {part.id for part, _, _ in inside if isinstance(part, Node) and part.status == "skipped"}
        for edge, route, text in zip(self._edges[group], layout.routes, layout.texts, strict=True):
            moved = [(x + left, y + top) for left, top in route]
            where = None if text is None else (x + text[0], y + text[1])
            shapes += _arrow(edge, moved, where, FAINT if skipped & {edge.source, edge.target} else LINE)
        for part, left, top in inside:
            if isinstance(part, Node):
                shapes += _shape(part, x + left, y + top)
        return layout.size, shapes

    def _laid_out(self, group: str) -> Layout:
        sizes = {part.id: _size(part) if isinstance(part, Node) else self._box(part) for part in self._inside[group]}
        links = [Link(edge.source, edge.target, _text_size(edge), edge.kind == "undo") for edge in self._edges[group]]
        return lay_out(sizes, links)

    def _box(self, group: Group) -> Size:
        width, height = self._layouts[group.id].size
        return max(width, _wide(_shortened(group.text), _NOTE)) + 2 * _ROOM, height + _HEAD + _ROOM


def _lines(node: Node) -> tuple[list[str], list[str], list[str]]:
    """What stands in a node: what it is, its name, and more."""
    caption = [_CAPTIONS[node.kind]] if node.kind in _CAPTIONS else []
    return caption, _wrapped(node.text), [line for note in node.notes for line in _wrapped(note)]


def _size(node: Node) -> Size:
    caption, name, notes = _lines(node)
    width = max([_wide(line, _NAME) for line in name] + [_wide(line, _NOTE) for line in (*caption, *notes)])
    height = len(name) * (_LEADING + 2) + (len(caption) + len(notes)) * _LEADING
    side = 2 * _ROOM if node.kind in ("decision", "wait") else _ROOM  # of a shape that has points
    return max(width + 2 * side, 60.0), height + 14.0


def _text_size(edge: Edge) -> Size:
    text = _shortened(edge.text)
    return (_wide(text, _NOTE) + 8.0, float(_LEADING)) if text and edge.kind != "undo" else (0.0, 0.0)


def _wrapped(text: str) -> list[str]:
    """A text in lines that are not too long, of which there are not too many."""
    words = [part for word in text.split() for part in _pieces(word)]
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _LONGEST:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: _LONGEST - 2]} …"]
    return lines


def _pieces(word: str) -> list[str]:
    return [word[start : start + _LONGEST] for start in range(0, len(word), _LONGEST)]


def _shortened(text: str) -> str:
    return shortened(one_line(text), 2 * _LONGEST)


def _wide(text: str, size: int) -> float:
    """About how wide a text is: no more than it needs in any of the usual fonts."""
    wide = sum(
        1.0 if unicodedata.east_asian_width(each) in "WF" else 0.68 if each.isupper() or each in "mwMW@%" else 0.55
        for each in text
    )
    return round(wide * size, 1)


def _shape(node: Node, x: float, y: float) -> Iterator[str]:
    """A node, with all of its text for who points at it."""
    width, height = _size(node)
    fill, edge = STATUS.get(node.status, _FILLS[node.kind])
    dashes = ' stroke-dasharray="5 4"' if node.kind in ("unknown", "undo") or node.status == "skipped" else ""
    style = f'fill="{fill}" stroke="{edge}"{dashes}'
    faint = ' opacity="0.45"' if node.status == "skipped" else ""
    yield f"<g{faint}><title>{shown(' · '.join((node.text, *node.notes)))}</title>"
    if node.kind in ("decision", "wait"):
        half, flat = height / 2, width - 2 * _ROOM
        side = f"l{_ROOM:g} {half:g}l{-_ROOM:g} {half:g}"
        yield f'<path d="M{x + _ROOM:g} {y:g}h{flat:g}{side}h{-flat:g}l{-_ROOM:g} {-half:g}z" {style}/>'
    else:
        round_ = height / 2 if node.kind in ("start", "end") else 6
        yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_:g}" {style}/>'
    caption, name, notes = _lines(node)
    base = y + 6
    for line in caption:
        base += _LEADING
        yield label(line, x + width / 2, base - 3, _NOTE, FAINT)
    for line in name:
        base += _LEADING + 2
        yield label(line, x + width / 2, base - 3, _NAME, INK, weight="" if node.kind == "decision" else "bold")
    for line in notes:
        base += _LEADING
        yield label(line, x + width / 2, base - 2, _NOTE, SOFT)
    yield "</g>"


def _frame(group: Group, x: float, y: float, size: Size) -> Iterator[str]:
    width, height = size
    if group.repeats:  # one frame on another
        width, height = width - 3, height - 3
        yield f'<path d="M{x + 3:g} {y + height:g}v3h{width:g}v{-height:g}h-3" fill="#f1f5f9" stroke="#94a3b8"/>'
    yield (f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="#f1f5f9" stroke="#94a3b8"/>')
    yield label(_shortened(group.text), x + _ROOM, y + 18, _NOTE, SOFT, anchor="start")


def _arrow(edge: Edge, route: Sequence[Point], text: Point | None, color: str) -> Iterator[str]:
    if not route:
        return
    path = f"M{route[0][0]:g} {route[0][1]:g}"
    for (x, y), (to_x, to_y) in pairwise(route):
        if text is not None and text == ((x + to_x) / 2, (y + to_y) / 2):
            path += f"M{to_x:g} {to_y:g}"
        elif x == to_x or y == to_y:
            path += f"L{to_x:g} {to_y:g}"
        else:
            path += f"C{x:g} {(y + to_y) / 2:g} {to_x:g} {(y + to_y) / 2:g} {to_x:g} {to_y:g}"
    dashes = "" if edge.kind == "flow" else ' stroke-dasharray="5 4"'
    yield f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5"{dashes} marker-end="url(#tip)"/>'
    if text is not None and edge.kind != "undo":
        yield label(_shortened(edge.text), text[0], text[1] + 4, _NOTE, SOFT)
