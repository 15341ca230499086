"""History that the server holds: only what is new is sent, and all of it whenever that is not surely right."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, Runner, function_tool
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.openai_responses.server_history import ServerHistory
from agentsdk.testing import FakeServer, ServerReply
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.base import JsonObject
from agentsdk.types.deltas import AttemptDiscarded
from agentsdk.types.errors import NotFoundError, RateLimitError, UserError
from agentsdk.types.items import FunctionCall, Item, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings
from agentsdk.types.tape import Tape
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, events_of, request

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("streamed", [False, True])
LOST = pytest.mark.parametrize(
    "lost",
    [
        ServerReply(status=404, body={"error": {"message": "no such response"}}),
        ServerReply(status=400, body={"error": {"message": "gone", "code": "previous_response_not_found"}}),
    ],
    ids=["404", "400"],
)


def said(text: str, number: int) -> ModelResponse:
    return ModelResponse((Message("assistant", text, f"msg_{number}"),), response_id=f"resp_{number}")


def holding(server: FakeServer, **options: Any) -> OpenAIResponsesModel:
    return model_at(server, store=True, server_history=True, **options)


def sent(server: FakeServer) -> list[tuple[Any, list[Any]]]:
    """What each request named as the reply before it, and the texts or types that it sent."""
    bodies: list[Any] = [one.json for one in server.requests]
    return [
        (body.get("previous_response_id"), [entry.get("content") or entry["type"] for entry in body["input"]])
        for body in bodies
    ]


def user(text: str) -> Item:
    return Message("user", text)


@BOTH
@pytest.mark.parametrize("background", [False, True])
async def test_a_run_sends_only_what_follows_the_last_reply(streamed: bool, background: bool) -> None:
    @function_tool
    def add(a: int) -> str:
        """Add."""
        return "7"

    def calls(number: int) -> ModelResponse:
        return ModelResponse(
            (FunctionCall(f"c{number}", "add", f'{{"a": {number}}}'),), finish="tool_calls", response_id=f"resp_{number}"
        )

    async with FakeResponsesServer([calls(1), calls(2), said("seven", 3)]) as server:
        agent = Agent("main", model=holding(server, background=background), tools=[add], instructions="be kind")
        if streamed:
            run = Runner.run_streamed(agent, "go")
            async for _ in run.stream_events():
                pass
            assert run.final_output == "seven"
        else:
            assert (await Runner.run(agent, "go")).final_output == "seven"
    assert sent(server) == [
        (None, ["go"]),
        ("resp_1", ["function_call_output"]),
        ("resp_2", ["function_call_output"]),
    ]
    assert [one.json["instructions"] for one in server.requests] == ["be kind"] * 3


@BOTH
@LOST
async def test_a_lost_reply_is_made_up_for_by_the_whole_history(lost: ServerReply, streamed: bool) -> None:
    async with FakeResponsesServer([said("one", 1), lost, said("two", 2), said("three", 3)]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        first = await ask(model, request(items=tape, stream=streamed))
        tape = tape.extended([*first.output, user("b")])
        second = await ask(model, request(items=tape, stream=streamed))
        assert second.text == "two"
        await ask(model, request(items=tape.extended([*second.output, user("c")]), stream=streamed))
    assert sent(server)[1:] == [("resp_1", ["b"]), (None, ["a", "one", "b"]), ("resp_2", ["c"])]
    keys = [one.headers["idempotency-key"] for one in server.requests[1:3]]
    assert keys[0] != keys[1], "another body needs another key"


async def test_a_reply_lost_in_the_stream_voids_what_was_shown() -> None:
    created: JsonObject = {"type": "response.created", "response": {"id": "r2"}}
    error: JsonObject = {"type": "error", "code": "previous_response_not_found", "message": "gone"}
    async with FakeResponsesServer([said("one", 1), ServerReply(events=[created, error]), said("two", 2)]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        first = await ask(model, request(items=tape))
        events = await events_of(model, request(items=tape.extended([*first.output, user("b")]), stream=True))
    assert any(isinstance(event, AttemptDiscarded) for event in events)
    assert sent(server)[2] == (None, ["a", "one", "b"])


async def test_other_errors_stay_errors() -> None:
    missing = ServerReply(status=404, body={"error": {"message": "no such model"}})
    busy = ServerReply(status=429, headers={"retry-after": "999"}, body={"error": {"message": "slow"}})
    async with FakeResponsesServer([missing, said("one", 1), busy, missing, missing]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        with pytest.raises(NotFoundError):
            await ask(model, request(items=tape))
        first = await ask(model, request(items=tape))
        tape = tape.extended([*first.output, user("b")])
        with pytest.raises(RateLimitError):
            await ask(model, request(items=tape))
        with pytest.raises(NotFoundError):
            await ask(model, request(items=tape))
    assert len(server.requests) == 5


async def test_forks_copies_and_edits_get_the_whole_history() -> None:
    async with FakeResponsesServer([said("one", 1), *(said("more", n) for n in range(2, 8))]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        first = await ask(model, request(items=tape))
        mine = tape.extended([*first.output, user("b")])
        await ask(model, request(items=tape.extended([user("fork")])))  # the tip is taken: a copy
        await ask(model, request(items=Tape(list(mine))))  # resumed elsewhere
        await ask(model, request(items=Tape([user("a"), Message("assistant", "edited"), user("b")])))
        await ask(holding(server), request(items=mine))  # another model
        await ask(model, request(items=tape))  # an earlier point of the same tape
        await ask(model, request(items=mine))
    whole = ["a", "one", "b"]
    assert sent(server)[1:6] == [
        (None, ["a", "fork"]),
        (None, whole),
        (None, ["a", "edited", "b"]),
        (None, whole),
        (None, ["a"]),
    ]
    assert sent(server)[6] == (None, whole), "the newer reply to the same beginning is not what this history goes on with"


async def test_two_runs_from_one_beginning_never_mix() -> None:
    async with FakeResponsesServer([said("mine", 1), said("yours", 2), said("x", 3), said("y", 4)]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        mine, yours = [await ask(model, request(items=tape)) for _ in range(2)]
        await ask(model, request(items=tape.extended([*mine.output, user("b")])))
        await ask(model, request(items=tape.extended([*yours.output, user("b")])))
    assert sent(server)[2:] == [(None, ["a", "mine", "b"]), (None, ["a", "yours", "b"])]


async def test_a_tail_is_sent_but_its_reply_is_not_gone_on_from() -> None:
    async with FakeResponsesServer([said("one", 1), said("two", 2), said("three", 3)]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        first = await ask(model, request(items=tape))
        tape = tape.extended(first.output)
        second = await ask(model, request(items=tape, tail=(user("hint"),)))
        await ask(model, request(items=tape.extended([*second.output, user("b")])))
    assert sent(server)[1:] == [("resp_1", ["hint"]), ("resp_1", ["two", "b"])]


async def test_nothing_new_sends_everything() -> None:
    async with FakeResponsesServer([said("one", 1), said("two", 2)]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        first = await ask(model, request(items=tape))
        await ask(model, request(items=tape.extended(first.output)))
    assert sent(server)[1] == (None, ["a", "one"])


@pytest.mark.parametrize("name", ["previous_response_id", "conversation"])
async def test_the_callers_own_choice_stands(name: str) -> None:
    async with FakeResponsesServer([said("one", 1), said("two", 2)]) as server:
        model = holding(server)
        tape = Tape([user("a")])
        first = await ask(model, request(items=tape))
        settings = ModelSettings(extra_body={name: "own"})
        await ask(model, request(items=tape.extended([*first.output, user("b")]), settings=settings))
    assert server.requests[1].json[name] == "own"
    assert sent(server)[1][1] == ["a", "one", "b"]


def test_it_needs_a_server_that_stores() -> None:
    with pytest.raises(UserError, match="store=True"):
        OpenAIResponsesModel("m", server_history=True)


def test_only_whole_replies_are_remembered() -> None:
    history = ServerHistory()
    asked = request()
    for response in (
        ModelResponse((Message("assistant", "cut"),), finish="length", response_id="r"),
        ModelResponse((), response_id="r"),
        ModelResponse((Message("assistant", "unnamed"),)),
    ):
        history.remember(asked, response)
    assert asked.items.derived == {}
