"""The deltas of a reply that came in one piece, for those who read a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import structs

from agentsdk.types.deltas import (
    FunctionCallArgumentsDelta,
    ModelStreamEvent,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ReasoningTextDelta,
    RefusalDelta,
    ResponseCreated,
)
from agentsdk.types.items import FunctionCall, Message, Reasoning
from agentsdk.types.response import ModelResponse


def deltas_of(response: ModelResponse) -> Iterable[ModelStreamEvent]:
    """The deltas a model would stream before `response`, text in words."""
    yield ResponseCreated(response.response_id)
    for index, item in enumerate(response.output):
        match item:
            case Message():
                yield OutputItemAdded(structs.replace(item, content=""), index)
                for word in words(item.text):
                    yield OutputTextDelta(word, index)
                if item.refusal:
                    yield RefusalDelta(item.refusal, index)
            case FunctionCall():
                yield OutputItemAdded(structs.replace(item, arguments=""), index)
                yield FunctionCallArgumentsDelta(item.arguments, index)
            case Reasoning():
                yield OutputItemAdded(structs.replace(item, text=""), index)
                for word in words(item.text):
                    yield ReasoningTextDelta(word, index)
            case _:
                yield OutputItemAdded(item, index)
        yield OutputItemDone(item, index)


def words(text: str) -> list[str]:
    """`text` split before each word; joined, the words are `text`."""
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)
