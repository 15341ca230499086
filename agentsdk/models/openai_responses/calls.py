"""Calls and their results between the Responses API's own items, one type for each kind, and `FunctionCall`s.

```
function_call                            function: the arguments as they came
custom_tool_call                         custom: {"input": text}
shell_call, local_shell_call             shell: the action; the older call's command is one text, its namespace "local_shell"
apply_patch_call                         apply_patch: the operation
computer_call                            computer: its actions, and the safety checks that are to be acknowledged
mcp_approval_request                     mcp_approval: the arguments, the server being the namespace
```
A result of a shell call that is JSON like `{"output": [{"stdout", "stderr", "outcome"}]}` goes back as that, any other text as
what was printed. A computer call's result is an image, the screenshot, and may have a text beside it: `{"url",
"output", "acknowledged_safety_checks"}` as JSON, of which the output is what the model is told.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from hashlib import sha256

import msgspec

from agentsdk.core.arguments import parse_arguments
from agentsdk.models.computer_actions import OWN_CALL, openai_action
from agentsdk.models.loose import as_list, as_object, as_text, storable_json
from agentsdk.models.prefix import usable_arguments, usable_name
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.items import Caller, CallKind, FunctionCall, FunctionCallOutput, InputImage, InputText, OutputText

LOCAL_SHELL = "local_shell"
"""The namespace of calls of the older shell tool."""

_KINDS: dict[str, CallKind] = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "shell_call": "shell",
    "local_shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
    "mcp_approval_request": "mcp_approval",
}
_SHELL_ACTION = ("commands", "timeout_ms", "max_output_length")  # all that the API knows: Anthropic's `restart` is none of it
_MAX_CALL_ID = 64
# An image of one point: the API takes no result of a computer call that has none.
_NO_SCREENSHOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)


def kind_of(data: JsonObject) -> CallKind | None:
    """The kind of call that an item is; None for one that is no call of ours to answer."""
    kind = _KINDS.get(as_text(data.get("type")))
    if kind == "shell" and as_object(data.get("environment")).get("type") == "container_reference":
        return None  # the provider runs it
    return kind


def read_call(kind: CallKind, data: JsonObject, fallback_id: str, *, begun_only: bool) -> FunctionCall:
    """The call in an item; `begun_only`: its arguments are yet to come."""
    item_id = as_text(data.get("id"))
    call_id = as_text(data.get("call_id")) or item_id or fallback_id
    name, namespace = as_text(data.get("name")), as_text(data.get("namespace"))
    arguments = ""
    if kind in ("shell", "apply_patch", "computer"):
        name, namespace = kind, LOCAL_SHELL if data.get("type") == "local_shell_call" else ""
    elif kind == "mcp_approval":
        namespace = as_text(data.get("server_label"))
    if not begun_only:
        arguments = _ARGUMENTS[kind](data)
    return FunctionCall(call_id, name, arguments, item_id, kind, namespace, _caller(data.get("caller")))


def _caller(data: object) -> Caller | None:
    caller = as_object(data)
    return Caller("program", as_text(caller.get("caller_id"))) if caller.get("type") == "program" else None


def _plain_arguments(data: JsonObject) -> str:
    arguments = data.get("arguments")
    if isinstance(arguments, str):
        return arguments or "{}"
    return "{}" if arguments is None else storable_json(arguments)


def _custom_arguments(data: JsonObject) -> str:
    return storable_json({"input": as_text(data.get("input"))})


def _shell_arguments(data: JsonObject) -> str:
    action = _given(as_object(data.get("action")))
    if data.get("type") == "local_shell_call":
        action.pop("type", None)
        action["commands"] = [shlex.join(map(as_text, as_list(action.pop("command", None))))]
    return storable_json(action)


def _patch_arguments(data: JsonObject) -> str:
    return storable_json(_given(as_object(data.get("operation"))))


def _computer_arguments(data: JsonObject) -> str:
    actions = as_list(data.get("actions")) or [data.get("action")]
    arguments: JsonObject = {"actions": [_given(as_object(action)) for action in actions if action]}
    if checks := as_list(data.get("pending_safety_checks")):
        arguments["pending_safety_checks"] = checks
    return storable_json(arguments)


_ARGUMENTS: dict[CallKind, Callable[[JsonObject], str]] = {
    "function": _plain_arguments,
    "mcp_approval": _plain_arguments,
    "custom": _custom_arguments,
    "shell": _shell_arguments,
    "apply_patch": _patch_arguments,
    "computer": _computer_arguments,
}


def _given(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def call_entry(item: FunctionCall, item_id: str) -> JsonObject:
    """A call as it goes back. `item_id` is `""` where the call goes without its own id."""
    entry = _call(item)
    if item.caller is not None and item.caller.kind == "program":
        entry["caller"] = {"type": "program", "caller_id": item.caller.id}
    return {**entry, "id": item_id} if item_id else entry


def _call(item: FunctionCall) -> JsonObject:
    known: JsonObject = {"call_id": call_id_of(item.call_id)}
    match item.kind:
        case "shell" if item.namespace == LOCAL_SHELL:
            action = _arguments(item)
            command = as_text(next(iter(as_list(action.pop("commands", None))), ""))
            local: JsonObject = {"type": "exec", "command": _split(command), "env": {}, **action}
            return {"type": "local_shell_call", "id": item.id, **known, "status": "completed", "action": local}
        case "shell":
            action = {name: value for name, value in _arguments(item).items() if name in _SHELL_ACTION}
            return {"type": "shell_call", **known, "status": "completed", "action": {"commands": [], **action}}
        case "apply_patch":
            return {"type": "apply_patch_call", **known, "status": "completed", "operation": _arguments(item)}
        case "computer":
            asked: JsonObject = {"pending_safety_checks": [], "actions": [], **_arguments(item)}
            if asked.pop(OWN_CALL, None) is not None:  # another provider's form of it
                asked["actions"] = [openai_action(as_object(action)) for action in as_list(asked["actions"])]
            item_id = item.id or f"cu_{sha256(item.call_id.encode()).hexdigest()[:40]}"  # the API demands one
            return {"type": "computer_call", "id": item_id, **known, "status": "completed", **asked}
        case "mcp_approval":
            known = {"id": item.call_id, "name": item.name, "arguments": usable_arguments(item.arguments)}
            return {"type": "mcp_approval_request", **known, "server_label": item.namespace}
        case "custom":
            known |= {"name": usable_name(item.name), "input": as_text(_arguments(item).get("input"))}
            return {"type": "custom_tool_call", **known, **_named(item)}
        case "function" | "text_editor" | "memory":
            known |= {"name": usable_name(item.name), "arguments": usable_arguments(item.arguments)}
            return {"type": "function_call", **known, **_named(item)}


def _named(item: FunctionCall) -> JsonObject:
    return {"namespace": item.namespace} if item.namespace else {}


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote without its end
        return [command]


def _arguments(item: FunctionCall) -> JsonObject:
    """The arguments; none for those that the run refused."""
    try:
        return parse_arguments(item.arguments)
    except InvalidArgumentsError:
        return {}


def output_entries(item: FunctionCallOutput, content: object) -> list[JsonObject]:
    """A result as it goes back; `content` is its output as the API takes that of a function."""
    known: JsonObject = {"call_id": call_id_of(item.call_id)}
    if item.caller is not None and item.caller.kind == "program":
        known["caller"] = {"type": "program", "caller_id": item.caller.id}
    match item.kind:
        case "shell" if item.namespace == LOCAL_SHELL:
            return [{"type": "local_shell_call_output", "id": item.call_id, "output": _text(item)}]
        case "shell":
            return [{"type": "shell_call_output", **known, **_shell_output(item)}]
        case "apply_patch":
            status = "failed" if item.is_error else "completed"
            return [{"type": "apply_patch_call_output", **known, "status": status, "output": _text(item)}]
        case "computer":
            return _computer_output(item, known)
        case "mcp_approval":
            answer: JsonObject = {"approval_request_id": item.call_id, "approve": not item.is_error}
            if item.is_error:
                answer["reason"] = _text(item)
            return [{"type": "mcp_approval_response", **answer}]
        case "custom":
            return [{"type": "custom_tool_call_output", **known, "output": content}]
        case "function" | "text_editor" | "memory":
            return [{"type": "function_call_output", **known, "output": content}]


def _text(item: FunctionCallOutput) -> str:
    if isinstance(item.output, str):
        return item.output
    return "\n".join(part.text for part in item.output if isinstance(part, InputText | OutputText))


def _object_in(text: str) -> JsonObject:
    """The JSON object that a text is, or an empty one."""
    try:
        return as_object(msgspec.json.decode(text)) if text.startswith("{") else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def _shell_output(item: FunctionCallOutput) -> JsonObject:
    text = _text(item)
    known = _object_in(text)
    if as_list(known.get("output")):
        return {name: value for name, value in known.items() if name in ("output", "max_output_length")}
    outcome = {"type": "exit", "exit_code": int(item.is_error)}
    printed = {"stdout": "", "stderr": text} if item.is_error else {"stdout": text, "stderr": ""}
    return {"output": [{**printed, "outcome": outcome}]}


def _computer_output(item: FunctionCallOutput, known: JsonObject) -> list[JsonObject]:
    shown = next((part for part in item.output if isinstance(part, InputImage)), InputImage(_NO_SCREENSHOT))
    image: JsonObject = {"image_url": shown.image_url} if shown.image_url else {"file_id": shown.file_id}
    entry: JsonObject = {"type": "computer_call_output", **known, "output": {"type": "computer_screenshot", **image}}
    text = _text(item)
    beside = _object_in(text)
    if checks := as_list(beside.get("acknowledged_safety_checks")):
        entry["acknowledged_safety_checks"] = checks
    said = as_text(beside.get("output")) if beside else text
    if not said:
        return [entry]
    return [entry, {"role": "developer", "content": f"The computer call {item.call_id} came to: {said}"}]


def call_id_of(call_id: str) -> str:
    """A call's id as the API takes it: another provider's may be too long."""
    return call_id if len(call_id) <= _MAX_CALL_ID else f"call_{sha256(call_id.encode()).hexdigest()[:40]}"
