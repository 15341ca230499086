"""What the pictures of workflows are made of, as SVG text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from agentsdk.workflow.diagram import Status, one_line

INK, SOFT, FAINT, LINE = "#0f172a", "#475569", "#94a3b8", "#475569"

STATUS: dict[Status, tuple[str, str]] = {
    "done": ("#dcfce7", "#16a34a"),
    "failed": ("#fee2e2", "#dc2626"),
    "open": ("#fef9c3", "#ca8a04"),
    "undone": ("#f3e8ff", "#9333ea"),
}
"""Fill and edge of what has happened."""


def page(title: str, width: float, height: float, shapes: Iterable[str]) -> str:
    """A whole picture; `title` is what it says to who cannot see it. It brings its own background, for pages of any color."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" aria-label="{shown(title)}" font-family="Helvetica, Arial, sans-serif" '
            'text-anchor="middle">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker></defs>',
            f'<rect width="{width:g}" height="{height:g}" rx="10" fill="#ffffff"/>',
            *shapes,
            "</svg>",
            "",
        ]
    )


def label(text: str, x: float, y: float, size: int, fill: str, *, anchor: str = "", weight: str = "") -> str:
    """A line of text."""
    more = (f' text-anchor="{anchor}"' if anchor else "") + (f' font-weight="{weight}"' if weight else "")
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{shown(text)}</text>'


def shown(text: str) -> str:
    """A text of a program as text of a picture."""
    return escape(one_line(text))
