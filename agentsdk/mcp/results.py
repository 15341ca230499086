"""What the model gets of a call's result: its content blocks as parts, or its structured content as JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import cast

import msgspec

from agentsdk.core.json_schema import problems_with
from agentsdk.core.problems import list_problems
from agentsdk.ports.mcp import MCPToolResult
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import MCPCallError, MCPProtocolError
from agentsdk.types.items import InputAudio, InputFile, InputImage, InputText, Message, Part
from agentsdk.types.text import escaped, shortened

MAX_MEDIA = 20 * 2**20
"""The longest image, audio or file in bytes that is passed on."""

_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}


def output_of(
    server: str, tool: str, result: MCPToolResult, schema: JsonObject | None, prefer_structured: bool, limit: int | None
) -> str | tuple[Part, ...]:
    """The result of a call for the model: text where it is nothing but text.

    `limit` is the most characters of text, None for as many as the run takes. Raises `MCPCallError` for a result that is an
    error, `MCPProtocolError` for structured content that does not fit the tool's output schema.
    """
    parts = [part_of(block) for block in result.content]
    if result.is_error:
        text = _text(parts) or "it does not say why"
        raise MCPCallError(text, server=server)
    if schema is not None:
        _require_fitting(server, tool, schema, result.structured)
    if result.structured is not None and (prefer_structured or not parts):
        return _cut(msgspec.json.encode(result.structured).decode(), limit)
    if all(isinstance(part, InputText) for part in parts):
        return _cut(_text(parts), limit)
    return _cut_parts(parts, limit)


def _require_fitting(server: str, tool: str, schema: JsonObject, structured: object) -> None:
    problems = ["there is none"] if structured is None else problems_with(schema, structured)
    if problems:
        raise MCPProtocolError(
            f"the structured content that tool {tool!r} of MCP server {server!r} gave does not fit its output schema, so its "
            f"result is not used: {shortened(list_problems(problems), 500)}; the call itself has been carried out",
            server=server,
        )


def _text(parts: Sequence[Part]) -> str:
    return "\n".join([part.text for part in parts if isinstance(part, InputText)])


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    return f"{text[:limit]}\n[These are the first {limit:,} of {len(text):,} characters. The rest is not shown.]"


def _cut_parts(parts: Sequence[Part], limit: int | None) -> tuple[Part, ...]:
    if limit is None:
        return tuple(parts)
    left, kept = limit, list[Part]()
    for part in parts:
        if isinstance(part, InputText):
            kept.append(InputText(_cut(part.text, max(left, 0))))
            left -= len(part.text)
        else:
            kept.append(part)
    return tuple(kept)


def part_of(block: JsonObject) -> Part:
    """A content block of the protocol; what cannot be passed on is a text that says so."""
    match block:
        case {"type": "text", "text": str(text)}:
            return InputText(text)
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            return _media("image", data, kind, "")
        case {"type": "audio", "data": str(data), "mimeType": str(kind)}:
            return _media("audio", data, kind, "")
        case {"type": "resource", "resource": resource} if isinstance(resource, dict):
            return resource_part(cast(JsonObject, resource))
        case {"type": "resource_link", "uri": str(uri)}:
            named = f" ({block['name']})" if isinstance(block.get("name"), str) else ""
            says = f": {block['description']}" if isinstance(block.get("description"), str) else ""
            return InputText(f"[Resource {uri}{named}{says}]")
        case _:
            return InputText(f"[A content block of an unknown kind: {shortened(escaped(str(block.get('type'))), 50)!r}]")


def message_of(role: str, parts: Sequence[Part], *, untrusted: bool) -> Message:
    """A message of the protocol: of an assistant's its text."""
    if role == "assistant":
        texts = [part.text if isinstance(part, InputText) else "[what is not text is left out]" for part in parts]
        return Message("assistant", "\n".join(texts), untrusted=untrusted)
    only = parts[0] if len(parts) == 1 else None
    return Message("user", only.text if isinstance(only, InputText) else tuple(parts), untrusted=untrusted)


def resource_part(resource: JsonObject) -> Part:
    """The content of a resource."""
    uri = str(resource.get("uri", ""))
    match resource:
        case {"text": str(text)}:
            return InputText(f"[Resource {uri}]\n{text}")
        case {"blob": str(data)}:
            kind = str(resource.get("mimeType") or "application/octet-stream")
            return _media("image" if kind.startswith("image/") else "file", data, kind, uri)
        case _:
            return InputText(f"[Resource {uri}, which has no content]")


def _media(what: str, data: str, kind: str, uri: str) -> Part:
    """Base64 data as a part; as a text that says why where it cannot be passed on."""
    named = f" {uri}" if uri else ""
    if len(data) > MAX_MEDIA // 3 * 4 + 4:
        return InputText(f"[The {what}{named} has more than {MAX_MEDIA:,} bytes, so it is not shown.]")
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return InputText(f"[The {what}{named} cannot be read: its data is not base64.]")
    if not _is_media_type(kind):
        return InputText(f"[The {what}{named} cannot be read: it is of no known type.]")
    if what == "image":
        return InputImage(f"data:{kind};base64,{data}")
    if what == "audio":
        subtype = kind.partition("/")[2]
        return InputAudio(data, _FORMATS.get(subtype, subtype))
    return InputFile(file_data=f"data:{kind};base64,{data}", filename=uri.rpartition("/")[2] or "file")


def _is_media_type(kind: str) -> bool:
    major, slash, minor = kind.partition("/")
    return bool(slash) and all(part and part.isascii() and not set(part) & set(';, \t\r\n"') for part in (major, minor))
