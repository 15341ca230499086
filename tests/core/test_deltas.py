"""A whole reply as the deltas that a model would have streamed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentsdk.core.deltas import deltas_of, words
from agentsdk.types.deltas import (
    FunctionCallArgumentsDelta,
    OutputItemAdded,
    OutputItemDone,
    OutputTextDelta,
    ReasoningTextDelta,
    RefusalDelta,
    ResponseCreated,
)
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import ModelResponse


@given(st.text(alphabet="ab \n\té"))
def test_words_joined_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text
    assert all(words(text))


def test_each_item_is_added_grows_and_is_done() -> None:
    said, refused = Message("assistant", "one two"), Message("assistant", (Refusal("no"),))
    called, thought, own = FunctionCall("c", "f", "{}"), Reasoning(text="why not"), ProviderItem("p", {"type": "x"})
    response = ModelResponse((said, called, thought, refused, own), response_id="r")
    assert list(deltas_of(response)) == [
        ResponseCreated("r"),
        OutputItemAdded(Message("assistant", ""), 0),
        OutputTextDelta("one", 0),
        OutputTextDelta(" two", 0),
        OutputItemDone(said, 0),
        OutputItemAdded(FunctionCall("c", "f", ""), 1),
        FunctionCallArgumentsDelta("{}", 1),
        OutputItemDone(called, 1),
        OutputItemAdded(Reasoning(text=""), 2),
        ReasoningTextDelta("why", 2),
        ReasoningTextDelta(" not", 2),
        OutputItemDone(thought, 2),
        OutputItemAdded(Message("assistant", ""), 3),
        RefusalDelta("no", 3),
        OutputItemDone(refused, 3),
        OutputItemAdded(own, 4),
        OutputItemDone(own, 4),
    ]
