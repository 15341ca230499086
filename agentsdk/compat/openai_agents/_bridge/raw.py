"""Items between their two forms: agentsdk's own, and the dicts and objects of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from agentsdk.compat.openai_agents._bridge.openai_types import built_item, shaped
from agentsdk.compat.openai_agents._bridge.outputs import own_part
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import plain
from agentsdk.models.openai_responses.calls import call_entry, kind_of, output_entries, read_call
from agentsdk.types.items import (
    CallKind,
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)

PROVIDER = "openai"
NO_ID = "__fake_id__"
_RESULTS: dict[str, CallKind] = {
    "function_call_output": "function",
    "computer_call_output": "computer",
    "shell_call_output": "shell",
    "local_shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "custom_tool_call_output": "custom",
    "mcp_approval_response": "mcp_approval",
}
_RESULT_FIELDS = ("call_id", "output", "type")
"""What a result begins with, as openai-agents has it: programs print and compare them."""
_ROLES = ("user", "assistant", "system", "developer")


class Originals:
    """The raw items that items were made of: what they hold beyond what agentsdk keeps comes back whole.

    An item is known by itself, and one that is not (a state was loaded, say) by what it holds. So a long history is not encoded
    anew for each request.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Item, Any]] = {}  # by the id of the item, which lives as long as this
        self._entries: dict[int, tuple[Item, dict[str, Any]]] = {}
        self._kept: list[tuple[Item, Any]] = []
        self._kinds: set[type] = set()
        self._equal: dict[bytes, Any] = {}
        self._last: tuple[list[Item], list[dict[str, Any]]] = ([], [])

    def item(self, raw: Any, place: str = "an item") -> Item:
        """A raw item as agentsdk's. Raises `UserError` for what is none."""
        item = _common(raw)
        if item is None:
            data = plain(raw)
            item = _checked(data, place)
            self._entries[id(item)] = (item, data)
        self._keep(item, raw)
        return item

    def raw(self, item: Item) -> Any:
        """The raw item that `item` was made of; None for one that the run made."""
        known = self._known.get(id(item))
        if known is None:
            known = self._known[id(item)] = (item, self._equal_to(item))
        return known[1]

    def _equal_to(self, item: Item) -> Any:
        """The raw item of one that holds the same."""
        if type(item) not in self._kinds:
            return None
        for kept, raw in self._kept:
            self._equal[msgspec.json.encode(kept)] = raw
        self._kept.clear()
        return self._equal.get(msgspec.json.encode(item))

    def keep(self, item: Item, raw: Any) -> None:
        """Have `raw` stand for `item`."""
        self._keep(item, raw)
        if self._entries.pop(id(item), None) is not None:
            self._last = ([], [])

    def _keep(self, item: Item, raw: Any) -> None:
        self._known[id(item)] = (item, raw)
        self._kept.append((item, raw))
        self._kinds.add(type(item))

    def entries(self, items: list[Item]) -> list[dict[str, Any]]:
        """The items as dicts of the caller's own. Those that were asked for last, and begin these too, are not looked up."""
        known, made = self._last
        if items[: len(known)] != known:
            known, made = [], []
        made = [*made, *[self._entry(item) for item in items[len(known) :]]]
        self._last = (items, made)
        return [entry.copy() for entry in made]

    def entry(self, item: Item) -> dict[str, Any]:
        """The item as a dict of the caller's own, fit for an input."""
        return self._entry(item).copy()

    def _entry(self, item: Item) -> dict[str, Any]:
        known = self._entries.get(id(item))
        if known is None:
            raw = self.raw(item)
            made = to_dict(item) if raw is None else cast("dict[str, Any]", plain(raw))
            known = self._entries[id(item)] = (item, made)
        return known[1]


def to_item(raw: Any, place: str = "an item") -> Item:
    """A raw item as agentsdk's. Raises `UserError` for what is none."""
    return _checked(plain(raw), place)


def _checked(data: Any, place: str) -> Item:
    if not isinstance(data, dict):
        raise UserError(
            f"{place} of the input is {type(data).__name__!r}, expected a dict or a response item; write "
            "{'role': 'user', 'content': ...}"
        )
    fields = cast("dict[str, Any]", data)
    try:
        return _item(fields)
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
        raise UserError(
            f"{place} of the input fits no kind of item ({error}), expected one of the Responses API; write "
            "{'role': 'user', 'content': ...}"
        ) from error


def _common(raw: Any) -> Item | None:
    """The item of an object that is what models give most: a call of a function, or a message of one text. None for others."""
    kind = getattr(raw, "type", None)
    if kind == "function_call":
        call_id, name, arguments = raw.call_id, raw.name, raw.arguments
        is_plain = not (getattr(raw, "namespace", None) or getattr(raw, "caller", None))
        if is_plain and call_id and type(name) is str and type(arguments) is str:
            return FunctionCall(call_id, name, arguments or "{}", getattr(raw, "id", None) or "")
    elif kind == "message" and getattr(raw, "role", None) == "assistant":
        parts = cast("list[Any]", raw.content)
        if type(parts) is list and len(parts) == 1:
            part: Any = parts[0]
            if getattr(part, "type", None) == "output_text" and not part.annotations and type(part.text) is str:
                return Message("assistant", part.text, raw.id or "", getattr(raw, "phase", None) or "")
    return None


def _item(data: dict[str, Any]) -> Item:
    kind = data.get("type")
    if kind == "message" or (kind is None and "role" in data):
        return _message(data)
    if kind == "reasoning":
        content: list[dict[str, Any]] = data.get("content") or []
        told: list[dict[str, Any]] = data.get("summary") or []
        texts = [str(one.get("text", "")) for one in content]
        summary = tuple([str(one.get("text", "")) for one in told])
        return Reasoning(
            "".join(texts) or "\n\n".join(summary),
            summary,
            data.get("id") or "",
            encrypted=data.get("encrypted_content") or "",
            provider=PROVIDER,
        )
    if (of := _RESULTS.get(str(kind))) is not None:
        return _result(of, data)
    called = kind_of(data)
    if called is not None and (data.get("call_id") or called == "mcp_approval"):
        return read_call(called, data, str(data.get("id") or "call"), begun_only=False)
    if not isinstance(kind, str) or not kind:
        raise ValueError(f"it has neither a role nor a type, but {sorted(data)}")
    return ProviderItem(PROVIDER, cast("dict[str, Any]", _json(data)))


def _json(data: Any) -> Any:
    return json.loads(json.dumps(data, default=str))


def _message(data: dict[str, Any]) -> Message:
    role, content = data["role"], data.get("content")
    if role not in _ROLES:
        raise ValueError(f"role {role!r}")
    if content is None:
        content = ""
    if isinstance(content, str):
        return Message(role, content, data.get("id") or "", data.get("phase") or "")
    parts = tuple([_part(part) for part in cast("Sequence[Any]", content)])
    if role == "assistant" and len(parts) == 1 and isinstance(only := parts[0], OutputText) and not only.annotations:
        return Message(role, only.text, data.get("id") or "", data.get("phase") or "")
    return Message(role, parts, data.get("id") or "", data.get("phase") or "")


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return InputText(part)
    match part.get("type"):
        case "output_text":
            return OutputText(part.get("text") or "", tuple(_json(part.get("annotations") or [])))
        case "refusal":
            return Refusal(part.get("refusal") or "")
        case "input_audio":
            audio = part.get("input_audio") or part
            return InputAudio(audio["data"], audio["format"])
        case _:
            return own_part(part)


def _result(kind: CallKind, data: dict[str, Any]) -> FunctionCallOutput:
    call_id = str(data.get("call_id") or data.get("approval_request_id") or data.get("id"))
    if kind == "mcp_approval":
        return FunctionCallOutput(call_id, str(data.get("reason") or ""), not data.get("approve"), kind)
    namespace = "local_shell" if data.get("type") == "local_shell_call_output" else ""
    output = data.get("output")
    is_error = kind == "apply_patch" and data.get("status") == "failed"
    if kind == "shell" and not isinstance(output, str):
        rest = {name: data[name] for name in ("output", "max_output_length") if data.get(name) is not None}
        return FunctionCallOutput(call_id, json.dumps(rest), is_error, kind, namespace)
    if isinstance(output, Mapping):
        return FunctionCallOutput(call_id, (own_part(cast("Mapping[str, Any]", output)),), is_error, kind, namespace)
    if isinstance(output, list):
        parts = tuple([_part(one) for one in cast("list[Any]", output)])
        return FunctionCallOutput(call_id, parts, is_error, kind, namespace)
    return FunctionCallOutput(call_id, "" if output is None else str(output), is_error, kind, namespace)


def to_dict(item: Item) -> dict[str, Any]:
    """An item as a dict, fit for an input of the Responses API."""
    match item:
        case Message(role="assistant"):
            content = item.content
            parts = [_output_text(content)] if isinstance(content, str) else [_part_dict(part) for part in content]
            status: dict[str, Any] = {"role": "assistant", "status": "completed", "type": "message"}
            return {"id": item.id or NO_ID, "content": parts, **status}
        case Message():
            content = item.content
            return {"content": content if isinstance(content, str) else list(map(_part_dict, content)), "role": item.role}
        case FunctionCall():
            return call_entry(item, item.id)
        case FunctionCallOutput():
            output = item.output
            entry = output_entries(item, output if isinstance(output, str) else list(map(_part_dict, output)))[0]
            return {name: entry[name] for name in _RESULT_FIELDS if name in entry} | entry
        case Reasoning():
            thought: dict[str, Any] = {
                "id": item.id or NO_ID,
                "summary": [{"text": text, "type": "summary_text"} for text in item.summary],
                "type": "reasoning",
            }
            if item.text and not item.summary:
                thought["content"] = [{"text": item.text, "type": "reasoning_text"}]
            if item.encrypted:
                thought["encrypted_content"] = item.encrypted
            return thought
        case ProviderItem():
            return dict(item.data)


def built_of(item: Item) -> Any:
    """An item as openai's type."""
    data = to_dict(item)
    match item:
        case Message(role="assistant", content=str()):
            return shaped("ResponseOutputMessage", data | {"content": [shaped("ResponseOutputText", data["content"][0])]})
        case FunctionCall(kind="function", caller=None):
            return shaped("ResponseFunctionToolCall", data)
        case _:
            return built_item(data)


def _output_text(text: str) -> dict[str, Any]:
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": []}


def _part_dict(part: Part) -> dict[str, Any]:
    match part:
        case OutputText():
            return {**_output_text(part.text), "annotations": list(part.annotations)}
        case InputText():
            return {"type": "input_text", "text": part.text}
        case Refusal():
            return {"type": "refusal", "refusal": part.refusal}
        case InputImage():
            shown: dict[str, Any] = {"type": "input_image", "detail": part.detail}
            return {**shown, **_given(image_url=part.image_url, file_id=part.file_id)}
        case InputFile():
            names = _given(file_data=part.file_data, file_url=part.file_url, file_id=part.file_id, filename=part.filename)
            return {"type": "input_file", **names}
        case InputAudio():
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}
        case _:
            return cast("dict[str, Any]", msgspec.to_builtins(part))


def _given(**fields: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
