"""Replies that are incomplete or not the protocol, and errors of the provider: which typed error each of them is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.deltas import AttemptDiscarded, ResponseCreated
from agentsdk.types.errors import (
    AgentsException,
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    IncompleteResponseError,
    MalformedResponseError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
    UnsupportedCallError,
)
from agentsdk.types.items import Message
from tests.models.openai_chat.replies import BOTH, TOOL_CALL, chunk, reply
from tests.models.wire import ask, events_of, model_at, request, shown_text

pytestmark = pytest.mark.anyio


# Replies that are incomplete


@pytest.mark.parametrize("end", [["[DONE]"], []])
async def test_a_stream_that_ends_early_is_incomplete_with_or_without_done(end: list[str]) -> None:
    async with FakeOpenAIServer([ServerReply(events=[chunk({"content": "ha"}), chunk({"content": "lf"}), *end])]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request(stream=True))
    assert caught.value.partial == "half"


@BOTH
async def test_servers_that_never_send_a_finish_reason(streamed: bool) -> None:
    text, calls = {"content": "all"}, {"content": "all", "tool_calls": [TOOL_CALL]}
    async with FakeOpenAIServer([reply(message, None, streamed=streamed) for message in (text, calls, {})]) as server:
        model = model_at(server, allow_missing_finish_reason=True)
        response = await ask(model, request(stream=streamed))
        assert (response.text, response.finish) == ("all", "unknown")
        for _ in range(2):
            with pytest.raises(IncompleteResponseError):
                await ask(model, request(stream=streamed))


@BOTH
async def test_no_name_and_no_arguments_in_the_older_form_are_no_call(streamed: bool) -> None:
    messages = ({"content": "4", "function_call": legacy} for legacy in ({"name": "", "arguments": ""}, {}, {"name": None}))
    async with FakeOpenAIServer([reply(message, "stop", streamed=streamed) for message in messages]) as server:
        model = model_at(server)
        for _ in range(3):
            assert (await ask(model, request(stream=streamed))).output == (Message("assistant", "4"),)


@pytest.mark.parametrize(
    ("message", "finish"), [({"content": "4"}, "stop"), ({"tool_calls": [TOOL_CALL]}, "tool_calls"), ({"content": ""}, None)]
)
async def test_a_whole_body_may_be_proof_enough(message: dict[str, object], finish: str | None) -> None:
    said = [reply(message, "", streamed=False), reply(message, "", streamed=True)]
    async with FakeOpenAIServer(said) as server:
        model = model_at(server, whole_body_ok=True)
        if finish is None:
            with pytest.raises(IncompleteResponseError):
                await ask(model, request())
        else:
            assert (await ask(model, request())).finish == finish
        with pytest.raises(IncompleteResponseError):
            await ask(model, request(stream=True))


@BOTH
async def test_a_call_of_another_kind_is_an_error_that_names_it(streamed: bool) -> None:
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    messages = ({"tool_calls": [custom]}, {"content": "Let me look.", "tool_calls": [custom, {**TOOL_CALL, "index": 1}]})
    async with FakeOpenAIServer([reply(message, "tool_calls", streamed=streamed) for message in messages]) as server:
        model = model_at(server)
        for _ in range(2):
            with pytest.raises(UnsupportedCallError, match="'custom'") as caught:
                await ask(model, request(stream=streamed))
            assert caught.value.kind == "custom"


@BOTH
async def test_what_comes_beside_a_call_or_a_message_goes_back_with_it(streamed: bool) -> None:
    beside = [{"google": {"thought_signature": text}} for text in ("one", "two", "said")]
    calls = [{**TOOL_CALL, "index": n, "id": f"c{n}", "extra_content": extra} for n, extra in enumerate(beside[:2])]
    message = {"content": "a", "tool_calls": [*calls, {**TOOL_CALL, "index": 2, "id": "c2"}], "extra_content": beside[2]}
    async with FakeOpenAIServer([reply(message, "tool_calls", streamed=streamed)]) as server:
        model = model_at(server, provider="gemini")
        said = (await ask(model, request(stream=streamed))).output
        [sent] = json.loads(model.body(request(items=said)))["messages"]
        assert [call.get("extra_content") for call in sent["tool_calls"]] == [*beside[:2], None]
        assert (sent["content"], sent["extra_content"]) == ("a", beside[2])
        other = model_at(server, provider="other").body(request(items=said))
        assert b"extra_content" not in other


@BOTH
@pytest.mark.parametrize(("finish", "error"), [("content_filter", ContentFilterError), ("error", IncompleteResponseError)])
async def test_finish_reasons_that_are_errors(streamed: bool, finish: str, error: type[AgentsException]) -> None:
    async with FakeOpenAIServer([reply({"content": "a"}, finish, streamed=streamed)]) as server:
        with pytest.raises(error):
            await ask(model_at(server), request(stream=streamed))


# Replies that are not the protocol


MALFORMED_BODIES: list[Any] = [
    {"choices": []},
    {"choices": None},
    {"id": "x"},
    b'{"choices": [{"message": {"content": "\xff"}, "finish_reason": "stop"}]}',
    b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}',
]


@pytest.mark.parametrize("body", MALFORMED_BODIES, ids=lambda body: str(body)[:20])
@BOTH
async def test_malformed_bodies(streamed: bool, body: Any) -> None:
    async with FakeOpenAIServer([ServerReply(body=body)]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=streamed))


MALFORMED_STREAMS: list[list[Any]] = [
    [b'data: {"choices": 5}\n\n'],
    [{"choices": []}, {"choices": None}, "[DONE]"],
    ["[DONE]"],
]


@pytest.mark.parametrize("events", MALFORMED_STREAMS, ids=lambda events: str(events)[:40])
async def test_malformed_streams(events: list[Any]) -> None:
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=True))


# Errors of the provider


async def test_an_error_tells_the_providers_code() -> None:
    said = ServerReply(status=400, body={"error": {"message": "the reason", "code": "the_code", "type": "t"}})
    async with FakeOpenAIServer([said]) as server:
        with pytest.raises(BadRequestError, match="the reason") as caught:
            await ask(model_at(server), request())
    assert caught.value.code == "the_code"


INSIDE: list[tuple[Any, type[ProviderError], int | None, bool]] = [
    ({"message": "m", "code": 429}, RateLimitError, 429, True),
    ({"message": "m", "code": "rate_limit_exceeded"}, RateLimitError, 429, True),
    ({"message": "m", "code": "insufficient_quota"}, RateLimitError, 429, False),
    (
        {"message": "m", "type": "invalid_request_error", "code": "tool_use_failed", "status_code": 400},
        BadRequestError,
        400,
        False,
    ),
    ({"message": "m", "type": "server_error"}, ProviderUnavailableError, 500, True),
    ({"message": "m", "code": "502"}, ProviderUnavailableError, 502, True),
    ({"message": "m", "type": "authentication_error"}, AuthenticationError, 401, False),
    ({"message": "m"}, ProviderUnavailableError, None, True),
    ("m", ProviderUnavailableError, None, True),
]


@BOTH
@pytest.mark.parametrize(("told", "error", "status", "retryable"), INSIDE)
async def test_an_error_inside_an_answer(
    streamed: bool, told: Any, error: type[ProviderError], status: int | None, retryable: bool
) -> None:
    said = ServerReply(events=[{"error": told}], then="open") if streamed else ServerReply(body={"error": told})
    async with FakeOpenAIServer([said] * 3) as server:
        with pytest.raises(error) as caught:
            await ask(model_at(server), request(stream=streamed))
        assert (caught.value.status, caught.value.retryable) == (status, retryable)
        assert "m" in str(caught.value)
        assert len(server.requests) == (3 if retryable else 1)
        if streamed:
            await server.all_closed()


@pytest.mark.parametrize(
    "event",
    [
        b'event: error\ndata: {"error": {"message": "m", "status_code": 400}}\n\n',
        b'event: error\ndata: {"message": "m", "status_code": 400}\n\n',
        {"object": "error", "message": "m", "code": 400},
        {"error": {"message": "m", "status": 400}, "choices": [{"delta": {}, "finish_reason": "error"}]},
    ],
)
async def test_forms_of_errors_in_a_stream(event: Any) -> None:
    async with FakeOpenAIServer([ServerReply(events=[chunk({"content": "a"}), event])]) as server:
        with pytest.raises(BadRequestError, match="m") as caught:
            await ask(model_at(server), request(stream=True))
    assert caught.value.status == 400


async def test_a_reset_before_anything_was_shown_is_repeated() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=1, then="reset"), "two"]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert [type(event) for event in events[:3]] == [ResponseCreated, AttemptDiscarded, ResponseCreated]
    assert shown_text(events) == "two"
