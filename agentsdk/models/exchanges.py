"""`ExchangeEncoder`: messages for APIs in which user and assistant take turns, and results are blocks of what follows a call.

```
Reasoning, Message(assistant), FunctionCall, ProviderItem     blocks of one assistant message, in their order
FunctionCallOutput, Message(user, system, developer)          blocks of one user message, results first
```
Such an API wants the results of all calls in the very next user message, so one reply and what answers it, an exchange, are
encoded together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from typing import TypeGuard

from msgspec import Struct

from agentsdk.models.prefix import Body, Group, encode_growing, framed, to_json
from agentsdk.types.base import JsonObject
from agentsdk.types.items import (
    FunctionCall,
    FunctionCallOutput,
    InputText,
    Item,
    Media,
    Message,
    Part,
    ProviderItem,
    Reasoning,
    Refusal,
)
from agentsdk.types.tape import Tape

_ASSISTANT = b'{"role":"assistant"'


class ExchangeEncoder(Struct, frozen=True):
    """Encodes for one `provider`: its own reasoning and items go back to it. Equal encoders share what is encoded.

    An API says what its blocks look like.
    """

    provider: str

    def text_block(self, text: str) -> JsonObject:
        """A text."""
        raise NotImplementedError

    def media_block(self, part: Media) -> JsonObject:
        """An image, a file and so on. Raises `UserError` for what the API cannot carry."""
        raise NotImplementedError

    def result_block(self, item: FunctionCallOutput) -> JsonObject:
        """The result of a call."""
        raise NotImplementedError

    def reply_blocks(self, items: Sequence[Item]) -> Iterator[JsonObject]:
        """A reply of the model."""
        raise NotImplementedError

    def awaited(self, reply: Sequence[Item]) -> list[str]:
        """The ids of the calls of a reply that must have a result."""
        return [item.call_id for item in reply if isinstance(item, FunctionCall)]

    def encode(self, items: Tape[Item], tail: Sequence[Item] = ()) -> Body:
        """The messages of `items` and `tail`, comma-separated. Raises `UserError` for a part that the API cannot carry."""
        messages = encode_growing(self, items, tail, self._exchange)
        if messages and not messages.startswith(_ASSISTANT):
            return messages
        first = to_json({"role": "user", "content": [self.text_block("(continued)")]})
        return framed(first + b",", messages) if messages else first

    def system(self, items: Iterable[Item]) -> list[str]:
        """The texts of the system and developer messages that a history begins with: they go into the `system` field."""
        texts: list[str] = []
        for item in items:
            if _is_system(item):
                texts.append(item.text)
            elif not (isinstance(item, Reasoning | ProviderItem) and item.provider != self.provider):
                break
        return texts

    def input_blocks(self, content: str | tuple[Part, ...]) -> Iterator[JsonObject]:
        """What a user or a tool said; no such API takes blank text."""
        for part in (InputText(content),) if isinstance(content, str) else content:
            if isinstance(part, Media):
                yield self.media_block(part)
                continue
            text = part.refusal if isinstance(part, Refusal) else part.text
            if text.strip():
                yield self.text_block(text)

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
            blocks = list(self.reply_blocks(reply))
            if blocks:
                yield {"role": "assistant", "content": blocks}
        else:  # only what a history begins with has no reply before it
            answers = list(dropwhile(_is_system, answers))
        open_calls = dict.fromkeys(self.awaited(reply))
        results: list[JsonObject] = []
        rest: list[JsonObject] = []
        for item in answers:
            if isinstance(item, Message):
                rest.extend(self._user_blocks(item))
            elif item.call_id in open_calls:
                del open_calls[item.call_id]
                results.append(self.result_block(item))
            else:  # the API takes a result only next to its call
                rest.append(self.text_block(f"Result of tool call {item.call_id}:"))
                rest.extend(self.input_blocks(item.output))
        results.extend(self.result_block(FunctionCallOutput(call_id, "(no result yet)")) for call_id in open_calls)
        content = results + rest
        if content or answers:  # a message without content is not taken
            yield {"role": "user", "content": content or [self.text_block("(empty)")]}

    def _user_blocks(self, message: Message) -> Iterator[JsonObject]:
        """A user's message, or a system message that comes too late for the `system` field."""
        if message.role == "user":
            yield from self.input_blocks(message.content)
        elif message.text.strip():
            yield self.text_block(f"<system>\n{message.text}\n</system>")


def _is_system(item: Item) -> TypeGuard[Message]:
    return isinstance(item, Message) and item.role in ("system", "developer")
