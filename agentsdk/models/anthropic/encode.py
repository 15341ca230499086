"""From items to Anthropic messages, as bytes, each item encoded once."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote_to_bytes

from agentsdk.models.anthropic.calls import CLIENT_TOOLS, call_block, client_tools, computer_entry, toolset_of
from agentsdk.models.exchanges import ExchangeEncoder
from agentsdk.models.hosted import check_names
from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import to_json
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
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, ToolSpec

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


class MessageEncoder(ExchangeEncoder, frozen=True):
    """Encodes for Anthropic's API."""

    def text_block(self, text: str) -> JsonObject:
        """A text."""
        return _text(text)

    def media_block(self, part: Media) -> JsonObject:
        """An image or a document."""
        return _media(part)

    def result_block(self, item: FunctionCallOutput) -> JsonObject:
        """The result of a call."""
        content = item.output if isinstance(item.output, str) else list(self.input_blocks(item.output))
        result: JsonObject = {"type": "tool_result", "tool_use_id": _call_id(item.call_id), "content": content}
        if item.is_error:
            result["is_error"] = True
        if toolset := toolset_of(item):
            result["toolset_name"] = toolset
        return result

    def reply_blocks(self, items: Sequence[Item]) -> Iterator[JsonObject]:
        """A reply of the model."""
        return _reply_blocks(items)


def _reply_blocks(items: Sequence[Item]) -> Iterator[JsonObject]:
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
