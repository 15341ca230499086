"""`process_model_response`: a reply sorted into what the loop acts on."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import cast

import msgspec
from msgspec import Struct, structs

from agentsdk.types.errors import ModelBehaviorError
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse, OutputItem
from agentsdk.types.spec import OUTPUT_TOOL, AgentSpec, HandoffSpec, ToolSpec, handler_of, handoff_of
from agentsdk.types.text import clean_value


class ProcessedResponse(Struct, frozen=True, gc=False):
    """A reply's items by kind, each in the reply's order. `outputs` are the calls whose arguments are the final output."""

    messages: tuple[Message, ...] = ()
    reasoning: tuple[Reasoning, ...] = ()
    provider_items: tuple[ProviderItem, ...] = ()
    functions: tuple[tuple[FunctionCall, ToolSpec], ...] = ()
    handoffs: tuple[tuple[FunctionCall, HandoffSpec], ...] = ()
    unknown: tuple[FunctionCall, ...] = ()
    unhandled: tuple[FunctionCall, ...] = ()
    outputs: tuple[FunctionCall, ...] = ()

    @property
    def has_calls(self) -> bool:
        """Whether anything was called, known or not, but for the final output."""
        return bool(self.functions or self.handoffs or self.unknown or self.unhandled)

    @property
    def text(self) -> str:
        """The last message's text: of two messages the last one is the answer."""
        return self.messages[-1].text if self.messages else ""

    @property
    def answer(self) -> str:
        """What may be the final output: the first that was given by a call, or else the last message's text."""
        return self.outputs[0].arguments if self.outputs else self.text

    @property
    def refusal(self) -> str:
        """The refusal's text, or `""`."""
        return "".join(map(_refusal_of, self.messages))


_refusal_of: Callable[[Message], str] = attrgetter("refusal")


def process_model_response(spec: AgentSpec, reply: ModelResponse) -> ProcessedResponse:
    """Sort `reply` by what `spec` knows.

    A function's call to a name that `spec` does not know is kept as unknown, and a call of another kind for which it has no
    tool as unhandled, never dropped.
    """
    if len(reply.output) == 1 and isinstance(only := reply.output[0], Message):
        return ProcessedResponse((only,))  # what most runs end with
    messages: list[Message] = []
    reasoning: list[Reasoning] = []
    provider_items: list[ProviderItem] = []
    functions: list[tuple[FunctionCall, ToolSpec]] = []
    handoffs: list[tuple[FunctionCall, HandoffSpec]] = []
    unknown: list[FunctionCall] = []
    unhandled: list[FunctionCall] = []
    outputs: list[FunctionCall] = []
    has_output_tool = spec.output is not None and spec.output.mode == "tool"
    for item in reply.output:
        if isinstance(item, FunctionCall):
            if has_output_tool and item.name == OUTPUT_TOOL and item.kind == "function":
                outputs.append(item)
            elif (tool := handler_of(item, spec.tools)) is not None:
                functions.append((item, tool))
            elif item.kind != "function":
                unhandled.append(item)
            elif (handoff := handoff_of(item, spec.handoffs)) is not None:
                handoffs.append((item, handoff))
            else:
                unknown.append(item)
        elif isinstance(item, Message):
            messages.append(item)
        elif isinstance(item, Reasoning):
            reasoning.append(item)
        else:
            provider_items.append(item)
    return ProcessedResponse(
        tuple(messages),
        tuple(reasoning),
        tuple(provider_items),
        tuple(functions),
        tuple(handoffs),
        tuple(unknown),
        tuple(unhandled),
        tuple(outputs),
    )


def cleaned(reply: ModelResponse) -> ModelResponse:
    """The reply with its lone surrogates replaced, which no saved state could carry; the same object when there are none.

    A reply that holds what no reply may raises whatever Python or msgspec raise at that.
    """
    if all(map(_is_ascii, reply.output)):
        return reply
    try:
        _ = reply.text, msgspec.json.encode(reply)
    except UnicodeEncodeError:
        return msgspec.convert(clean_value(cast(object, msgspec.to_builtins(reply))), ModelResponse)
    return reply


def _is_ascii(item: OutputItem) -> bool:
    if isinstance(item, FunctionCall):
        # Unbound, as a text alone may stand there: bytes can tell as well.
        plain = str.isascii(item.arguments) and str.isascii(item.name) and str.isascii(item.call_id)
        return plain and not (item.namespace or item.caller)
    return isinstance(item, Message) and isinstance(item.content, str) and item.content.isascii()


def is_empty(reply: ModelResponse) -> bool:
    """Whether a reply holds neither text, media, refusal nor call: nothing a turn could resolve."""
    for item in reply.output:
        if isinstance(item, Message):
            if item.text.strip() or item.refusal or item.has_media:
                return False
        elif isinstance(item, FunctionCall) or (isinstance(item, ProviderItem) and item.has_media):
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
    numbers: dict[str, int] = {}  # the last of each id, none looked at twice
    for item in reply.output:
        if type(item) is not FunctionCall:
            output.append(item)
            continue
        twin = seen.get(item.call_id) if item.call_id else None
        if twin is not None:
            if structs.replace(twin, id="") != structs.replace(item, id=""):
                raise ModelBehaviorError(
                    f"the model gave the call id {item.call_id!r} to two different calls ({twin.name!r} and {item.name!r}), "
                    "expected one id per call; none of them was run: ask again, or use another model"
                )
            continue
        if item.call_id:
            seen[item.call_id] = item
        call = item
        if not item.call_id or item.call_id in used:
            base = item.call_id or "call"
            # Not from 1: a model that repeats its ids would make each turn look through all before it.
            number = numbers.get(base, len(used)) + 1
            while (call_id := f"{base}-{number}") in used or call_id in given:
                number += 1
            numbers[base] = number
            call = structs.replace(item, call_id=call_id)
            given.add(call_id)
        output.append(call)
    return structs.replace(reply, output=tuple(output))
