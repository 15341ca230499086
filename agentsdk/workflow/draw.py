"""A run of a workflow as a drawing: its steps over time, in Mermaid's form."""

from __future__ import annotations

import re
from collections import Counter

from agentsdk.core.state import State
from agentsdk.types.events import RunEnded, StepBegan, Stopped, TimeSpent, ToolAttemptFailed, ToolFinished

_UNSAFE = re.compile(r"[:;#,\s]+")
"""What ends a name in a Mermaid chart."""


def drawn(state: State) -> str:
    """The steps of a run as a Gantt chart: those that failed are marked `crit`, those that are open `active`."""
    begun: dict[str, StepBegan] = {}
    finished: dict[str, ToolFinished] = {}
    attempts: Counter[str] = Counter()
    latest = 0.0
    for event in state.log:
        if isinstance(event, StepBegan):
            begun[event.call_id] = event
        elif isinstance(event, ToolFinished):
            finished[event.call_id] = event
        elif isinstance(event, ToolAttemptFailed):
            attempts[event.call_id] += 1
        if not isinstance(event, TimeSpent | RunEnded | Stopped):
            latest = max(latest, getattr(event, "at", 0.0))
    lines = ["gantt", "    dateFormat x", "    axisFormat %H:%M:%S"]
    section = ""
    for key, step in begun.items():
        wanted = "undone" if key.startswith("undo/") else "steps"
        if wanted != section:
            section = wanted
            lines.append(f"    section {section}")
        lines.append(_line(key, step, finished.get(key), attempts[key], latest))
    return "\n".join(lines)


def _line(key: str, step: StepBegan, result: ToolFinished | None, failed: int, latest: float) -> str:
    mark = "active" if result is None else "crit" if result.is_error else "done"
    end = latest if result is None else result.at or step.at
    name = _UNSAFE.sub(" ", key) + (f" ({failed + 1} attempts)" if failed else "")
    return f"    {name} :{mark}, {round(step.at * 1000)}, {round(end * 1000)}"
