"""Calls between Anthropic's `tool_use` blocks and `FunctionCall`s of other kinds than a function's.

```
bash, where the agent has a shell tool         shell: {"commands": [command]}, or {"restart": true}
str_replace_based_edit_tool, memory, likewise  text_editor, memory: the input as it is
a member of the computer toolset, or computer  computer: its action, and the block's own name and input under "call"
```
`computer` is the tool of models from before the toolset, whose input names the action.
A name in another toolset stays a function's, in that namespace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw

from agentsdk.core.arguments import parse_arguments
from agentsdk.models.computer_actions import OWN_CALL, anthropic_actions, own_call
from agentsdk.models.loose import as_list, as_object, as_text, storable_json
from agentsdk.models.prefix import usable_arguments, usable_name
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import InvalidArgumentsError, UserError
from agentsdk.types.items import Caller, CallKind, FunctionCall, FunctionCallOutput
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.text import clean_text

CLIENT_TOOLS: dict[CallKind, tuple[str, str]] = {
    "shell": ("bash_20250124", "bash"),
    "text_editor": ("text_editor_20250728", "str_replace_based_edit_tool"),
    "memory": ("memory_20250818", "memory"),
}
"""The API's type and name of the tool of its own that calls of a kind come from."""

_TOOLSETS = ("computer", "browser")

_COMPUTER, _COMPUTER_BETA = "computer_20251124", "computer-use-2025-11-24"


def read_caller(data: object) -> Caller | None:
    """Who made a call, where that was a program in the provider's container."""
    caller = as_object(data)
    kind, made_by = clean_text(as_text(caller.get("type"))), clean_text(as_text(caller.get("tool_id")))
    return Caller(kind, made_by) if kind and made_by and len(caller) == 2 else None


def client_tools(tools: Sequence[ToolSpec | HandoffSpec]) -> dict[str, CallKind]:
    """The kinds of an agent's tools that are the API's own, by its names of them."""
    own: dict[str, CallKind] = {
        CLIENT_TOOLS[tool.kind][1]: tool.kind for tool in tools if isinstance(tool, ToolSpec) and tool.kind in CLIENT_TOOLS
    }
    if _has_computer(tools):
        own["computer"] = "computer"
    return own


def betas_of(tools: Sequence[ToolSpec | HandoffSpec]) -> str:
    """The value of the header that a request with them needs; `""` where it needs none."""
    return _COMPUTER_BETA if _has_computer(tools) else ""


def computer_entry(tool: ToolSpec) -> JsonObject:
    """A computer's declaration: the toolset, or the tool that its `kind_settings` name. Raises `UserError` for another one."""
    settings = tool.kind_settings
    kind, configs = settings.get("type"), settings.get("configs")
    if kind is None:
        return {"type": "computer_toolset_20260801", **({"configs": configs} if configs else {})}
    width, height = settings.get("display_width"), settings.get("display_height")
    if kind != _COMPUTER or not isinstance(width, int) or not isinstance(height, int):
        raise UserError(
            f"tool {tool.name!r} has kind_settings of no computer of Anthropic's, expected {{'type': {_COMPUTER!r}, "
            "'display_width': ..., 'display_height': ...}; leave 'type' out for the toolset of newer models"
        )
    return {"type": kind, "name": "computer", "display_width_px": width, "display_height_px": height, "enable_zoom": True}


def _has_computer(tools: Sequence[ToolSpec | HandoffSpec]) -> bool:
    return any(isinstance(tool, ToolSpec) and tool.kind == "computer" and "type" in tool.kind_settings for tool in tools)


def read_call(fields: JsonObject, call_id: str, arguments: str, known: Mapping[str, CallKind]) -> FunctionCall:
    """The call of a block; its `arguments` are `""` where they have yet to come. `known` are the agent's `client_tools`."""
    name, namespace = clean_text(as_text(fields.get("name"))), clean_text(as_text(fields.get("toolset_name")))
    caller = read_caller(fields.get("caller"))
    if namespace == "computer" or (not namespace and known.get(name) == "computer"):
        given = _parsed(arguments)
        action = name if namespace else as_text(given.get("action"))
        actions: JsonObject = {"actions": anthropic_actions(action, given), OWN_CALL: {"name": name, "arguments": given}}
        return FunctionCall(call_id, "computer", arguments and storable_json(actions), "", "computer", namespace, caller)
    kind = "function" if namespace else known.get(name, "function")
    if kind == "function":
        return FunctionCall(call_id, name, arguments, namespace=namespace, caller=caller)
    if kind == "shell":
        given = _parsed(arguments)
        commands: JsonObject = {"commands": [given["command"]]} if "command" in given else given
        arguments = arguments and storable_json(commands)
    return FunctionCall(call_id, kind, arguments, "", kind, "", caller)


def call_block(item: FunctionCall, call_id: str) -> JsonObject:
    """The block of a call as it goes back."""
    name, arguments = usable_name(item.name), Raw(usable_arguments(item.arguments).encode())
    block: JsonObject = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    if item.kind in CLIENT_TOOLS:
        block["name"] = CLIENT_TOOLS[item.kind][1]
    if item.kind == "shell":
        given = _parsed(item.arguments)
        commands = [as_text(command) for command in as_list(given.get("commands"))]
        block["input"] = {"restart": True} if given.get("restart") else {"command": "\n".join(commands)}
    elif item.kind == "computer":
        own_name, own_arguments = own_call(_parsed(item.arguments))
        if own_name and (own_name == "computer" or item.namespace == "computer"):  # not another provider's
            block |= {"name": usable_name(own_name), "input": own_arguments}
    if toolset := toolset_of(item):
        block["toolset_name"] = toolset
    if item.caller is not None and item.caller.kind.startswith("code_execution"):
        block["caller"] = {"type": item.caller.kind, "tool_id": item.caller.id}
    return block


def toolset_of(item: FunctionCall | FunctionCallOutput) -> str:
    """The toolset that a call is of, which its result names too; `""` for one that is of none of this API's."""
    return item.namespace if item.namespace in _TOOLSETS else ""


def _parsed(arguments: str) -> JsonObject:
    try:
        return parse_arguments(arguments)
    except InvalidArgumentsError:
        return {}
