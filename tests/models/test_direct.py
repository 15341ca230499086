"""`respond`: one request without an agent, for any object that has what the `Model` protocol asks for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk import (
    AgentOutputSchema,
    Message,
    ModelError,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    Usage,
    UserError,
    function_tool,
)
from agentsdk.errors import (
    ContentFilterError,
    EmptyResponseError,
    IncompleteResponseError,
    InvalidOutputError,
    ModelRefusalError,
)
from agentsdk.events import ResponseCompleted
from agentsdk.models import respond
from agentsdk.testing import FakeOpenAIServer, ScriptedModel, call
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.items import Refusal
from tests.models.wire import model_at

pytestmark = pytest.mark.anyio


class City(BaseModel):
    name: str


@function_tool
def look_up(city: str) -> str:
    """Look a city up."""
    raise AssertionError("nobody runs it")


async def test_one_reply_to_a_text() -> None:
    model = ScriptedModel(["Rome."])
    answer = await respond(model, "The capital of Italy?", instructions="Be brief.", settings=ModelSettings(temperature=0))
    assert (answer.final_output, answer.usage, answer.calls) == ("Rome.", Usage(1, 10, 5), ())
    (sent,) = model.requests
    assert (sent.instructions, sent.settings.temperature, len(sent.items)) == ("Be brief.", 0, 1)
    assert sent.request_id.endswith("-1") and not sent.stream


async def test_a_reply_of_a_type() -> None:
    answer = await respond(ScriptedModel(['{"name": "Rome"}']), "The capital of Italy?", output_type=City)
    assert answer.final_output.name == "Rome"


@pytest.mark.parametrize(("mode", "said"), [("prompted", '{"name": "Rome"}'), ("tool", call("final_result", name="Rome"))])
async def test_the_modes_of_an_output(mode: Any, said: Any) -> None:
    schema = AgentOutputSchema(City, mode=mode)
    if mode == "tool":
        assert schema.spec is not None
        said = call(schema.spec.tool.name, name="Rome")
    answer = await respond(ScriptedModel([said]), "The capital of Italy?", output_type=schema)
    assert answer.final_output == City(name="Rome")


async def test_calls_are_given_and_not_run() -> None:
    model = ScriptedModel([call("look_up", city="Rome")])
    answer = await respond(model, "Rome?", tools=[look_up])
    assert answer.final_output is None
    assert [(item.name, item.arguments) for item in answer.calls] == [("look_up", '{"city":"Rome"}')]
    assert [tool.name for tool in model.requests[0].tools] == ["look_up"]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (ModelResponse((Message("assistant", (Refusal("no"),)),), Usage(1, 2, 3)), ModelRefusalError),
        (ModelResponse((Message("assistant", "x"),), Usage(1, 2, 3), "content_filter"), ContentFilterError),
        (ModelResponse((Message("assistant", "half"),), Usage(1, 2, 3), "length"), IncompleteResponseError),
        (ModelResponse((), Usage(1, 2, 3)), EmptyResponseError),
    ],
)
async def test_a_reply_of_no_use_is_a_typed_error_with_its_cost(reply: ModelResponse, error: type[ModelError]) -> None:
    with pytest.raises(error) as caught:
        await respond(ScriptedModel([reply]), "go")
    assert caught.value.usage == Usage(1, 2, 3)


async def test_a_text_that_does_not_fit_the_type_is_a_typed_error() -> None:
    with pytest.raises(InvalidOutputError, match="does not fit 'City'") as caught:
        await respond(ScriptedModel(['{"name": 7}']), "go", output_type=City)
    assert caught.value.output == '{"name": 7}'


class Own:
    """No more than the protocol asks for."""

    name = "own"

    def __init__(self, *events: ModelStreamEvent, error: Exception | None = None) -> None:
        self.events, self.error, self.closed = events, error, False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        try:
            for event in self.events:
                yield event
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


async def test_any_model_will_do_and_is_closed() -> None:
    model = Own(ResponseCompleted(ModelResponse((Message("assistant", "hi"),))))
    assert (await respond(model, "go")).final_output == "hi" and model.closed


@pytest.mark.parametrize(
    ("model", "words"),
    [(Own(), "without ResponseCompleted"), (Own(error=OSError("x")), "raised OSError")],
    ids=["ends", "raises"],
)
async def test_a_model_that_breaks_the_protocol_is_a_model_error(model: Own, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        await respond(model, "go")
    assert model.closed


async def test_over_http() -> None:
    async with FakeOpenAIServer(["Rome."]) as server:
        assert (await respond(model_at(server), "The capital of Italy?")).final_output == "Rome."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": 7}, "model=7"),
        ({"input": 7}, "input"),
        ({"instructions": 7}, "instructions=7"),
        ({"tools": [7]}, "tools"),
        ({"output_type": 7}, "output_type=7"),
        ({"settings": 7}, "model_settings=7"),
    ],
)
async def test_what_is_given_wrong_is_a_user_error(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        await respond(**{"model": ScriptedModel([]), "input": "go", **arguments})
