"""A reply made in the background outlives its connection, and is cancelled when nobody wants it any more."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agentsdk import Agent, Runner
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import CapturedRequest, FakeServer, ServerReply
from agentsdk.testing.responses_dialect import FakeResponsesServer, ResponsesDialect
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import AttemptDiscarded, OutputTextDelta, ResponseCompleted
from agentsdk.types.errors import (
    IncompleteResponseError,
    NotFoundError,
    ProviderUnavailableError,
    RateLimitError,
    UserError,
)
from agentsdk.types.items import Message, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelRetrySettings
from tests.models.openai_responses.server import model_at
from tests.models.wire import FakeClock, ask, events_of, reasoning_of, request, shown_text

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("streamed", [False, True])
SAID = "one two three four five"
REPLY = ModelResponse((Reasoning("hm", ("hm",), "rs_1"), Message("assistant", SAID, "msg_1")), response_id="resp_1")
EVENTS = cast("list[JsonObject]", ResponsesDialect().events(REPLY, {}))
IN_TEXT = next(number for number, event in enumerate(EVENTS) if event["type"] == "response.output_text.delta") + 1
CANCELLED = ServerReply(body={"id": "resp_1", "status": "cancelled"})


def model_of(server: FakeServer, **options: Any) -> OpenAIResponsesModel:
    return model_at(server, store=True, background=True, **options)


def rest(stops_after: int | None = None, then: Any = "end") -> Any:
    """What follows the number that the request names."""

    def answer(asked: CapturedRequest) -> ServerReply:
        number = int(asked.path.partition("starting_after=")[2])
        return ServerReply(events=EVENTS[number + 1 :], stops_after=stops_after, then=then)

    return answer


def first(stops_after: int, then: Any = "reset") -> ServerReply:
    return ServerReply(events=EVENTS, stops_after=stops_after, then=then)


def asked_of(server: FakeServer) -> list[str]:
    return [f"{one.method} {one.path.removeprefix('/v1/responses')}" for one in server.requests]


@BOTH
async def test_it_is_asked_for_and_streamed(streamed: bool) -> None:
    async with FakeResponsesServer([REPLY]) as server:
        response = await ask(model_of(server), request(stream=streamed))
        await server.requested(1)
    assert response.text == SAID
    sent = server.requests[0].json
    assert (sent["background"], sent["store"], sent["stream"]) == (True, True, True)
    assert asked_of(server) == ["POST "], "what is whole is not cancelled"


@BOTH
@pytest.mark.parametrize("then", ["reset", "end"])
@pytest.mark.parametrize("cut", range(1, len(EVENTS)))
async def test_a_stream_that_breaks_anywhere_is_taken_up_there(cut: int, then: str, streamed: bool) -> None:
    async with FakeResponsesServer([first(cut, then), rest()]) as server:
        events = await events_of(model_of(server), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert (last.response.text, reasoning_of(last.response)) == (SAID, "hm")
    assert asked_of(server) == ["POST ", f"GET /resp_1?stream=true&starting_after={cut - 1}"]
    assert shown_text(events) == (SAID if streamed else "")
    assert not any(isinstance(event, AttemptDiscarded) for event in events)
    assert "idempotency-key" not in server.requests[1].headers
    assert server.requests[1].headers["authorization"] == server.requests[0].headers["authorization"]


async def test_what_came_already_does_not_count_twice() -> None:
    async with FakeResponsesServer([first(IN_TEXT), ServerReply(events=EVENTS)]) as server:
        events = await events_of(model_of(server), request(stream=True))
    assert shown_text(events) == SAID


async def test_retries_count_anew_with_everything_that_comes() -> None:
    clock = FakeClock()
    retry = ModelRetrySettings(max_retries=1)
    script = [first(2), *(rest(1, "reset") for _ in EVENTS[2:])]
    async with FakeResponsesServer(script) as server:
        assert (await ask(model_of(server, retry=retry, clock=clock), request(stream=True))).text == SAID
    assert len(server.requests) == len(EVENTS) - 1
    assert len(clock.slept) == len(EVENTS) - 2


async def test_a_stream_that_brings_nothing_more_is_given_up_and_cancelled() -> None:
    async with FakeResponsesServer([first(IN_TEXT), rest(0, "reset"), rest(0), CANCELLED]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_of(server), request(stream=True))
    assert caught.value.partial == "one"
    assert asked_of(server)[-1] == "POST /resp_1/cancel"
    assert len(server.requests) == 4


async def test_a_busy_server_is_asked_again_and_a_lost_reply_is_an_error() -> None:
    busy = ServerReply(status=503, body={"error": {"message": "busy"}})
    lost = ServerReply(status=404, body={"error": {"message": "no such response"}})
    async with FakeResponsesServer([first(4), busy, lost, CANCELLED]) as server:
        with pytest.raises(NotFoundError):
            await ask(model_of(server), request(stream=True))
    assert len(server.requests) == 4


async def test_a_longer_wait_than_allowed_is_an_error_at_once() -> None:
    clock = FakeClock()
    slow = ServerReply(status=429, headers={"retry-after": "999"}, body={"error": {"message": "slow"}})
    async with FakeResponsesServer([first(IN_TEXT), slow, CANCELLED]) as server:
        with pytest.raises(RateLimitError):
            await ask(model_of(server, clock=clock), request(stream=True))
    assert len(server.requests) == 3
    assert sum(clock.slept) < 1


async def test_a_failure_that_the_server_tells_is_final_for_that_reply() -> None:
    failed = {"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": {"code": "server_error"}}}
    script = [ServerReply(events=[*EVENTS[:8], cast(JsonObject, failed)])]
    async with FakeResponsesServer(script) as server:
        with pytest.raises(ProviderUnavailableError):
            await ask(model_of(server), request(stream=True))
    assert asked_of(server) == ["POST "]


async def test_a_silent_stream_is_taken_up_again() -> None:
    async with FakeResponsesServer([first(IN_TEXT, "stall"), rest()]) as server:
        model = model_of(server, timeouts=ModelTimeouts(idle=0.05))
        assert (await ask(model, request(stream=True))).text == SAID


async def test_events_without_numbers_cannot_be_resumed() -> None:
    bare = [{name: value for name, value in event.items() if name != "sequence_number"} for event in EVENTS]
    async with FakeResponsesServer([ServerReply(events=bare, stops_after=IN_TEXT, then="reset"), CANCELLED]) as server:
        with pytest.raises(IncompleteResponseError):
            await ask(model_of(server), request(stream=True))
    assert asked_of(server) == ["POST ", "POST /resp_1/cancel"]


async def test_a_cancelled_run_cancels_the_reply() -> None:
    async with FakeResponsesServer([first(IN_TEXT, "stall"), CANCELLED]) as server:
        agent = Agent("main", model=model_of(server))
        run = Runner.run_streamed(agent, "go")
        async for event in run.stream_events():
            if isinstance(getattr(event, "data", None), OutputTextDelta):
                run.cancel()
        await server.requested(2)
        assert asked_of(server)[1] == "POST /resp_1/cancel"


async def test_leaving_a_stream_cancels_the_reply_even_if_that_fails() -> None:
    async with FakeResponsesServer([first(IN_TEXT, "stall"), ServerReply(then="refuse")]) as server:
        events = model_of(server).stream(request(stream=True))
        await events.__anext__()
        await events.aclose()
    assert asked_of(server)[1] == "POST /resp_1/cancel"


def test_it_needs_a_server_that_stores() -> None:
    with pytest.raises(UserError, match=r"background=True.*store=True"):
        OpenAIResponsesModel("m", background=True)
