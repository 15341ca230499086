"""A diagram as text of one format or the other."""

from __future__ import annotations

from typing import Literal

from agentsdk.types.declared import Fields, one_of
from agentsdk.workflow.diagram import Diagram

Format = Literal["mermaid", "svg"]
Kind = Literal["flow", "timeline"]

_FIELDS = Fields(
    "draw",
    format=one_of("'mermaid' or 'svg'", ("mermaid", "svg")),
    kind=one_of("'flow' or 'timeline'", ("flow", "timeline")),
)


def render(diagram: Diagram, format: Format) -> str:
    """As text of a Mermaid flowchart, or as an SVG picture. Raises `UserError` for another format."""
    check_given(format=format)
    if format == "svg":
        from agentsdk.workflow.svg import svg

        return svg(diagram)
    from agentsdk.workflow.mermaid import flowchart

    return flowchart(diagram)


def check_given(*, format: object = "mermaid", kind: object = "flow") -> None:
    """Raises `UserError` for what is no format or no kind of a drawing."""
    _FIELDS.check_given("draw", format=format, kind=kind)
