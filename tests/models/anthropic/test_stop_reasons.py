"""Why a reply of the adapter ended: stop reasons, pauses, errors, and calls that nobody answered."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.anthropic.model import MAX_PAUSES
from agentsdk.testing import ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.deltas import OutputItemAdded, OutputItemDone, RefusalDelta, ResponseCompleted, ResponseCreated
from agentsdk.types.errors import (
    BadRequestError,
    IncompleteResponseError,
    MalformedResponseError,
    ProviderUnavailableError,
    UnsupportedCallError,
)
from agentsdk.types.items import Item, Message, OutputText, ProviderItem, Reasoning, Refusal
from agentsdk.types.settings import ModelRetrySettings
from tests.models.anthropic.replies import BOTH, FOUND, OFFLINE, SEARCH, body_of, reply, start, stop, stream_of
from tests.models.anthropic.server import model_at
from tests.models.wire import ask, calls_of, events_of, reasoning_of, request, shown_text

pytestmark = pytest.mark.anyio


# Stop reasons


@BOTH
@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
    ],
)
async def test_stop_reasons(streamed: bool, reason: str, finish: str) -> None:
    async with FakeAnthropicServer([reply({"type": "text", "text": "t"}, reason=reason, streamed=streamed)]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).finish == finish


@BOTH
@pytest.mark.parametrize(
    "reason", ["max_tokens", "model_context_window_exceeded", "stop_sequence", "something_new", "pause_turn"]
)
async def test_stop_reasons_that_prove_no_call(streamed: bool, reason: str) -> None:
    blocks = ({"type": "text", "text": "t"}, {"type": "tool_use", "id": "c", "name": "add", "input": {}})
    async with FakeAnthropicServer([reply(*blocks, reason=reason, streamed=streamed)]) as server:
        with pytest.raises(IncompleteResponseError) as caught:
            await ask(model_at(server), request(stream=streamed))
    assert caught.value.partial == "t"


async def test_a_call_whose_block_never_ended_is_not_proven() -> None:
    events = stream_of(start(0, type="tool_use", id="c", name="add", input={}), reason="tool_use")
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        with pytest.raises(IncompleteResponseError):
            await ask(model_at(server), request(stream=True))


async def test_the_stop_reason_is_enough_if_the_stream_ends_there() -> None:
    events = stream_of(start(0, type="text", text="t"), stop(0))[:-1]
    async with FakeAnthropicServer([ServerReply(events=events, then="reset")]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "t"


@BOTH
@pytest.mark.parametrize(
    ("details", "says"),
    [(None, "The model declined to answer."), ({"type": "refusal", "explanation": "Too risky."}, "Too risky.")],
)
async def test_a_refusal_is_told_as_one_and_gives_no_call(streamed: bool, details: Any, says: str) -> None:
    blocks = ({"type": "text", "text": "t"}, {"type": "tool_use", "id": "c", "name": "add", "input": {}})
    said = [reply(*blocks[:count], reason="refusal", streamed=streamed, stop_details=details) for count in (0, 1, 2)]
    async with FakeAnthropicServer(said) as server:
        for count in range(3):
            events = await events_of(model_at(server), request(stream=streamed))
            last = events[-1]
            assert isinstance(last, ResponseCompleted)
            text = (OutputText("t"),) if count else ()
            assert last.response.output == (Message("assistant", (*text, Refusal(says))),)
            assert last.response.finish == "content_filter"
            assert [event.delta for event in events if isinstance(event, RefusalDelta)] == ([says] if streamed else [])


async def test_a_refusal_in_the_middle_of_a_call() -> None:
    events = stream_of(start(0, type="tool_use", id="c", name="add", input={}), reason="refusal")
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert response.output == (Message("assistant", (Refusal("The model declined to answer."),)),)


async def test_nothing_is_waited_for_after_the_end_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http_model.HttpModel._end_grace", 600.0)
    async with FakeAnthropicServer([ServerReply("one", then="open")]) as server:
        assert (await asyncio.wait_for(ask(model_at(server), request(stream=True)), 60)).text == "one"


# Pauses


@BOTH
async def test_a_paused_turn_is_taken_up_again(streamed: bool) -> None:
    first = reply({"type": "text", "text": "I look."}, SEARCH, reason="pause_turn", streamed=streamed)
    second = reply(FOUND, {"type": "text", "text": "It is x."}, streamed=streamed)
    broken = ServerReply(status=503, body=b"")
    async with FakeAnthropicServer([first, broken, second]) as server:
        events = await events_of(model_at(server, provider="p"), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.output == (
        Message("assistant", "I look."),
        ProviderItem("p", dict(SEARCH)),
        ProviderItem("p", dict(FOUND)),
        Message("assistant", "It is x."),
    )
    assert (last.response.finish, last.response.usage.requests) == ("stop", 2)
    sent: Any = server.requests[2].json["messages"]
    assert sent[1:] == [{"role": "assistant", "content": [{"type": "text", "text": "I look."}, SEARCH]}]
    assert [sent.headers["idempotency-key"] for sent in server.requests] == ["req-7", "req-7-pause-1", "req-7-pause-1"]
    if streamed:
        assert shown_text(events) == "I look.It is x."
        assert len([event for event in events if isinstance(event, ResponseCreated)]) == 1
        added = [event.output_index for event in events if isinstance(event, OutputItemAdded)]
        done = [(event.output_index, event.item) for event in events if isinstance(event, OutputItemDone)]
        assert added == [0, 1, 2, 3]
        assert done == list(enumerate(last.response.output))


async def test_a_turn_that_pauses_for_ever_is_an_error() -> None:
    said = reply({"type": "text", "text": "t"}, SEARCH, reason="pause_turn", streamed=False)
    async with FakeAnthropicServer([said] * 99) as server:
        with pytest.raises(IncompleteResponseError, match="paused"):
            await ask(model_at(server), request())
    assert len(server.requests) == 1 + MAX_PAUSES


async def test_closing_a_resumed_turn_closes_its_connection() -> None:
    first = reply(SEARCH, reason="pause_turn", streamed=True)
    async with FakeAnthropicServer([first, ServerReply("one two", stops_after=4, then="stall")]) as server:
        stream = model_at(server).stream(request(stream=True))
        async for event in stream:
            if shown_text([event]):
                break
        inner = stream.ag_frame.f_locals["events"]
        await stream.aclose()
        assert inner.ag_frame is None
        await server.all_closed()


# Errors


@BOTH
async def test_errors_carry_the_providers_code_and_request_id(streamed: bool) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "no effort"}, "request_id": "req_1"}
    async with FakeAnthropicServer([ServerReply(status=400, body=body, headers={"request-id": "req_1"})]) as server:
        with pytest.raises(BadRequestError, match="no effort") as caught:
            await ask(model_at(server), request(stream=streamed))
    assert (caught.value.code, caught.value.request_id) == ("invalid_request_error", "req_1")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
        b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}\n\n',
        b'data: {"error": {"type": "overloaded_error", "message": "m"}}\n\n',
        b"event: error\ndata: m\n\n",
    ],
)
async def test_an_error_in_a_stream_is_tried_again_if_nothing_was_shown(event: Any) -> None:
    late = [*stream_of(start(0, type="text", text="t"))[:2], event]
    async with FakeAnthropicServer([ServerReply(events=[event]), "ok", ServerReply(events=late)]) as server:
        model = model_at(server)
        assert (await ask(model, request(stream=True))).text == "ok"
        with pytest.raises(ProviderUnavailableError, match="m"):
            await ask(model, request(stream=True))
    assert len(server.requests) == 3


async def test_an_error_as_a_whole_reply() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "m"}}
    async with FakeAnthropicServer([ServerReply(body=body)]) as server:
        with pytest.raises(ProviderUnavailableError, match="overloaded_error"):
            await ask(model_at(server, retry=ModelRetrySettings(max_retries=0)), request())


@pytest.mark.parametrize("blocks", [5, ["x"], [{"type": "tool_use", "input": "\ud800"}, None]])
async def test_content_that_is_no_list_of_blocks(blocks: Any) -> None:
    said = ServerReply(body=json.dumps({"content": blocks, "stop_reason": "end_turn"}).encode())
    async with FakeAnthropicServer([said]) as server:
        with pytest.raises(MalformedResponseError):
            await ask(model_at(server), request())


async def test_reasoning_goes_back_to_its_provider_only() -> None:
    items: list[Item] = [Message("user", "hi"), Reasoning("h", signature="s", provider="elsewhere"), Message("assistant", "a")]
    body = body_of(AnthropicModel("m", base_url=OFFLINE), items=items)
    assert "thinking" not in json.dumps(body)
    async with FakeAnthropicServer([[Reasoning("h"), Message("assistant", "a")]]) as server:
        assert reasoning_of(await ask(model_at(server), request())) == "h"


MCP = {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "s", "input": {}}


@BOTH
@pytest.mark.parametrize("asked", [SEARCH, MCP], ids=lambda block: str(block["type"]))
async def test_a_call_of_the_providers_own_that_it_did_not_run_is_an_error(streamed: bool, asked: dict[str, Any]) -> None:
    text = {"type": "text", "text": "t"}
    said = [reply(*blocks, streamed=streamed) for blocks in ((asked,), (text, asked), (SEARCH, FOUND, text))]
    async with FakeAnthropicServer(said) as server:
        model = model_at(server)
        for _ in range(2):
            with pytest.raises(UnsupportedCallError, match=str(asked["type"])):
                await ask(model, request(stream=streamed))
        assert (await ask(model, request(stream=streamed))).text == "t"


@BOTH
async def test_a_call_of_the_providers_own_that_waits_for_one_of_ours_is_fine(streamed: bool) -> None:
    code = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}
    used = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    async with FakeAnthropicServer([reply(code, used, reason="tool_use", streamed=streamed)]) as server:
        assert len(calls_of(await ask(model_at(server), request(stream=streamed)))) == 1
