"""A workflow as a drawing: its program before it runs, or with what has happened in a run; or the steps of a run over time."""

from __future__ import annotations

from collections.abc import Callable

from agentsdk.core.state import State
from agentsdk.types.errors import UserError
from agentsdk.workflow.happened import with_run
from agentsdk.workflow.outline import outline
from agentsdk.workflow.render import Format, Kind, check_given, render
from agentsdk.workflow.retold import retold
from agentsdk.workflow.timeline import timeline


def drawn_program(name: str, function: Callable[..., object], kind: Kind, format: Format) -> str:
    """The program of a workflow as a diagram. Raises `UserError` where it has no source."""
    check_given(format=format, kind=kind)
    if kind == "timeline":
        raise UserError(f"workflow {name!r} has no timeline before it runs, expected a run; call draw(state, kind='timeline')")
    found = outline(name, function)
    if found is None:
        raise UserError(
            f"workflow {name!r} has no source to draw, or another one than when it was imported, expected that of an async "
            "function in a file; write it to a module and start again, or draw a run of it"
        )
    return render(found.diagram, format)


def drawn_run(name: str, function: Callable[..., object] | None, state: State, kind: Kind, format: Format) -> str:
    """What has happened in a run. `function` is the program as the run has it, None where that version is not known."""
    check_given(format=format, kind=kind)
    if state.first_agent != name:
        raise UserError(
            f"workflow {name!r} was given a run of {state.first_agent!r} to draw, expected one of its own; call that one's draw"
        )
    if kind == "timeline":
        return timeline(name, state, format)
    found = None if function is None else outline(name, function)
    return render(retold(name, state) if found is None else with_run(found, state), format)
