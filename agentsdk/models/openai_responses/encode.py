"""From items to the `input` of the Responses API, as bytes, each item encoded once.

```
Message(user, system, developer)     {"role": ..., "content": ...}
Message(assistant)                   the same, or an output message with its id
FunctionCall, FunctionCallOutput     an item of the call's kind, see `calls.py`
Reasoning, ProviderItem              as they came, if they came from here; else left out
```
The API refuses reasoning that is not followed by the very item it led to, and that item by its id without its reasoning. So ids
go back with reasoning and never alone, and reasoning whose next item is gone or was rewritten stays behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agentsdk.models.openai_responses.calls import call_entry, output_entries
from agentsdk.models.prefix import Body, Group, encode_growing, to_json
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.hosted import Prompt
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputVideo,
    Item,
    Media,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape

_ID_NOT_NEEDED = (
    "compaction",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "tool_search_call",
    "tool_search_output",
)
_ANNOTATIONS = ("file_citation", "url_citation", "container_file_citation", "file_path")


class InputEncoder(Struct, frozen=True):
    """Encodes for one `provider`: its own reasoning and items go back to it only. Equal encoders share what is encoded.

    `stored`: the server keeps replies, so reasoning is known there by its id alone.
    """

    provider: str
    stored: bool = False

    def encode(self, items: Tape[Item], tail: Sequence[Item] = ()) -> Body:
        """The entries of `items` and `tail`, comma-separated. Raises `UserError` for a part that the API cannot carry."""
        return encode_growing(self, items, tail, self._next)

    def _next(self, items: Sequence[Item], start: int) -> Group:
        item = items[start]
        if not isinstance(item, Reasoning):
            return start + 1, self._entries(item, with_id=False), False
        end = start + 1
        while end < len(items) and _is_of_a_reply(items[end]):
            end += 1
        return end, self._reply(items[start:end]), True

    def _reply(self, items: Sequence[Item]) -> list[JsonObject]:
        """The items of one reply, from its first reasoning on."""
        kept = [False] * len(items)
        followed = False
        for position in range(len(items) - 1, -1, -1):
            item = items[position]
            if isinstance(item, Reasoning):
                kept[position] = followed and self._can_return(item)
                followed = kept[position]
            elif isinstance(item, ProviderItem):
                followed = item.provider == self.provider
            else:
                followed = isinstance(item, Message | FunctionCall) and _is_of_a_reply(item) and bool(item.id)
        entries: list[JsonObject] = []
        reasoned = orphaned = False  # by reasoning that goes back, and by its own that does not
        for item, keep in zip(items, kept, strict=True):
            if isinstance(item, Reasoning):
                reasoned, orphaned = keep, not keep and (orphaned or item.provider == self.provider)
                if keep:
                    entries.append(_reasoning(item))
            elif isinstance(item, ProviderItem) and orphaned:
                entries.extend(self._without_id(item))
            else:
                entries.extend(self._entries(item, with_id=reasoned))
        return entries

    def _without_id(self, item: ProviderItem) -> list[JsonObject]:
        """An item whose reasoning stays behind. Where the API demands its id, so does it."""
        if item.provider != self.provider or item.data.get("type") not in _ID_NOT_NEEDED:
            return []
        return [{name: value for name, value in item.data.items() if name != "id"}]

    def _can_return(self, item: Reasoning) -> bool:
        return item.provider == self.provider and bool(item.encrypted or _own_text(item) or (self.stored and item.id))

    def _entries(self, item: Item, *, with_id: bool) -> list[JsonObject]:
        match item:
            case Message("assistant"):
                return [_answer(item, item.id if with_id else "")]
            case Message():
                return [{"role": item.role, "content": _content(item.content)}]
            case FunctionCall():
                return [call_entry(item, item.id if with_id else "")]
            case FunctionCallOutput():
                return output_entries(item, _content(item.output))
            case ProviderItem():
                return [item.data] if item.provider == self.provider else []
            case Reasoning():
                return []


def _is_of_a_reply(item: Item) -> bool:
    return not isinstance(item, FunctionCallOutput) and (not isinstance(item, Message) or item.role == "assistant")


def _own_text(item: Reasoning) -> str:
    """The reasoning's text, where it is not just its summary."""
    return "" if item.text == joined_summary(item.summary) else item.text


def joined_summary(summary: Sequence[str]) -> str:
    """The text that a summary shows."""
    return "\n\n".join(summary)


def _reasoning(item: Reasoning) -> JsonObject:
    entry: JsonObject = {"type": "reasoning", "id": item.id, "summary": [_text("summary_text", one) for one in item.summary]}
    if text := _own_text(item):
        entry["content"] = [_text("reasoning_text", text)]
    if item.encrypted:
        entry["encrypted_content"] = item.encrypted
    return entry


def _answer(item: Message, item_id: str) -> JsonObject:
    entry: JsonObject = {"type": "message", "role": "assistant"}
    if item.phase:
        entry["phase"] = item.phase
    if item_id:
        entry |= {"id": item_id, "status": "completed"}
    elif not item.phase and isinstance(item.content, str):
        return {"role": "assistant", "content": item.content}
    parts = (OutputText(item.content),) if isinstance(item.content, str) else item.content
    return {**entry, "content": [_answer_part(part) for part in parts]}


def _answer_part(part: Part) -> JsonObject:
    if isinstance(part, Refusal):
        return {"type": "refusal", "refusal": part.refusal}
    if isinstance(part, Media):
        raise UserError(f"an assistant message holds {part.type!r}, which the API takes from users only; give text instead")
    notes = part.annotations if isinstance(part, OutputText) else ()
    own = [note for note in notes if note.get("type") in _ANNOTATIONS]  # another provider's would be refused
    return {**_text("output_text", part.text), "annotations": own}


def _content(content: str | tuple[Part, ...]) -> object:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Part) -> JsonObject:
    match part:
        case InputImage():
            known = {"image_url": part.image_url, "file_id": part.file_id}
            return {"type": "input_image", "detail": part.detail, **_given(known)}
        case InputFile():
            known = {"file_id": part.file_id, "file_url": part.file_url, "file_data": part.file_data}
            if part.file_data:
                known["filename"] = part.filename or "file"
            return {"type": "input_file", **_given(known)}
        case InputAudio():
            raise UserError(
                "audio cannot go over the Responses API; use OpenAIChatCompletionsModel with an audio model instead"
            )
        case InputVideo():
            raise UserError("a video cannot go over the Responses API; use GoogleModel, or send pictures of it")
        case Refusal():
            return _text("input_text", part.refusal)
        case _:
            return _text("input_text", part.text)


def _given(fields: dict[str, str]) -> JsonObject:
    return {name: value for name, value in fields.items() if value}


def _text(kind: str, text: str) -> JsonObject:
    return {"type": kind, "text": text}


def encode_tools(tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool] = ()) -> bytes:
    """The `tools` field. Raises `UserError` for a hosted tool that the API does not have."""
    if not hosted:
        return to_json([_tool(tool) for tool in tools])
    from agentsdk.models.openai_responses.hosted import deferred, encode_hosted

    own, pinned = encode_hosted(hosted), deferred(hosted)
    entries = [_tool(tool) for tool in tools]
    for tool, entry in zip(tools, entries, strict=True):
        if pinned is not None and isinstance(tool, ToolSpec) and tool.name not in pinned and "name" in entry:
            entry["defer_loading"] = True
    return to_json([*entries, *own])


def _tool(tool: ToolSpec | HandoffSpec) -> JsonObject:
    kind = tool.kind if isinstance(tool, ToolSpec) else "function"
    described: JsonObject = {"name": tool.name, "description": tool.description}
    if kind == "custom" and isinstance(tool, ToolSpec):
        return {"type": "custom", **described, **tool.kind_settings}
    if kind == "shell":
        return {"type": "shell", "environment": {"type": "local"}}
    if kind in ("apply_patch", "computer"):
        return {"type": kind}
    # `strict` is sent either way, as the API's default is true.
    return {"type": "function", **described, "parameters": tool.parameters, "strict": tool.strict}


def encode_prompt(prompt: Prompt) -> JsonObject:
    """The `prompt` field."""
    field: JsonObject = {"id": prompt.id}
    if prompt.version is not None:
        field["version"] = prompt.version
    if prompt.variables:
        field["variables"] = {
            name: value if isinstance(value, str) else _part(value) for name, value in prompt.variables.items()
        }
    return field


def output_format(output: OutputSpec) -> JsonObject:
    """The `text.format` field."""
    return {"type": "json_schema", "name": output.name, "schema": output.schema, "strict": output.strict}
