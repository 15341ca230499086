"""Items: what a conversation is made of, in the shape of the Responses API whatever the provider.

```
Item = Message | FunctionCall | FunctionCallOutput | Reasoning | ProviderItem
```
An item is never changed. `to_input_list()` gives the same shapes as plain dicts, and `items_from_input` takes both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, cast

import msgspec

from agentsdk.types.base import JsonObject, Value
from agentsdk.types.errors import AgentsException, UserError
from agentsdk.types.text import clean_text, clean_value

Role = Literal["user", "assistant", "system", "developer"]

CallKind = Literal["function", "shell", "apply_patch", "computer", "custom", "mcp_approval", "text_editor", "memory"]
"""What a call asks for. `FunctionCall.arguments` is a JSON object in each kind, whatever the provider's own form of it:

```
function      the arguments by name
custom        {"input": text}: the text that the model wrote
shell         {"commands": [...], "timeout_ms"?, "max_output_length"?}, or {"restart": true}
apply_patch   {"type": "create_file" | "update_file" | "delete_file", "path", "diff"?}
computer      {"actions": [{"type": "click", ...}, ...], "pending_safety_checks"?}
mcp_approval  what a tool of an MCP server, which the provider runs, would be called with
text_editor   {"command": "view" | "create" | "str_replace" | "insert", "path", ...}
memory        {"command": "view" | "create" | "str_replace" | "insert" | "delete" | "rename", "path"?, ...}
```
"""


class InputText(Value, tag="input_text"):
    """Text from the user or a tool."""

    text: str
    type: ClassVar[Literal["input_text"]] = "input_text"


class InputImage(Value, tag="input_image"):
    """An image: `image_url` is a `data:` URL or an address that the provider, never the SDK, opens; or its `file_id`."""

    image_url: str = ""
    file_id: str = ""
    detail: Literal["auto", "low", "high"] = "auto"
    type: ClassVar[Literal["input_image"]] = "input_image"


class InputAudio(Value, tag="input_audio"):
    """Base64 audio, `format` being `"wav"`, `"mp3"` and so on."""

    data: str
    format: str
    type: ClassVar[Literal["input_audio"]] = "input_audio"


class InputFile(Value, tag="input_file"):
    """A file: base64 `file_data` (a `data:` URL), an address the provider opens, or the provider's own `file_id`."""

    file_data: str = ""
    file_url: str = ""
    file_id: str = ""
    filename: str = ""
    type: ClassVar[Literal["input_file"]] = "input_file"


class InputVideo(Value, tag="input_video"):
    """A video: `video_url` is a `data:` URL or an address that the provider, never the SDK, opens; or its `file_id`."""

    video_url: str = ""
    file_id: str = ""
    type: ClassVar[Literal["input_video"]] = "input_video"


class OutputText(Value, tag="output_text"):
    """Text written by the model, with the provider's annotations (citations) untouched."""

    text: str
    annotations: tuple[JsonObject, ...] = ()
    type: ClassVar[Literal["output_text"]] = "output_text"


class Refusal(Value, tag="refusal"):
    """The model's refusal to answer."""

    refusal: str
    type: ClassVar[Literal["refusal"]] = "refusal"


Media = InputImage | InputAudio | InputFile | InputVideo
Part = InputText | InputImage | InputAudio | InputFile | InputVideo | OutputText | Refusal
"""One part of a message's content, or of a tool's result."""


class Message(Value, tag="message"):
    """A message; `content` is text, or parts where it is more than text.

    `phase` is the provider's word for what the message is to the turn (`"commentary"`, `"final_answer"`), and goes back to it.
    `untrusted`: it is not from who may tell the model what to do, and taints the run. No provider is told.
    """

    role: Role
    content: str | tuple[Part, ...]
    id: str = ""
    phase: str = ""
    untrusted: bool = False
    type: ClassVar[Literal["message"]] = "message"

    @property
    def text(self) -> str:
        """All text of the message joined; images, files and refusals are left out."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, InputText | OutputText))

    @property
    def refusal(self) -> str:
        """The refusal's text, or `""`."""
        if isinstance(self.content, str):
            return ""
        return "".join(part.refusal for part in self.content if isinstance(part, Refusal))

    @property
    def has_media(self) -> bool:
        """Whether any part of it is an image, audio, a video or a file."""
        return not isinstance(self.content, str) and any(isinstance(part, Media) for part in self.content)


class Caller(Value, tag=False):
    """Who made a call, where it was not the model itself but a program that it wrote and the provider runs.

    `kind` is the provider's word for it, `id` that program's.
    """

    kind: str
    id: str


class FunctionCall(Value, tag="function_call"):
    """A call the model asks for. `call_id` is unique in its run; `arguments` is the model's JSON text, unchanged.

    `namespace` tells names apart that are not unique by themselves: the provider's set of tools, or the server, whose tool is
    called. A call of another `kind` than a function's has the kind as its name, or that of the custom or the server's tool.
    """

    call_id: str
    name: str
    arguments: str
    id: str = ""
    kind: CallKind = "function"
    namespace: str = ""
    caller: Caller | None = None
    type: ClassVar[Literal["function_call"]] = "function_call"


class FunctionCallOutput(Value, tag="function_call_output"):
    """The one result of a call: text, or parts where it is more than text. `kind`, `namespace` and `caller` are the call's.

    `untrusted`: it may hold what strangers wrote, and taints the run. No provider is told.
    """

    call_id: str
    output: str | tuple[Part, ...]
    is_error: bool = False
    kind: CallKind = "function"
    namespace: str = ""
    caller: Caller | None = None
    untrusted: bool = False
    type: ClassVar[Literal["function_call_output"]] = "function_call_output"


def output_of(
    call: FunctionCall, output: str | tuple[Part, ...], is_error: bool = False, untrusted: bool = False
) -> FunctionCallOutput:
    """The result of `call`."""
    return FunctionCallOutput(call.call_id, output, is_error, call.kind, call.namespace, call.caller, untrusted)


class Reasoning(Value, tag="reasoning"):
    """The model's reasoning, kept so that it can be replayed as its `provider` demands.

    `text` is what may be shown; `signature` and `encrypted` go back untouched to the same provider only.
    """

    text: str = ""
    summary: tuple[str, ...] = ()
    id: str = ""
    signature: str = ""
    encrypted: str = ""
    provider: str = ""
    type: ClassVar[Literal["reasoning"]] = "reasoning"


class ProviderItem(Value, tag="provider_item"):
    """An item only `provider` understands (activity of its own tools): kept whole and returned untouched to it."""

    provider: str
    data: JsonObject
    type: ClassVar[Literal["provider_item"]] = "provider_item"

    @property
    def has_media(self) -> bool:
        """Whether it holds an image that the model made."""
        data = self.data
        if data.get("type") == "image_generation_call":
            return bool(data.get("result"))
        outputs = data.get("outputs") if data.get("type") == "code_interpreter_call" else None
        return isinstance(outputs, list) and any(
            isinstance(one, dict) and cast(JsonObject, one).get("type") == "image" for one in cast("list[object]", outputs)
        )


Item = Message | FunctionCall | FunctionCallOutput | Reasoning | ProviderItem
"""One piece of a conversation."""

InputItem = Item | Mapping[str, object]
"""What `Runner.run` takes in a list: an item, or its dict."""


def items_from_input(given: str | Iterable[InputItem]) -> tuple[Item, ...]:
    """The items of a run's input, lone surrogates replaced.

    Raises `UserError` naming the position of an entry that is not an item.
    """
    if isinstance(given, str):
        return (Message("user", clean_text(given)),)
    if not isinstance(given, Iterable):
        raise UserError(f"the input is {type(given).__name__!r}, expected a str or items; pass one of them")
    try:
        entries = list(given)
    except AgentsException:
        raise
    except Exception as error:  # of an iterator of the caller's
        raise UserError(
            f"the input raised {type(error).__name__} while it was read, expected a str or items; pass a list of them"
        ) from error
    return tuple([_item(entry, position) for position, entry in enumerate(entries)])


def messages_from_input(given: str | Iterable[InputItem], where: str) -> tuple[Message, ...]:
    """What is added to a conversation that goes on: messages of any role but the assistant's.

    Raises `UserError` for anything else, naming `where` it was given.
    """
    messages: list[Message] = []
    for item in items_from_input(given):
        if not isinstance(item, Message) or item.role == "assistant":
            what = "an assistant's Message" if isinstance(item, Message) else f"a {type(item).__name__!r}"
            raise UserError(f"{where} was given {what}, expected a text or a user's or system's Message")
        messages.append(item)
    return tuple(messages)


def _item(entry: InputItem, position: int) -> Item:
    data: object
    if isinstance(entry, Message | FunctionCall | FunctionCallOutput | Reasoning | ProviderItem):
        data = entry
    elif isinstance(entry, Mapping):
        data = {"type": "message", **entry}
    else:
        raise UserError(
            f"input[{position}] is {type(entry).__name__!r}, expected an item or its dict; "
            "pass a str, Message('user', ...) or {'role': 'user', 'content': ...}"
        )
    try:
        item: Item = msgspec.convert(clean_value(msgspec.to_builtins(data)), Item)
        return item
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        raise UserError(
            f"input[{position}] is not an item: {error}; expected e.g. {{'role': 'user', 'content': ...}}"
        ) from error


def item_to_dict(item: Item) -> JsonObject:
    """The item as a plain dict, ready for `json.dumps`."""
    data: JsonObject = msgspec.to_builtins(item)
    return data
