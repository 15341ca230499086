"""Tools of other kinds for the providers that have only functions."""

from __future__ import annotations

from agentsdk.models.loose import as_object
from agentsdk.types.spec import HandoffSpec, ToolSpec


def function_description(tool: ToolSpec | HandoffSpec) -> str:
    """The description of a tool that is offered as a function: a custom tool's says what its text must fit."""
    if not isinstance(tool, ToolSpec) or tool.kind != "custom":
        return tool.description
    grammar = as_object(tool.kind_settings.get("format"))
    if not grammar:
        return tool.description
    rule = f"The input must fit this {grammar.get('syntax')} grammar:\n{grammar.get('definition')}"
    return f"{tool.description}\n\n{rule}" if tool.description else rule
