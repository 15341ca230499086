"""From items to the messages of Converse, as bytes, each item encoded once."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote_to_bytes

from msgspec import Raw

from agentsdk.models.exchanges import ExchangeEncoder
from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import to_json, usable_arguments, usable_name
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    Item,
    Media,
    Message,
    OutputText,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec

_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_ID = 64
_NOT_IN_A_TITLE = re.compile(r"[^a-zA-Z0-9 ()\[\]-]+")
_FORMATS = {
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "image/jpg": "jpeg",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "video/3gpp": "three_gp",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
}


class MessageEncoder(ExchangeEncoder, frozen=True):
    """Encodes for Converse.

    `calls_as_text`: the API takes calls and results only beside a declaration of tools; without one they are told as text.
    """

    calls_as_text: bool = False

    def awaited(self, reply: Sequence[Item]) -> list[str]:
        """The ids of the calls that must have a result."""
        return [] if self.calls_as_text else ExchangeEncoder.awaited(self, reply)

    def text_block(self, text: str) -> JsonObject:
        """A text."""
        return {"text": text}

    def media_block(self, part: Media) -> JsonObject:
        """An image, a document, a sound or a video."""
        return _media(part)

    def result_block(self, item: FunctionCallOutput) -> JsonObject:
        """The result of a call."""
        content = list(self.input_blocks(item.output)) or [{"text": "(empty)"}]
        result: JsonObject = {"toolUseId": _call_id(item.call_id), "content": content}
        if item.is_error:
            result["status"] = "error"
        return {"toolResult": result}

    def reply_blocks(self, items: Sequence[Item]) -> Iterator[JsonObject]:
        """A reply of the model."""
        for item in items:
            match item:
                case Reasoning() if item.encrypted:
                    yield {"reasoningContent": {"redactedContent": item.encrypted}}
                case Reasoning():
                    told: JsonObject = {"text": item.text}
                    if item.signature:  # models that sign nothing take none back
                        told["signature"] = item.signature
                    yield {"reasoningContent": {"reasoningText": told}}
                case FunctionCall() if self.calls_as_text:
                    yield {"text": f"(Tool call {item.call_id}: {item.name} {usable_arguments(item.arguments)})"}
                case FunctionCall():
                    arguments = Raw(usable_arguments(item.arguments).encode())
                    yield {"toolUse": {"toolUseId": _call_id(item.call_id), "name": usable_name(item.name), "input": arguments}}
                case ProviderItem():
                    yield item.data
                case Message():
                    yield from _assistant_blocks(item)
                case _:
                    pass


def _assistant_blocks(message: Message) -> Iterator[JsonObject]:
    """What the assistant said; the API takes no blank text."""
    parts = (OutputText(message.content),) if isinstance(message.content, str) else message.content
    for part in parts:
        if isinstance(part, OutputText | InputText | Refusal):
            text = part.refusal if isinstance(part, Refusal) else part.text
            if text.strip():
                yield {"text": text}
        else:
            yield {"text": "(an attachment)"}


def _call_id(call_id: str) -> str:
    """An id the API takes; different ids stay different."""
    spelt = _NOT_IN_AN_ID.sub(lambda found: f"_{ord(found.group()):x}_", call_id) or "call"
    return spelt if len(spelt) <= _MAX_ID else hashlib.sha256(call_id.encode()).hexdigest()


def _media(part: Media) -> JsonObject:
    if isinstance(part, InputAudio):
        return {"audio": {"format": part.format, "source": {"bytes": part.data}}}
    if part.file_id:
        raise UserError("Bedrock keeps no files, expected the data or an s3:// address; leave file_id out and send one of them")
    if isinstance(part, InputFile):
        kind, source = _source(part.file_data or part.file_url, part.filename, "a file's file_data or file_url")
        if not kind.startswith(("image/", "video/")):
            title = _NOT_IN_A_TITLE.sub(" ", part.filename.rpartition(".")[0] or part.filename).strip() or "document"
            return {"document": {"format": _format(kind), "name": title, "source": source}}
    elif isinstance(part, InputImage):
        kind, source = _source(part.image_url, "", "an image's image_url")
    else:
        kind, source = _source(part.video_url, "", "a video's video_url")
    return {kind.partition("/")[0]: {"format": _format(kind), "source": source}}


def _format(kind: str) -> str:
    """The API's word for a media type."""
    return _FORMATS.get(kind) or kind.partition("/")[2]


def _source(url: str, filename: str, what: str) -> tuple[str, JsonObject]:
    """The media type of what `url` holds, and where it is."""
    if url.startswith("s3://"):
        import mimetypes

        kind = mimetypes.guess_type(filename or url)[0]
        if kind is None:
            raise UserError(f"{what} is an s3:// address whose ending tells no media type; write one that does, as a.png")
        return kind, {"s3Location": {"uri": url}}
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise UserError(
            f"{what} is neither a data: URL nor an s3:// address, all that Bedrock takes; load it, and send the data"
        )
    kind, *parameters = head.removeprefix("data:").split(";")
    if "base64" not in parameters:
        data = base64.b64encode(unquote_to_bytes(data)).decode()
    return kind.lower() or "text/plain", {"bytes": data}


def encode_tools(tools: Sequence[ToolSpec | HandoffSpec], *, strict: bool = False) -> bytes:
    """The `tools` of a `toolConfig`; with `strict` the model is held to the schemas of the strict ones."""
    return to_json([_tool(tool, strict) for tool in tools])


def text_format(output: OutputSpec) -> JsonObject:
    """What holds a reply to the schema of an output."""
    schema = {"schema": to_json(output.schema).decode(), "name": usable_name(output.name)}
    return {"type": "json_schema", "structure": {"jsonSchema": schema}}


def _tool(tool: ToolSpec | HandoffSpec, strict: bool) -> JsonObject:
    spec: JsonObject = {"name": tool.name, "inputSchema": {"json": tool.parameters}}
    if description := function_description(tool):  # an empty one is not taken
        spec["description"] = description
    if strict and tool.strict:
        spec["strict"] = True
    return {"toolSpec": spec}
