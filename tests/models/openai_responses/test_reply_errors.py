"""Replies that are incomplete or not the protocol, and errors of the provider: which typed error each of them is."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.models.openai_responses.reply import ResponseAssembler
from agentsdk.models.sse import ServerSentEvent
from agentsdk.testing import ServerReply
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.errors import (
    BadRequestError,
    ContentFilterError,
    IncompleteResponseError,
    MalformedResponseError,
    ProviderError,
    ProviderUnavailableError,
    RateLimitError,
)
from agentsdk.types.settings import ModelRetrySettings
from tests.models.openai_responses.replies import BOTH, CALL, TEXT, body, done, last, said
from tests.models.openai_responses.server import model_at
from tests.models.wire import ask, events_of, request, shown_text

pytestmark = pytest.mark.anyio


# Incomplete replies, and errors


@BOTH
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (body(TEXT, status="incomplete", incomplete_details={"reason": "content_filter"}), ContentFilterError),
        (body(CALL, status="incomplete", incomplete_details={"reason": "max_output_tokens"}), IncompleteResponseError),
        (body(CALL, status="incomplete", incomplete_details=None), IncompleteResponseError),
        (body(status="incomplete", incomplete_details={"reason": "weird"}), IncompleteResponseError),
        (body(TEXT, CALL, status="incomplete", incomplete_details={"reason": "weird"}), IncompleteResponseError),
        (body({**CALL, "status": "incomplete"}), IncompleteResponseError),
        (body(status="failed", error={"code": "rate_limit_exceeded", "message": "m"}), RateLimitError),
        (body(status="failed", error={"code": "server_error", "message": "m"}), ProviderUnavailableError),
        (body(status="failed", error={"code": "invalid_prompt", "message": "m"}), BadRequestError),
        (body(status="failed", error={"code": "image_too_large", "message": "m"}), BadRequestError),
        (body(status="failed"), ProviderUnavailableError),
    ],
)
async def test_replies_that_are_no_success(streamed: bool, reply: dict[str, Any], error: type[Exception]) -> None:
    async with FakeResponsesServer([said(reply, streamed=streamed)]) as server:
        with pytest.raises(error):
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request(stream=streamed))


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled", None])
async def test_a_reply_that_is_still_to_come(status: str | None) -> None:
    async with FakeResponsesServer([ServerReply(body=body(TEXT, status=status))]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request())
    assert caught.value.partial == "a"


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}, last(body())],
        [{"type": "response.output_text.delta", "output_index": 0, "delta": "a"}, last(body())],
        [done({**CALL, "status": "incomplete"}), last(body())],
        [done(CALL), "[DONE]"],
    ],
)
async def test_a_stream_whose_end_does_not_cover_what_began(events: list[Any]) -> None:
    async with FakeResponsesServer([ServerReply(events=events)]) as server:
        with pytest.raises(IncompleteResponseError):
            await ask(model_at(server), request(stream=True))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.completed"},
        {"type": "response.completed", "response": {"output": [5]}},
        {"type": "response.completed", "response": {"output": {}, "status": "completed"}},
        {"type": "response.output_item.done", "item": []},
        {"type": 5},
        {"choices": [{"delta": {"content": "of another protocol"}}]},
    ],
)
async def test_events_that_are_not_of_the_protocol(event: Any) -> None:
    async with FakeResponsesServer([ServerReply(events=[event])]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request(stream=True))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "invalid_prompt", "message": "m", "status": 400},
        {"type": "error", "error": {"type": "invalid_request_error", "code": "x", "message": "m"}},
        b'event: error\ndata: {"error": {"message": "m", "status_code": 400}}\n\n',
        b'data: {"type": "error", "message": "m", "code": "invalid_request_error"}\n\n',
        {"error": {"message": "m", "code": 400}},
    ],
)
async def test_forms_of_errors_in_a_stream(event: Any) -> None:
    async with FakeResponsesServer([ServerReply(events=[event], then="open")]) as server:
        with pytest.raises(BadRequestError, match="m"):
            await ask(model_at(server), request(stream=True))
        await server.all_closed()


async def test_an_error_event_that_is_no_json() -> None:
    async with FakeResponsesServer([ServerReply(events=[b"event: error\ndata: upstream gone\n\n"])]) as server:
        with pytest.raises(ProviderUnavailableError, match="upstream gone"):
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request(stream=True))


async def test_an_error_in_a_whole_answer() -> None:
    told: dict[str, object] = {"error": {"message": "m sk-canary-0123456789", "code": 429}}
    async with FakeResponsesServer([ServerReply(body=told)]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request())
    assert type(caught.value) is RateLimitError
    assert "canary" not in str(caught.value)


async def test_a_failed_reply_of_which_nothing_was_shown_is_asked_for_again() -> None:
    failed = body(status="failed", error={"code": "server_error", "message": "m"})
    created: dict[str, object] = {"type": "response.created", "response": body(status="in_progress")}
    async with FakeResponsesServer([ServerReply(events=[created, last(failed)]), "ok"]) as server:
        assert shown_text(await events_of(model_at(server), request(stream=True))) == "ok"


@pytest.mark.parametrize("end", ['"output":null', '"model":"m"'])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_completed_reply_without_output_is_malformed_and_an_empty_one_is_empty(streamed: bool, end: str) -> None:
    def told(fields: str) -> ResponseAssembler:
        assembler = ResponseAssembler("p")
        reply = f'{{"id":"r","status":"completed",{fields}}}'
        if streamed:
            assembler.add_event(ServerSentEvent(f'{{"type":"response.completed","response":{reply}}}', "response.completed"))
        else:
            assembler.add_whole(reply.encode())
        return assembler

    with pytest.raises(MalformedResponseError, match="no output"):
        told(end).response()
    assert told('"output":[]').response().output == ()
