"""`RetryingModel`: a model of one's own is asked again after what may pass, and not after what was shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from agentsdk import (
    Agent,
    Message,
    ModelError,
    ModelRequest,
    ModelSettings,
    OutputTextDelta,
    RateLimitError,
    RunConfig,
    Runner,
    Usage,
    UserError,
)
from agentsdk.errors import ModelConnectionError
from agentsdk.events import ResponseCompleted
from agentsdk.models import ModelRetrySettings, RetryingModel
from agentsdk.testing import FakeOpenAIServer, ScriptedModel, ServerReply
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.tape import Tape
from tests.models.wire import FakeClock, model_at

pytestmark = pytest.mark.anyio

REQUEST = ModelRequest(Tape((Message("user", "go"),)))


def busy(usage: Usage | None = None) -> RateLimitError:
    error = RateLimitError("busy", retryable=True)
    error.usage = usage
    return error


async def asked(model: Any, request: ModelRequest = REQUEST) -> ResponseCompleted:
    events = [event async for event in model.stream(request)]
    assert isinstance(events[-1], ResponseCompleted)
    return events[-1]


async def test_a_model_is_asked_again_after_what_may_pass() -> None:
    model, clock = ScriptedModel([busy(Usage(1, 3, 0)), busy(), "fine"]), FakeClock()
    completed = await asked(RetryingModel(model, clock=clock))
    assert (completed.response.text, [spent.usage for spent in completed.attempts]) == ("fine", [Usage(1, 3, 0)])
    assert len(model.requests) == 3 and len(clock.slept) == 2


async def test_a_run_pays_for_all_of_them() -> None:
    model = RetryingModel(ScriptedModel([busy(Usage(1, 3, 0)), "fine"]), clock=FakeClock())
    result = await Runner.run(Agent("main", model=model), "go")
    assert (result.final_output, result.usage) == ("fine", Usage(2, 13, 5))


async def test_retries_end() -> None:
    model = ScriptedModel([busy(), busy()])
    with pytest.raises(RateLimitError):
        await asked(RetryingModel(model, ModelRetrySettings(max_retries=1), clock=FakeClock()))
    assert len(model.requests) == 2


async def test_the_settings_of_a_run_come_first() -> None:
    model = ScriptedModel([busy()])
    agent = Agent[None, str]("main", model=RetryingModel(model, clock=FakeClock()))
    settings = ModelSettings(retry=ModelRetrySettings(max_retries=0))
    with pytest.raises(RateLimitError):
        await Runner.run(agent, "go", run_config=RunConfig(model_settings=settings))


async def test_what_will_not_pass_is_raised_at_once() -> None:
    model = ScriptedModel([ModelConnectionError("gone")])
    with pytest.raises(ModelConnectionError):
        await asked(RetryingModel(model, clock=FakeClock()))


async def test_a_rule_of_ones_own_says_what_may_pass() -> None:
    model = ScriptedModel([ModelError("odd"), "fine"])
    assert (await asked(RetryingModel(model, on_error=lambda error: True, clock=FakeClock()))).response.text == "fine"


async def test_nothing_that_was_shown_is_asked_for_again() -> None:
    class Half:
        name = "half"
        tries = 0

        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
            self.tries += 1
            yield OutputTextDelta("half")
            raise busy()

    model = Half()
    with pytest.raises(RateLimitError):
        await asked(RetryingModel(model, clock=FakeClock()))
    assert model.tries == 1


async def test_around_an_adapter_retries_do_not_multiply() -> None:
    async with FakeOpenAIServer([ServerReply(status=503)] * 9) as server:
        with pytest.raises(ModelError):
            await asked(RetryingModel(model_at(server), ModelRetrySettings(max_retries=2), clock=FakeClock()))
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": "gpt"}, "expected a model"),
        ({"model": ScriptedModel([]), "settings": 3}, "expected ModelRetrySettings"),
        ({"model": ScriptedModel([]), "on_error": 3}, "expected a callable"),
    ],
)
def test_what_is_given_wrong_is_a_user_error(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        RetryingModel(**arguments)


def test_its_repr_names_the_model() -> None:
    assert repr(RetryingModel(ScriptedModel([]))) == "RetryingModel(ScriptedModel(0 replies, 0 given))"
