"""From items to the messages of Converse, as bytes, each item encoded once.

```
Reasoning, Message(assistant), FunctionCall, ProviderItem     blocks of one assistant message, in their order
FunctionCallOutput, Message(user, system, developer)          blocks of one user message, results first
```
The API wants the results of all calls in the very next user message, so one reply and what answers it are encoded together.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import TypeGuard
from urllib.parse import unquote_to_bytes

from msgspec import Raw, Struct

from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import Body, Group, encode_growing, framed, to_json, usable_arguments, usable_name
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
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape

_NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_ID = 64
_NOT_IN_A_TITLE = re.compile(r"[^a-zA-Z0-9 ()\[\]-]+")
_FIRST = b'{"role":"user","content":[{"text":"(continued)"}]}'
_ASSISTANT = b'{"role":"assistant"'
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


class MessageEncoder(Struct, frozen=True):
    """Encodes for one `provider`: its own reasoning and items go back to it. Equal encoders share what is encoded.

    `calls_as_text`: the API takes calls and results only beside a declaration of tools; without one they are told as text.
    """

    provider: str
    calls_as_text: bool = False

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
        return position, list(self._messages(reply, answers)), True

    def _messages(self, reply: list[Item], answers: list[FunctionCallOutput | Message]) -> Iterator[JsonObject]:
        if reply:
            blocks = list(self._reply_blocks(reply))
            if blocks:
                yield {"role": "assistant", "content": blocks}
        else:  # only what a history begins with has no reply before it
            answers = list(dropwhile(_is_system, answers))
        calls = () if self.calls_as_text else [item.call_id for item in reply if isinstance(item, FunctionCall)]
        open_calls = dict.fromkeys(calls)
        results: list[JsonObject] = []
        rest: list[JsonObject] = []
        for item in answers:
            if isinstance(item, Message):
                rest.extend(_user_blocks(item))
            elif item.call_id in open_calls:
                del open_calls[item.call_id]
                results.append(_result(item))
            else:  # the API takes a result only next to its call
                rest.append({"text": f"Result of tool call {item.call_id}:"})
                rest.extend(_input_blocks(item.output))
        results.extend(_result(FunctionCallOutput(call_id, "(no result yet)")) for call_id in open_calls)
        content = results + rest
        if content or answers:  # a message without content is not taken
            yield {"role": "user", "content": content or [{"text": "(empty)"}]}

    def _reply_blocks(self, items: list[Item]) -> Iterator[JsonObject]:
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


def _is_system(item: Item) -> TypeGuard[Message]:
    return isinstance(item, Message) and item.role in ("system", "developer")


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


def _user_blocks(message: Message) -> Iterator[JsonObject]:
    """A user's message, or a system message that comes too late for the `system` field."""
    if message.role == "user":
        yield from _input_blocks(message.content)
    elif message.text.strip():
        yield {"text": f"<system>\n{message.text}\n</system>"}


def _input_blocks(content: str | tuple[Part, ...]) -> Iterator[JsonObject]:
    for part in (InputText(content),) if isinstance(content, str) else content:
        if isinstance(part, Media):
            yield _media(part)
            continue
        text = part.refusal if isinstance(part, Refusal) else part.text
        if text.strip():
            yield {"text": text}


def _result(item: FunctionCallOutput) -> JsonObject:
    content = list(_input_blocks(item.output)) or [{"text": "(empty)"}]
    result: JsonObject = {"toolUseId": _call_id(item.call_id), "content": content}
    if item.is_error:
        result["status"] = "error"
    return {"toolResult": result}


def _call_id(call_id: str) -> str:
    """An id the API takes; different ids stay different, as far as it has room for them."""
    return _NOT_IN_AN_ID.sub(lambda found: f"_{ord(found.group()):x}_", call_id)[-_MAX_ID:] or "call"


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


def encode_tools(tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
    """The `tools` of a `toolConfig`."""
    return to_json([_tool(tool) for tool in tools])


def _tool(tool: ToolSpec | HandoffSpec) -> JsonObject:
    spec: JsonObject = {"name": tool.name, "inputSchema": {"json": tool.parameters}}
    if description := function_description(tool):  # an empty one is not taken
        spec["description"] = description
    return {"toolSpec": spec}
