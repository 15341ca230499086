"""From items to the `contents` of `generateContent`, as bytes, each item encoded once.

```
Message(user, system, developer)                            {"role": "user", ...}: there is no other role
Reasoning, Message(assistant), FunctionCall, ProviderItem   {"role": "model", ...}: all parts of one turn, in their order
FunctionCallOutput                                          {"role": "user", ...}: the results of that turn, then their media
```
"""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence

from msgspec import Raw, Struct

from agentsdk.models.computer_actions import GOOGLE_FUNCTIONS
from agentsdk.models.google.calls import own_form, response_fields
from agentsdk.models.google.schema import to_google
from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import Body, Group, encode_growing, to_json, usable_arguments, usable_name
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    InputVideo,
    Item,
    Message,
    OutputText,
    Part,
    ProviderItem,
    Reasoning,
)
from agentsdk.types.spec import HandoffSpec, ToolSpec
from agentsdk.types.tape import Tape

UNSIGNED = "skip_thought_signature_validator"
"""What Google documents as the signature of a call that another model, or nobody, made: those it signed itself it checks."""
_NO_ANSWER = "interrupted, outcome unknown"
_ATTACHED = "(attached)"
_FILES = "https://generativelanguage.googleapis.com/v1beta/"


class ContentEncoder(Struct, frozen=True):
    """Encodes for one `provider`: reasoning and parts of its own tools go back only to the one they came from.

    `signs` is for models that refuse a turn whose first call has no signature. Equal encoders share what is encoded.
    """

    provider: str
    signs: bool = True

    def encode(self, items: Tape[Item], tail: Sequence[Item] = ()) -> Body:
        """The contents of `items` and `tail`, comma-separated. Raises `UserError` for a part that Google cannot take."""
        return encode_growing(self, items, tail, self._next)

    def _next(self, items: Sequence[Item], start: int) -> Group:
        """Where the group that begins at `start` ends, its contents, and whether another next item could have joined it."""
        item = items[start]
        if isinstance(item, Message) and item.role != "assistant":
            return start + 1, [{"role": "user", "parts": _parts(item.content)}], False
        if isinstance(item, FunctionCallOutput):  # no call before it asked for this result, so it becomes text
            return start + 1, [{"role": "user", "parts": _result_text_parts(item)}], False
        turn = _Turn(self.provider)
        position = start
        while position < len(items) and turn.add(items[position]):
            position += 1
        return position, turn.contents(signs=self.signs), not turn.answered


class _Turn:
    """What the model said, and the results of its calls."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._parts: list[JsonObject] = []
        self._message_at = 0  # where the parts of the last message begin
        self._signature = ""  # of the call that comes next
        self._open: dict[str, str] = {}  # the names of calls without a result
        self._results: list[JsonObject] = []
        self._media: list[JsonObject] = []

    @property
    def answered(self) -> bool:
        """Whether it made calls and each has its result: nothing else belongs to the turn."""
        return bool(self._results) and not self._open

    def add(self, item: Item) -> bool:
        """Take an item; False if it is not of this turn."""
        if isinstance(item, FunctionCallOutput):
            return self._add_result(item)
        if self._results or (isinstance(item, Message) and item.role != "assistant"):
            return False
        if isinstance(item, FunctionCall):
            self._add_call(item)
        elif isinstance(item, Message):
            self._message_at = len(self._parts)
            self._parts.extend(_parts(item.content) if item.text or item.has_media or item.refusal else ())
        elif item.provider == self._provider:
            if isinstance(item, ProviderItem):
                self._add_apart(dict(item.data))
            else:
                self._add_reasoning(item)
        return True

    def _add_apart(self, part: JsonObject) -> None:
        """Take a part that is none of a message's: the message before it, if any, has ended."""
        self._parts.append(part)
        self._message_at = len(self._parts)

    def _add_reasoning(self, item: Reasoning) -> None:
        kind, _, number = item.id.partition(":")
        if kind == "call":
            self._signature = item.signature
        elif kind == "part" and number.isdecimal():
            at = self._message_at + int(number)
            if at >= len(self._parts):
                self._parts.append({"text": ""})
            self._parts[min(at, len(self._parts) - 1)]["thoughtSignature"] = item.signature
        else:
            signed: JsonObject = {"thoughtSignature": item.signature} if item.signature else {}
            self._add_apart({"text": item.text, "thought": True, **signed})

    def _add_call(self, item: FunctionCall) -> None:
        if item.call_id in self._open:
            return  # two results of one call: the first counts
        arguments: object = Raw(usable_arguments(item.arguments).encode())
        name = usable_name(item.name)
        if (own := own_form(item)) is not None:
            name, arguments = own
        part: JsonObject = {"functionCall": {"id": item.call_id, "name": name, "args": arguments}}
        if self._signature:
            part["thoughtSignature"], self._signature = self._signature, ""
        self._add_apart(part)
        self._open[item.call_id] = name

    def _add_result(self, item: FunctionCallOutput) -> bool:
        name = self._open.pop(item.call_id, None)
        if name is None:
            return False
        text, media = _split(item.output)
        if name in GOOGLE_FUNCTIONS and item.kind == "computer":
            shown = "" if text == _ATTACHED else text
            answer: JsonObject = {"id": item.call_id, "name": name, "response": response_fields(shown)}
            self._results.append({"functionResponse": {**answer, **({"parts": media} if media else {})}})
            return True
        self._results.append(_response(item.call_id, name, "error" if item.is_error else "output", text))
        if media:
            self._media.extend([{"text": f"From the result of tool call {item.call_id}:"}, *media])
        return True

    def contents(self, *, signs: bool) -> list[JsonObject]:
        """The model's content, and the user's with one result for each call."""
        for call_id, name in self._open.items():
            self._results.append(_response(call_id, name, "error", _NO_ANSWER))
        if signs and (first := next((part for part in self._parts if "functionCall" in part), None)):
            first.setdefault("thoughtSignature", UNSIGNED)
        sides = (("model", self._parts), ("user", [*self._results, *self._media]))
        return [{"role": role, "parts": parts} for role, parts in sides if parts]


def _response(call_id: str, name: str, key: str, text: str) -> JsonObject:
    return {"functionResponse": {"id": call_id, "name": name, "response": {key: text}}}


def _split(output: str | tuple[Part, ...]) -> tuple[str, list[JsonObject]]:
    """The text of a result, and its media."""
    parts = _parts(output)
    media = [part for part in parts if "text" not in part]
    return "\n".join(str(part["text"]) for part in parts if "text" in part) or (_ATTACHED if media else ""), media


def _result_text_parts(item: FunctionCallOutput) -> list[JsonObject]:
    text, media = _split(item.output)
    return [{"text": f"The result of tool call {item.call_id}: {text}"}, *media]


def _parts(content: str | tuple[Part, ...]) -> list[JsonObject]:
    """A content without any part is refused, so there is at least one."""
    if isinstance(content, str):
        return [{"text": content}]
    return [_part(part) for part in content] or [{"text": ""}]


def _part(part: Part) -> JsonObject:
    if isinstance(part, InputText | OutputText):
        return {"text": part.text}
    if isinstance(part, InputImage):
        return _media(part.image_url, part.file_id, "", "image/jpeg")
    if isinstance(part, InputAudio):
        return {"inlineData": {"mimeType": f"audio/{part.format}", "data": part.data}}
    if isinstance(part, InputVideo):
        return _media(part.video_url, part.file_id, "", "video/mp4")
    if isinstance(part, InputFile):
        return _media(part.file_data or part.file_url, part.file_id, part.filename, "application/octet-stream")
    return {"text": part.refusal}


def _media(source: str, file_id: str, filename: str, default: str) -> JsonObject:
    """Data that is sent along, or what Google fetches itself: an address, or a file of its Files API (`files/abc`)."""
    if source.startswith("data:"):
        head, comma, data = source[5:].partition(",")
        if not comma or not head.endswith(";base64"):
            raise UserError("a data: URL of an image or file is not base64, expected 'data:<type>;base64,<data>'; encode it so")
        return {"inlineData": {"mimeType": head.removesuffix(";base64").partition(";")[0] or default, "data": data}}
    if source and "://" not in source:
        return {"inlineData": {"mimeType": mimetypes.guess_type(filename)[0] or default, "data": source}}
    if not (source or file_id):
        raise UserError("an image or file has neither data, address nor file_id; give it one of them")
    address = source or (file_id if "://" in file_id else _FILES + file_id)
    file: JsonObject = {"fileUri": address}
    if kind := mimetypes.guess_type(filename or address.partition("?")[0])[0]:
        file["mimeType"] = kind
    return {"fileData": file}


def encode_tools(tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
    """The declarations of the `tools` field: of all but the computer tool, which has an entry of its own."""
    functions = [tool for tool in tools if not (isinstance(tool, ToolSpec) and tool.kind == "computer")]
    return to_json([_declaration(tool) for tool in functions])


def _declaration(tool: ToolSpec | HandoffSpec) -> JsonObject:
    return {"name": tool.name, "description": function_description(tool), "parametersJsonSchema": to_google(tool.parameters)}
