"""Deltas and other stream events of a model: type strings and field names of the Responses stream, whatever the provider.

A model yields any number of deltas and then exactly one `ResponseCompleted`, which alone counts: deltas are for showing.
"""

from __future__ import annotations

from typing import ClassVar, Literal, dataclass_transform

from msgspec import Struct

from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import SpentAttempt


@dataclass_transform(frozen_default=True)
class Delta(Struct, frozen=True, gc=False):
    """Base of the raw stream events."""

    type: ClassVar[str]


class ResponseCreated(Delta):
    """The provider has begun to answer."""

    response_id: str = ""
    type: ClassVar[Literal["response.created"]] = "response.created"


class OutputItemAdded(Delta):
    """A new output item begins; its text or arguments are still empty."""

    item: Message | FunctionCall | Reasoning | ProviderItem
    output_index: int = 0
    type: ClassVar[Literal["response.output_item.added"]] = "response.output_item.added"


class OutputTextDelta(Delta):
    """A piece of the answer's text."""

    delta: str
    output_index: int = 0
    type: ClassVar[Literal["response.output_text.delta"]] = "response.output_text.delta"


class RefusalDelta(Delta):
    """A piece of a refusal."""

    delta: str
    output_index: int = 0
    type: ClassVar[Literal["response.refusal.delta"]] = "response.refusal.delta"


class ReasoningTextDelta(Delta):
    """A piece of the reasoning's text."""

    delta: str
    output_index: int = 0
    type: ClassVar[Literal["response.reasoning_text.delta"]] = "response.reasoning_text.delta"


class FunctionCallArgumentsDelta(Delta):
    """A piece of a call's JSON arguments."""

    delta: str
    output_index: int = 0
    type: ClassVar[Literal["response.function_call_arguments.delta"]] = "response.function_call_arguments.delta"


class OutputItemDone(Delta):
    """An output item is whole. A call in it is not yet proven: only `ResponseCompleted` says that the reply is."""

    item: Message | FunctionCall | Reasoning | ProviderItem
    output_index: int = 0
    type: ClassVar[Literal["response.output_item.done"]] = "response.output_item.done"


class AttemptDiscarded(Delta):
    """The attempt failed and is retried: whatever deltas it gave are void."""

    reason: str
    type: ClassVar[Literal["response.attempt_discarded"]] = "response.attempt_discarded"


class ResponseCompleted(Delta):
    """The reply, whole: the last event of every successful stream. `attempts` are the requests before it that failed."""

    response: ModelResponse
    attempts: tuple[SpentAttempt, ...] = ()
    type: ClassVar[Literal["response.completed"]] = "response.completed"


ModelStreamEvent = (
    ResponseCreated
    | OutputItemAdded
    | OutputTextDelta
    | RefusalDelta
    | ReasoningTextDelta
    | FunctionCallArgumentsDelta
    | OutputItemDone
    | AttemptDiscarded
    | ResponseCompleted
)
"""What a model sends while it answers."""
