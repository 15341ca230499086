"""The shapes that the drawings of `docs/` are made of, as SVG text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

INK, SOFT, FAINT, EDGE = "#0f172a", "#475569", "#64748b", "#94a3b8"
PLAIN, PURE, DONE, OPEN = "#f8fafc", "#e0e7ff", "#dcfce7", "#fef9c3"
"""Fills: a step, a pure function, an end, what goes on."""

MONO = "Menlo, Consolas, monospace"


def page(width: int, height: int, label: str, shapes: Iterable[str]) -> str:
    """A whole picture; `label` is what it says to who cannot see it."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{label}" '
            'font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#475569"/></marker></defs>',
            f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
            *shapes,
            "</svg>",
            "",
        ]
    )


def rect(x: float, y: float, width: float, height: float, fill: str, edge: str = EDGE) -> str:
    """A rounded rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{edge}"/>'


def box(x: float, y: float, width: float, height: float, fill: str, edge: str, name: str, about: str) -> Iterator[str]:
    """A rectangle with a name and a line about it."""
    yield rect(x, y, width, height, fill, edge)
    yield label(x + width / 2, y + 23, name, 15, INK, weight="bold")
    yield label(x + width / 2, y + 42, about, 12, SOFT)


def label(
    x: float, y: float, text: str, size: int, fill: str, *, anchor: str = "middle", weight: str = "normal", family: str = ""
) -> str:
    """A line of text, already escaped."""
    font = f' font-family="{family}"' if family else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="{fill}" text-anchor="{anchor}"{font}>'
        f"{text}</text>"
    )


def line(path: str) -> str:
    """A line along an SVG path."""
    return f'<path d="{path}" fill="none" stroke="#475569" stroke-width="1.5"/>'


def arrow(path: str) -> str:
    """A line with a tip at its end."""
    return f'<path d="{path}" fill="none" stroke="#475569" stroke-width="1.5" marker-end="url(#tip)"/>'
