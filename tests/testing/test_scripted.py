from __future__ import annotations

from typing import Any

import pytest

from agentsdk.ports.model import ModelRequest
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import USAGE
from agentsdk.types.deltas import ModelStreamEvent, OutputTextDelta, ResponseCompleted
from agentsdk.types.errors import RateLimitError, UserError
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning, Refusal
from agentsdk.types.response import ModelResponse
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage


async def events_of(model: ScriptedModel, *, stream: bool = False) -> list[ModelStreamEvent]:
    return [event async for event in model.stream(ModelRequest(Tape(), stream=stream))]


async def response_of(model: ScriptedModel) -> ModelResponse:
    (event,) = await events_of(model)
    assert isinstance(event, ResponseCompleted)
    return event.response


@pytest.mark.anyio
async def test_forms_of_a_reply() -> None:
    async def later(request: ModelRequest) -> Any:
        return lambda request: f"after {len(request.items)}"

    own = ModelResponse((Message("assistant", "own"),), Usage(1, 7, 7), "length", "id", "m")
    model = ScriptedModel(
        ["text", Message("assistant", "item"), [Reasoning("r"), call("f", a="é")], own, later, "", ModelResponse((call("g"),))]
    )
    replies = [await response_of(model) for _ in range(7)]
    assert [reply.text for reply in replies] == ["text", "item", "", "own", "after 0", "", ""]
    assert replies[2].output == (Reasoning("r"), FunctionCall("call_3_1", "f", '{"a":"é"}'))
    assert [reply.finish for reply in replies] == ["stop", "stop", "tool_calls", "length", "stop", "stop", "stop"]
    assert replies[3] == own
    assert replies[5].output == ()
    assert replies[6].output == (FunctionCall("call_7_1", "g", "{}"),)
    assert {reply.usage for reply in replies} == {USAGE, own.usage}
    assert len(model.requests) == 7


@pytest.mark.anyio
async def test_exceptions_are_raised() -> None:
    model = ScriptedModel([RateLimitError("slow down"), lambda request: KeyboardInterrupt()])
    with pytest.raises(RateLimitError):
        await response_of(model)
    with pytest.raises(KeyboardInterrupt):
        await response_of(model)


@pytest.mark.anyio
async def test_the_end_of_the_script_is_told() -> None:
    model = ScriptedModel(["one"], name="mine")
    await response_of(model)
    with pytest.raises(UserError, match="'mine' was asked for reply number 2, but its script has 1"):
        await response_of(model)
    assert repr(model) == "ScriptedModel(1 replies, 2 given)"


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", [5, [5], ["text", "in a list"], None])
async def test_a_wrong_reply_is_told(wrong: Any) -> None:
    with pytest.raises(UserError, match="expected a str, items"):
        await response_of(ScriptedModel([wrong]))


@pytest.mark.anyio
async def test_a_stream() -> None:
    said = [Reasoning("hm so"), Message("assistant", "one two"), call("f"), ProviderItem("p", {})]
    events = await events_of(ScriptedModel([said]), stream=True)
    assert [event.type.removeprefix("response.") for event in events] == [
        "created",
        *("output_item.added", "reasoning_text.delta", "reasoning_text.delta", "output_item.done"),
        *("output_item.added", "output_text.delta", "output_text.delta", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "output_item.done"),
        *("output_item.added", "output_item.done"),
        "completed",
    ]
    assert "".join(event.delta for event in events if isinstance(event, OutputTextDelta)) == "one two"


@pytest.mark.anyio
async def test_a_streamed_refusal() -> None:
    events = await events_of(ScriptedModel([Message("assistant", (Refusal("no"),))]), stream=True)
    assert "response.refusal.delta" in [event.type for event in events]


@pytest.mark.parametrize("reply", ["Hello.", call("pay", amount=3)], ids=["a text", "a call"])
def test_a_reply_in_place_of_a_script_is_refused(reply: Any) -> None:
    with pytest.raises(
        UserError, match=r"^ScriptedModel was given a '\w+', expected a list of replies; write \[...\] around it$"
    ):
        ScriptedModel(reply)
