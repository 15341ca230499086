"""The steps of a run over time, as a Mermaid chart or an SVG picture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentsdk.core.state import State
from agentsdk.types.events import RunEnded, Stopped, TimeSpent
from agentsdk.types.text import shortened
from agentsdk.workflow.record import Recorded, account, duration, moment, recorded_steps
from agentsdk.workflow.render import Format
from agentsdk.workflow.shapes import FAINT, INK, SOFT, STATUS, label, page, shown

_UNSAFE = re.compile(r"[:;#,%\s]+")
"""What ends a name in a Mermaid chart, or is more than a name."""

_MARKS = {"open": "active", "failed": "crit"}
_ROW, _NAMES, _WIDE, _WORDS, _MARGIN = 26.0, 230.0, 440.0, 270.0, 20.0


def timeline(name: str, state: State, format: Format) -> str:
    """The steps of a run over time."""
    steps = recorded_steps(state)
    observed = [event for event in state.log if not isinstance(event, TimeSpent | RunEnded | Stopped)]
    latest = max((getattr(event, "at", 0.0) for event in observed), default=0.0)
    return picture(name, steps, latest) if format == "svg" else gantt(steps, latest)


def gantt(steps: Sequence[Recorded], latest: float) -> str:
    """As a Gantt chart: steps that failed are marked `crit`, those that are open `active`."""
    lines = ["gantt", "    dateFormat x", "    axisFormat %H:%M:%S"]
    section = ""
    for step in steps:
        wanted = "undone" if step.is_undoing else "steps"
        if wanted != section:
            section = wanted
            lines.append(f"    section {section}")
        text = _UNSAFE.sub(" ", step.key) + (f" ({step.attempts} attempts)" if step.attempts > 1 else "")
        end = latest if step.ended_at is None else step.ended_at
        lines.append(f"    {text} :{_MARKS.get(step.status, 'done')}, {round(step.began_at * 1000)}, {round(end * 1000)}")
    return "\n".join(lines)


def picture(name: str, steps: Sequence[Recorded], latest: float) -> str:
    """As bars below each other, with what became of each beside it."""
    return page(name, _NAMES + _WIDE + _WORDS + 2 * _MARGIN, len(steps) * _ROW + 52, _bars(name, steps, latest))


def _bars(name: str, steps: Sequence[Recorded], latest: float) -> Iterator[str]:
    first = min((step.began_at for step in steps), default=latest)
    scale = _WIDE / max(latest - first, 0.001)
    yield label(f"{name}: {duration(latest - first)} from {moment(first)}", _MARGIN, 26, 12, SOFT, anchor="start")
    for number, step in enumerate(steps):
        y = 42 + number * _ROW
        end = latest if step.ended_at is None else step.ended_at
        fill, edge = STATUS.get(step.status, ("#f1f5f9", FAINT))
        x, width = _MARGIN + _NAMES + (step.began_at - first) * scale, max((end - step.began_at) * scale, 3.0)
        said = ", ".join(account([step]))
        yield f"<g><title>{shown(f'{step.key}: {said}')}</title>"
        yield label(shortened(step.key, 34), _MARGIN, y + 13, 12, INK, anchor="start")
        yield f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="18" rx="3" fill="{fill}" stroke="{edge}"/>'
        yield label(shortened(said, 44), _MARGIN + _NAMES + _WIDE + 16, y + 13, 11, SOFT, anchor="start")
        yield "</g>"
