"""`process_model_response`: a reply sorted into what the loop acts on."""

from __future__ import annotations

from typing import cast

import msgspec
from msgspec import Struct

from agentsdk.types.errors import ModelBehaviorError
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.spec import AgentSpec, HandoffSpec, ToolSpec
from agentsdk.types.text import clean_value


class ProcessedResponse(Struct, frozen=True, gc=False):
    """A reply's items by kind, each in the reply's order."""

    messages: tuple[Message, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    provider_items: tuple[ProviderItem, ...] = ()
    functions: tuple[tuple[FunctionCall, ToolSpec], ...] = ()
    handoffs: tuple[tuple[FunctionCall, HandoffSpec], ...] = ()
    unknown: tuple[FunctionCall, ...] = ()

    @property
    def has_calls(self) -> bool:
        """Whether anything was called, known or not."""
        return bool(self.functions or self.handoffs or self.unknown)

    @property
    def text(self) -> str:
        """The last message's text: of two messages the last one is the answer."""
        return self.messages[-1].text if self.messages else ""

    @property
    def refusal(self) -> str:
        """The refusal's text, or `""`."""
        text = ""
        for message in self.messages:
            text += message.refusal
        return text


def process_model_response(spec: AgentSpec, reply: ModelResponse) -> ProcessedResponse:
    """Sort `reply` by what `spec` knows. A call to a name that `spec` does not know is kept as unknown, never dropped."""
    messages: tuple[Message, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    provider_items: tuple[ProviderItem, ...] = ()
    functions: list[tuple[FunctionCall, ToolSpec]] = []
    handoffs: tuple[tuple[FunctionCall, HandoffSpec], ...] = ()
    unknown: tuple[FunctionCall, ...] = ()
    for item in reply.output:
        if isinstance(item, FunctionCall):
            if (tool := spec.tools.get(item.name)) is not None:
                functions.append((item, tool))
            elif (handoff := spec.handoffs.get(item.name)) is not None:
                handoffs += ((item, handoff),)
            else:
                unknown += (item,)
        elif isinstance(item, Message):
            messages += (item,)
        elif isinstance(item, Reasoning):
            reasoning += (item,)
        else:
            provider_items += (item,)
    return ProcessedResponse(messages, reasoning, provider_items, tuple(functions), handoffs, unknown)


def cleaned(reply: ModelResponse) -> ModelResponse:
    """The reply with its lone surrogates replaced, which no saved state could carry; the same object when there are none."""
    if all(map(_is_ascii, reply.output)):
        return reply
    try:
        msgspec.json.encode(reply)
    except UnicodeEncodeError:
        return msgspec.convert(clean_value(cast(object, msgspec.to_builtins(reply))), ModelResponse)
    return reply


def _is_ascii(item: OutputItem) -> bool:
    if isinstance(item, FunctionCall):
        return item.arguments.isascii() and item.name.isascii() and item.call_id.isascii()
    return isinstance(item, Message) and isinstance(item.content, str) and item.content.isascii()


def is_empty(reply: ModelResponse) -> bool:
    """Whether a reply holds neither text, refusal nor call: nothing a turn could resolve."""
    for item in reply.output:
        if isinstance(item, FunctionCall) or (isinstance(item, Message) and (item.text.strip() or item.refusal)):
            return False
    return True


def with_unique_calls(reply: ModelResponse, used: set[str]) -> ModelResponse:
    """The reply with every call id unique in the run, whose ids so far are `used`.

    Of one id twice in the reply, the same call counts once. An id of an earlier turn, or none, is replaced by a new one.
    Raises `ModelBehaviorError` for one id on two different calls: which of them was meant cannot be known.
    """
    ids = [item.call_id for item in reply.output if type(item) is FunctionCall]
    if not ids:
        return reply
    given = set(ids)
    if len(given) == len(ids) and "" not in given and used.isdisjoint(given):
        return reply
    seen: dict[str, FunctionCall] = {}
    output: list[OutputItem] = []
    for item in reply.output:
        if type(item) is not FunctionCall:
            output.append(item)
            continue
        twin = seen.get(item.call_id) if item.call_id else None
        if twin is not None:
            if (twin.name, twin.arguments) != (item.name, item.arguments):
                raise ModelBehaviorError(
                    f"the model gave the call id {item.call_id!r} to two different calls ({twin.name!r} and {item.name!r}), "
                    "expected one id per call; none of them was run: ask again, or use another model"
                )
            continue
        if item.call_id:
            seen[item.call_id] = item
        call = item
        if not item.call_id or item.call_id in used:
            call = FunctionCall(_unused(item.call_id or "call", used, given), item.name, item.arguments, item.id)
            given.add(call.call_id)
        output.append(call)
    return ModelResponse(tuple(output), reply.usage, reply.finish, reply.response_id, reply.model)


def _unused(call_id: str, used: set[str], given: set[str]) -> str:
    number = len(used) + 1  # not from 1: a model that repeats its ids would make each turn look through all before it
    while (candidate := f"{call_id}-{number}") in used or candidate in given:
        number += 1
    return candidate
