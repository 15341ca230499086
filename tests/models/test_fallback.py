"""The next model where one fails, and nothing of the failed one in the reply."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, OutputTextDelta, Runner
from agentsdk.events import AttemptDiscarded
from agentsdk.models.fallback import FallbackModel
from agentsdk.testing import ScriptedModel
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import IncompleteResponseError, ModelError, RateLimitError, UserError
from agentsdk.types.response import ModelResponse

pytestmark = pytest.mark.anyio


class Cut:
    """Says some words, then breaks off."""

    name = "cut"

    async def stream(self, request: Any) -> Any:
        yield OutputTextDelta("never mi")
        raise IncompleteResponseError("cut", partial="never mi")


async def events_of(model: Any) -> list[ModelStreamEvent]:
    run = Runner.run_streamed(Agent("main", model=model), "go")
    return [event.data async for event in run if event.type == "raw_response_event"]  # type: ignore[union-attr]


async def test_the_next_model_answers_where_one_fails() -> None:
    spare = ScriptedModel(["hello"])
    model = FallbackModel(ScriptedModel([RateLimitError("slow down", status=429)]), spare)
    assert (await Runner.run(Agent("main", model=model), "go")).final_output == "hello"
    assert len(spare.requests) == 1


async def test_the_first_model_is_enough_when_it_answers() -> None:
    spare = ScriptedModel([])
    model = FallbackModel(ScriptedModel(["hello"]), spare)
    assert (await Runner.run(Agent("main", model=model), "go")).final_output == "hello"
    assert spare.requests == []


async def test_deltas_of_a_failed_model_are_said_to_be_void() -> None:
    events = await events_of(FallbackModel(Cut(), ScriptedModel(["hello"])))
    discarded = next(position for position, event in enumerate(events) if isinstance(event, AttemptDiscarded))
    assert [event.delta for event in events[:discarded] if isinstance(event, OutputTextDelta)] == ["never mi"]
    assert "".join(event.delta for event in events[discarded:] if isinstance(event, OutputTextDelta)) == "hello"
    assert isinstance(events[-1], ResponseCompleted) and events[-1].response.text == "hello"


async def test_the_last_error_is_raised_as_it_is() -> None:
    last = RateLimitError("slow down", status=429)
    with pytest.raises(RateLimitError) as caught:
        await Runner.run(Agent("main", model=FallbackModel(Cut(), ScriptedModel([last]))), "go")
    assert caught.value is last


async def test_which_errors_are_passed_on_can_be_chosen() -> None:
    def never(error: ModelError) -> bool:
        return False

    spare = ScriptedModel(["hello"])
    with pytest.raises(IncompleteResponseError):
        await Runner.run(Agent("main", model=FallbackModel(Cut(), spare, on_error=never)), "go")
    assert spare.requests == []


async def test_a_reply_can_be_refused() -> None:
    def long_enough(response: ModelResponse) -> bool:
        return len(response.text) > 3

    model = FallbackModel(ScriptedModel(["no"]), ScriptedModel(["certainly"]), accept=long_enough)
    assert (await Runner.run(Agent("main", model=model), "go")).final_output == "certainly"
    last = FallbackModel(ScriptedModel(["no"]), ScriptedModel(["na"]), accept=long_enough)
    assert (await Runner.run(Agent("main", model=last), "go")).final_output == "na"


def test_no_models_are_refused() -> None:
    with pytest.raises(UserError, match="no models"):
        FallbackModel()
