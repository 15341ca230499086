"""From items to chat messages, as bytes, each item encoded once.

```
Message(user, system, developer)        {"role": ..., "content": ...}
Reasoning* Message FunctionCall*        one assistant message: the content of one reply
FunctionCallOutput                      a tool message; as it carries text only, images and files follow in a user message
```
The encoded messages are kept in `Tape.derived` and grow with the tape: a turn encodes what is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, Struct

from agentsdk.models.plain_tools import function_description
from agentsdk.models.prefix import Body, Group, encode_growing, to_json, usable_arguments, usable_name
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
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
)
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape

EXTRA = "extra_content"
"""The field of calls and messages in which some servers keep what must come back: Gemini's thought signatures."""

_ATTACHED = "(attached in the next message)"


class MessageEncoder(Struct, frozen=True):
    """Encodes for one `provider`: reasoning goes back only to the one it came from. Equal encoders share what is encoded."""

    provider: str

    def encode(self, items: Tape[Item], tail: Sequence[Item] = ()) -> Body:
        """The messages of `items` and `tail`, comma-separated. Raises `UserError` for a part that chat cannot carry."""
        return encode_growing(self, items, tail, self._next)

    def _next(self, items: Sequence[Item], start: int) -> Group:
        """Where the group that begins at `start` ends, its messages, and whether another next item could have joined it."""
        item = items[start]
        if isinstance(item, FunctionCallOutput):
            return self._results(items, start)
        if isinstance(item, Message) and item.role != "assistant":
            return start + 1, [{"role": item.role, "content": _content(item.content)}], False
        return self._reply(items, start)

    def _results(self, items: Sequence[Item], start: int) -> Group:
        messages: list[JsonObject] = []
        attached: list[object] = []
        position = start
        while position < len(items) and isinstance(result := items[position], FunctionCallOutput):
            position += 1
            text, media = _split_result(result)
            messages.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
            if media:
                attached.append({"type": "text", "text": f"From the result of tool call {result.call_id}:"})
                attached.extend(map(_media_part, media))
            elif not attached:
                return position, messages, False
        return position, [*messages, {"role": "user", "content": attached}], True

    def _reply(self, items: Sequence[Item], start: int) -> Group:
        """The assistant message that begins at `start`: everything up to the next reply's reasoning or text.

        The API takes no message between calls and their results, so text after a call joins the text before it.
        """
        texts: list[str] = []
        calls: list[object] = []
        reasoning: list[Reasoning] = []
        refusal = ""
        extras: dict[str, object] = {}  # by what they come before: a call or the message
        spoke = False
        position = start
        while position < len(items):
            item = items[position]
            if isinstance(item, FunctionCallOutput) or (isinstance(item, Message) and item.role != "assistant"):
                break
            if isinstance(item, FunctionCall):
                calls.append(_call(item, extras.pop("tool_call", None)))
            elif isinstance(item, ProviderItem):
                if item.provider == self.provider and EXTRA in item.data:
                    kind = str(item.data.get("type"))
                    if kind == "message" and spoke and not calls:
                        break
                    extras[kind] = item.data[EXTRA]
            else:
                if spoke and not calls:
                    break
                if isinstance(item, Message):
                    spoke = True
                    refusal += item.refusal
                    texts.append(item.text)
                elif item.provider == self.provider:
                    reasoning.append(item)
            position += 1
        if not (spoke or calls or reasoning):
            return position, [], True
        text = "\n\n".join(filter(None, texts))
        message: JsonObject = {"role": "assistant", "content": text if text or not (calls or refusal) else None}
        if refusal:
            message["refusal"] = refusal
        if reasoning:
            _add_reasoning(message, reasoning, text)
        if calls:
            message["tool_calls"] = calls
        if "message" in extras:
            message[EXTRA] = extras["message"]
        return position, [message], True


def _call(item: FunctionCall, extra: object) -> JsonObject:
    function = {"name": usable_name(item.name), "arguments": usable_arguments(item.arguments)}
    call: JsonObject = {"id": item.call_id, "type": "function", "function": function}
    return call if extra is None else {**call, EXTRA: extra}


def _add_reasoning(message: JsonObject, reasoning: list[Reasoning], text: str) -> None:
    """Give reasoning back in the field it came in, which is its item's `id`."""
    joined = "".join(item.text for item in reasoning)
    for item in reasoning:
        if item.id == "content":
            parts: list[object] = [{"type": "thinking", "thinking": [{"type": "text", "text": joined}]}]
            message["content"] = [*parts, {"type": "text", "text": text}] if text else parts
        elif item.id in ("reasoning_content", "reasoning"):
            message[item.id] = joined
        if item.encrypted:
            message["reasoning_details"] = Raw(item.encrypted.encode())


def _content(content: str | tuple[Part, ...]) -> object:
    if isinstance(content, str):
        return content
    if len(content) == 1 and isinstance(part := content[0], InputText | OutputText):
        return part.text
    return [_part(part) for part in content]


def _part(part: Part) -> JsonObject:
    if isinstance(part, Media):
        return _media_part(part)
    return {"type": "text", "text": part.text if isinstance(part, InputText | OutputText) else part.refusal}


def _media_part(part: Media) -> JsonObject:
    if isinstance(part, InputImage):
        if not part.image_url:
            raise UserError(
                f"an image with file_id={part.file_id!r} cannot go over chat completions; give its image_url instead"
            )
        return {"type": "image_url", "image_url": {"url": part.image_url, "detail": part.detail}}
    if isinstance(part, InputAudio):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": part.format}}
    if isinstance(part, InputVideo):
        raise UserError("a video cannot go over chat completions; use GoogleModel, or send pictures of it")
    if part.file_id:
        return {"type": "file", "file": {"file_id": part.file_id}}
    if not part.file_data:
        raise UserError(f"the file {part.filename!r} has only a file_url, which chat completions do not take; give file_data")
    return {"type": "file", "file": {"file_data": part.file_data, "filename": part.filename or "file"}}


def _split_result(result: FunctionCallOutput) -> tuple[str, list[Media]]:
    if isinstance(result.output, str):
        return result.output, []
    texts: list[str] = []
    media: list[Media] = []
    for part in result.output:
        if isinstance(part, Media):
            media.append(part)
        else:
            texts.append(part.text if isinstance(part, InputText | OutputText) else part.refusal)
    return "\n".join(texts) or (_ATTACHED if media else ""), media


def encode_tools(tools: Sequence[ToolSpec | HandoffSpec]) -> bytes:
    """The `tools` field."""
    return to_json([{"type": "function", "function": _function(tool)} for tool in tools])


def _function(tool: ToolSpec | HandoffSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": function_description(tool), "parameters": tool.parameters}
    if tool.strict:
        function["strict"] = True
    return function


def encode_output(output: OutputSpec) -> bytes:
    """The `response_format` field."""
    schema = {"name": output.name, "schema": output.schema, "strict": output.strict}
    return to_json({"type": "json_schema", "json_schema": schema})
