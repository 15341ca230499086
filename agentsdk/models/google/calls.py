"""Calls between Google's computer use and `FunctionCall`s of kind `computer`.

Google calls its own functions (`click_at`, `navigate`, ...), whose coordinates are thousandths of the screen. Each becomes
actions in pixels, and keeps its own name and arguments under "call", in which form it goes back. A `safety_decision` that asks
for a confirmation is a pending safety check; acknowledged, it goes back with the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.models.computer_actions import GOOGLE_FUNCTIONS, OWN_CALL, google_actions, own_call
from agentsdk.models.hosted import check_names
from agentsdk.models.loose import as_list, as_object, as_text, storable_json
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import is_whole
from agentsdk.types.errors import InvalidArgumentsError, UserError
from agentsdk.types.items import FunctionCall
from agentsdk.types.spec import HandoffSpec, ToolSpec

_SAFETY = "safety_decision"


def computer_tool(tools: Sequence[ToolSpec | HandoffSpec]) -> ToolSpec | None:
    """The agent's computer tool; None where it has none."""
    return next((tool for tool in tools if isinstance(tool, ToolSpec) and tool.kind == "computer"), None)


def encode_computer(tool: ToolSpec, tools: Sequence[ToolSpec | HandoffSpec]) -> JsonObject:
    """The entry of the `tools` field.

    Raises `UserError` where nobody said how large the screen is, and for a function with the name of one of Google's.
    """
    _size(tool)
    check_names(tools, dict.fromkeys(GOOGLE_FUNCTIONS, "the computer tool"), "Google")
    settings = tool.kind_settings
    known = {"excludedPredefinedFunctions": settings.get("excluded_functions")}
    environment = settings.get("environment") or "ENVIRONMENT_BROWSER"
    return {"computerUse": {"environment": environment, **{name: value for name, value in known.items() if value}}}


def read_call(computer: ToolSpec, call: FunctionCall) -> FunctionCall:
    """A function's call, as one of the computer tool if it is of one of Google's functions."""
    if call.name not in GOOGLE_FUNCTIONS:
        return call
    try:
        given = parse_arguments(call.arguments)
    except InvalidArgumentsError:
        given = {}
    arguments: JsonObject = {
        "actions": google_actions(call.name, given, *_size(computer)),
        OWN_CALL: {"name": call.name, "arguments": given},
    }
    decision = as_object(given.get(_SAFETY))
    if decision.get("decision") == "require_confirmation":
        arguments["pending_safety_checks"] = [{"id": _SAFETY, "message": as_text(decision.get("explanation"))}]
    return FunctionCall(call.call_id, "computer", storable_json(arguments), call.id, "computer")


def own_form(item: FunctionCall) -> tuple[str, JsonObject] | None:
    """Google's name and arguments of a computer call; None of one that another provider's model made, and of others."""
    if item.kind != "computer":
        return None
    try:
        name, arguments = own_call(parse_arguments(item.arguments))
    except InvalidArgumentsError:
        return None
    return (name, arguments) if name in GOOGLE_FUNCTIONS else None


def response_fields(text: str) -> JsonObject:
    """What the result of a computer call says beside its screenshot."""
    try:
        said = as_object(msgspec.json.decode(text)) if text.startswith("{") else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        said = {}
    fields: JsonObject = {"url": as_text(said.get("url"))}
    if any(as_object(check).get("id") == _SAFETY for check in as_list(said.get("acknowledged_safety_checks"))):
        fields["safety_acknowledgement"] = "true"
    output = as_text(said.get("output")) if said else text
    return {**fields, "output": output} if output else fields


def _size(tool: ToolSpec) -> tuple[int, int]:
    width, height = tool.kind_settings.get("display_width"), tool.kind_settings.get("display_height")
    if not (is_whole(width, 1) and is_whole(height, 1) and isinstance(width, int) and isinstance(height, int)):
        raise UserError(
            f"tool {tool.name!r} does not say how large its screen is, expected kind_settings={{'display_width': ..., "
            "'display_height': ...} in pixels: Google's models point to thousandths of it"
        )
    return width, height
