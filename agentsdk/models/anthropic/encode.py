"""From items to Anthropic messages, as bytes, each item encoded once.

```
Reasoning, Message(assistant), FunctionCall, ProviderItem     blocks of one assistant message, in their order
FunctionCallOutput, Message(user, system, developer)          blocks of one user message, results first
```
The API wants the results of all calls in the very next user message, so one reply and what answers it are encoded together.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import TypeGuard
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from agentsdk.models.anthropic.calls import CLIENT_TOOLS, call_block, client_tools, computer_entry, toolset_of
from agentsdk.models.hosted import check_names
from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import Body, Group, encode_growing, framed, to_json
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputImage,
    InputText,
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
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape

CALL_DETAILS = "tool_use"
"""The type of the `ProviderItem` that keeps what a tool_use block holds beside the call that follows it."""

_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_CITATIONS = (
    "char_location",
    "page_location",
    "content_block_location",
    "web_search_result_location",
    "search_result_location",
)
_FIRST = b'{"role":"user","content":[{"type":"text","text":"(continued)"}]}'
_ASSISTANT = b'{"role":"assistant"'


class MessageEncoder(Struct, frozen=True):
    """Encodes for one `provider`: its own reasoning and items go back to it. Equal encoders share what is encoded."""

    provider: str

    def encode(self, items: Tape[Item], tail: Sequence[Item] = ()) -> Body:
        """The messages of `items` and `tail`, comma-separated. Raises `UserError` for a part that the API cannot carry."""
        messages = encode_growing(self, items, tail, self._exchange)
        if not messages:
            return _FIRST
        return framed(_FIRST + b",", messages) if messages.startswith(_ASSISTANT) else messages

    def system(self, items: Iterable[Item]) -> list[str]:
        """The texts of the system and developer messages that a history begins with: they go into the `system` field."""
        texts: list[str] = []
        for item in items:
            if _is_system(item):
                texts.append(item.text)
            elif not (isinstance(item, Reasoning | ProviderItem) and item.provider != self.provider):
                break
        return texts

    def _exchange(self, items: Sequence[Item], start: int) -> Group:
        """A reply and what answers it; an item that is left out belongs to whatever surrounds it."""
        position = start
        reply: list[Item] = []
        answers: list[FunctionCallOutput | Message] = []
        while position < len(items):
            item = items[position]
            if isinstance(item, FunctionCallOutput) or (isinstance(item, Message) and item.role != "assistant"):
                answers.append(item)
            elif not isinstance(item, Reasoning | ProviderItem) or item.provider == self.provider:
                if answers:
                    break
                reply.append(item)
            position += 1
        return position, list(_messages(reply, answers)), True


def _is_system(item: Item) -> TypeGuard[Message]:
    return isinstance(item, Message) and item.role in ("system", "developer")


def _messages(reply: list[Item], answers: list[FunctionCallOutput | Message]) -> Iterator[JsonObject]:
    if reply:
        blocks = list(_reply_blocks(reply))
        if blocks:
            yield {"role": "assistant", "content": blocks}
    else:  # only what a history begins with has no reply before it
        answers = list(dropwhile(_is_system, answers))
    open_calls = dict.fromkeys(item.call_id for item in reply if isinstance(item, FunctionCall))
    results: list[JsonObject] = []
    rest: list[JsonObject] = []
    for item in answers:
        if isinstance(item, Message):
            rest.extend(_user_blocks(item))
        elif item.call_id in open_calls:
            del open_calls[item.call_id]
            results.append(_result(item))
        else:  # the API takes a result only next to its call
            rest.append(_text(f"Result of tool call {item.call_id}:"))
            rest.extend(_result_blocks(item.output))
    results.extend(
        {"type": "tool_result", "tool_use_id": _call_id(call_id), "content": "(no result yet)"} for call_id in open_calls
    )
    content = results + rest
    if content or answers:  # a message without content is not taken
        yield {"role": "user", "content": content or [_text("(empty)")]}


def _reply_blocks(items: list[Item]) -> Iterator[JsonObject]:
    details: JsonObject = {}
    for item in items:
        match item:
            case Reasoning():
                if item.encrypted:
                    yield {"type": "redacted_thinking", "data": item.encrypted}
                else:
                    yield {"type": "thinking", "thinking": item.text, "signature": item.signature}
            case FunctionCall():
                yield {**call_block(item, _call_id(item.call_id)), **details}
                details = {}
            case ProviderItem():
                if item.data.get("type") == CALL_DETAILS:
                    details = {name: value for name, value in item.data.items() if name != "type"}
                else:
                    yield item.data
            case Message():
                yield from _assistant_blocks(item)
            case _:
                pass


def _assistant_blocks(message: Message) -> Iterator[JsonObject]:
    """What the assistant said; the API takes no blank text, and citations only of its own kind."""
    parts = (OutputText(message.content),) if isinstance(message.content, str) else message.content
    for part in parts:
        if isinstance(part, OutputText):
            if part.text.strip():
                citations = [note for note in part.annotations if note.get("type") in _CITATIONS]
                yield {**_text(part.text), "citations": citations} if citations else _text(part.text)
        elif isinstance(part, InputText | Refusal):
            text = part.text if isinstance(part, InputText) else part.refusal
            if text.strip():
                yield _text(text)
        else:
            yield _text("(an attachment)")


def _user_blocks(message: Message) -> Iterator[JsonObject]:
    """A user's message, or a system message that comes too late for the `system` field."""
    if message.role == "user":
        yield from _input_blocks(message.content)
    elif message.text.strip():
        yield _text(f"<system>\n{message.text}\n</system>")


def _input_blocks(content: str | tuple[Part, ...]) -> Iterator[JsonObject]:
    for part in (InputText(content),) if isinstance(content, str) else content:
        if isinstance(part, Media):
            yield _media(part)
            continue
        text = part.refusal if isinstance(part, Refusal) else part.text
        if text.strip():
            yield _text(text)


def _result(item: FunctionCallOutput) -> JsonObject:
    content = item.output if isinstance(item.output, str) else _result_blocks(item.output)
    result: JsonObject = {"type": "tool_result", "tool_use_id": _call_id(item.call_id), "content": content}
    if item.is_error:
        result["is_error"] = True
    if toolset := toolset_of(item):
        result["toolset_name"] = toolset
    return result


def _result_blocks(output: str | tuple[Part, ...]) -> list[JsonObject]:
    return list(_input_blocks(output))


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _call_id(call_id: str) -> str:
    """An id the API takes; different ids stay different."""
    return _NOT_IN_AN_ID.sub(lambda found: f"_{ord(found.group()):x}_", call_id) or "call"


def _media(part: Media) -> JsonObject:
    if isinstance(part, InputAudio):
        raise UserError("Anthropic models take no audio, expected text, images, PDF or plain text files; send a transcript")
    if isinstance(part, InputVideo):
        raise UserError("Anthropic models take no video; use GoogleModel, or send pictures of it")
    if isinstance(part, InputImage):
        if part.file_id:
            return {"type": "image", "source": {"type": "file", "file_id": part.file_id}}
        return {"type": "image", "source": _source(part.image_url, "an image's image_url")}
    if part.file_id:
        source: JsonObject = {"type": "file", "file_id": part.file_id}
    else:
        source = _source(part.file_data or part.file_url, "a file's file_data or file_url")
    kind = str(source.get("media_type", ""))
    if kind.startswith("image/"):
        return {"type": "image", "source": source}
    if kind.startswith("text/"):
        source = {"type": "text", "media_type": "text/plain", "data": _decoded_text(source, part.filename)}
    elif kind and kind != "application/pdf":
        raise UserError(
            f"the file {part.filename!r} is {kind!r}, expected PDF, text or an image; convert it, or give its file_id"
        )
    document: JsonObject = {"type": "document", "source": source}
    if part.filename:
        document["title"] = part.filename
    return document


def _source(url: str, what: str) -> JsonObject:
    if url.startswith(("https://", "http://")):
        return {"type": "url", "url": url}
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise UserError(f"{what} is neither a data: URL nor an http(s) address; give one of them, or a file_id")
    kind, *parameters = head.removeprefix("data:").split(";")
    if "base64" not in parameters:
        data = base64.b64encode(unquote_to_bytes(data)).decode()
    return {"type": "base64", "media_type": kind.lower() or "text/plain", "data": data}


def _decoded_text(source: JsonObject, filename: str) -> str:
    try:
        return base64.b64decode(str(source["data"])).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise UserError(f"the text file {filename!r} is not UTF-8 in base64, expected that; encode it so") from None


def encode_tools(tools: Sequence[ToolSpec | HandoffSpec], hosted: Sequence[HostedTool] = (), *, strict: bool) -> bytes:
    """The `tools` field; with `strict` the provider enforces the schemas of the strict ones.

    Raises `UserError` for a hosted tool that the API does not have, and a function with the name of one of its own.
    """
    entries = [_tool(tool, strict) for tool in tools]
    if own := client_tools(tools):
        check_names(tools, {name: f"the {kind} tool" for name, kind in own.items()}, "Anthropic")
    if not hosted:
        return to_json(entries)
    from agentsdk.models.anthropic.hosted import deferred, encode_hosted, names_of

    run_there, pinned = encode_hosted(hosted), deferred(hosted)
    check_names(tools, names_of(hosted), "Anthropic")
    for tool, entry in zip(tools, entries, strict=True):
        if pinned is not None and isinstance(tool, ToolSpec) and tool.name not in pinned:
            entry["defer_loading"] = True
    return to_json([*entries, *run_there])


def _tool(tool: ToolSpec | HandoffSpec, strict: bool) -> JsonObject:
    if isinstance(tool, ToolSpec) and tool.kind in CLIENT_TOOLS:
        kind, name = CLIENT_TOOLS[tool.kind]
        return {"type": kind, "name": name, **tool.kind_settings}
    if isinstance(tool, ToolSpec) and tool.kind == "computer":
        return computer_entry(tool)
    encoded: JsonObject = {"name": tool.name, "description": function_description(tool), "input_schema": tool.parameters}
    if strict and tool.strict:
        encoded["strict"] = True
    return encoded
