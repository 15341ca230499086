"""What the adapter makes of each shape of reply, on a real socket.

What goes wrong whatever the protocol is in `test_faults.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeOpenAIServer, ServerReply, call
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.items import Message, OutputText, Reasoning, Refusal
from agentsdk.types.usage import Usage
from tests.models.openai_chat.replies import BOTH, TOOL_CALL, chunk, reply, whole
from tests.models.wire import (
    EVENTS_OF_A_STREAM,
    ask,
    calls_of,
    events_of,
    model_at,
    reasoning_of,
    request,
    shown_text,
    types_of,
)

pytestmark = pytest.mark.anyio


# Good answers


@BOTH
async def test_text(streamed: bool) -> None:
    async with FakeOpenAIServer(["Hello, wörld!\n"]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.output == (Message("assistant", "Hello, wörld!\n"),)
    assert last.response.usage == Usage(requests=1, input_tokens=10, output_tokens=5)
    assert (last.response.finish, last.response.response_id, last.response.model) == ("stop", "resp_1", "scripted")
    assert shown_text(events) == ("Hello, wörld!\n" if streamed else "")


async def test_the_events_of_a_stream() -> None:
    said = [Reasoning("Hm so"), Message("assistant", "I look."), call("add", a=1)]
    async with FakeOpenAIServer([said]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert types_of(events) == EVENTS_OF_A_STREAM


@BOTH
async def test_calls_and_reasoning(streamed: bool) -> None:
    said = [Reasoning("Hm so"), Message("assistant", "I look."), call("add", a=1), call("add", a=2)]
    async with FakeOpenAIServer([said]) as server:
        model = model_at(server)
        response = await ask(model, request(stream=streamed))
    assert response.text == "I look."
    assert calls_of(response) == [("call_1_1", "add", '{"a":1}'), ("call_1_2", "add", '{"a":2}')]
    assert response.finish == "tool_calls"
    assert response.output[0] == Reasoning("Hm so", id="reasoning_content", provider=model.provider)


@BOTH
async def test_a_refusal_is_kept_as_one(streamed: bool) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.output == (Message("assistant", (Refusal("I cannot."),)),)


@BOTH
async def test_annotations_are_kept(streamed: bool) -> None:
    message = {"content": "see", "annotations": [{"type": "url_citation", "url": "https://x"}]}
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.output == (Message("assistant", (OutputText("see", ({"type": "url_citation", "url": "https://x"},)),)),)


@BOTH
async def test_annotations_of_a_reply_that_only_calls_are_kept(streamed: bool) -> None:
    note = {"type": "url_citation", "url": "https://x"}
    message = {"content": None, "tool_calls": [TOOL_CALL], "annotations": [note]}
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.output[0] == Message("assistant", (OutputText("", (note,)),))
    assert len(response.output) == 2


VENDORS: list[tuple[str, dict[str, Any], str, str, list[tuple[str, str, str]]]] = [
    ("null-everything", {"content": "a", "refusal": None, "tool_calls": None, "function_call": None}, "a", "", []),
    ("empty-strings", {"content": "a", "refusal": "", "reasoning_content": "", "tool_calls": []}, "a", "", []),
    ("unknown-fields", {"content": "a", "channel": "final", "x": {"y": [1]}}, "a", "", []),
    ("reasoning_content", {"content": "a", "reasoning_content": "r"}, "a", "r", []),
    ("reasoning", {"content": "a", "reasoning": "r"}, "a", "r", []),
    ("both-names", {"content": "a", "reasoning": "r", "reasoning_content": "r"}, "a", "r", []),
    ("details", {"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "r"}]}, "a", "r", []),
    (
        "details-beside-text",
        {"content": "a", "reasoning": "r", "reasoning_details": [{"type": "reasoning.text", "text": "r"}, None]},
        "a",
        "r",
        [],
    ),
    (
        "content-parts",
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "r"}]},
                {"type": "text", "text": "a"},
                {"type": "reference", "reference_ids": [1]},
                "b",
                None,
            ]
        },
        "ab",
        "r",
        [],
    ),
    (
        "no-type-no-index",
        {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
        "",
        "",
        [("a", "f", "{}")],
    ),
    (
        "object-arguments",
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": "é"}}}]},
        "",
        "",
        [("a", "f", '{"x": "é"}')],
    ),
    ("no-id", {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}, "", "", [("call_c1_0", "f", "{}")]),
    ("old-function-call", {"function_call": {"name": "f", "arguments": "{}"}}, "", "", [("call_c1_0", "f", "{}")]),
]


@BOTH
@pytest.mark.parametrize(("message", "text", "reasoning", "calls"), [pytest.param(*row[1:], id=row[0]) for row in VENDORS])
async def test_vendor_shapes(streamed: bool, message: dict[str, Any], text: str, reasoning: str, calls: list[Any]) -> None:
    async with FakeOpenAIServer([reply(message, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (response.text, reasoning_of(response), calls_of(response)) == (text, reasoning, calls)


async def test_pieces_of_structured_reasoning_are_joined_for_their_return() -> None:
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"},
    ]
    events = [chunk({"reasoning_details": [piece]}) for piece in pieces]
    async with FakeOpenAIServer(
        [ServerReply(events=[*events, chunk({"content": "x"}), chunk(finish="stop"), "[DONE]"])]
    ) as server:
        response = await ask(model_at(server), request(stream=True))
    item = response.output[0]
    assert isinstance(item, Reasoning)
    assert (item.text, json.loads(item.encrypted)) == ("ab", [{**pieces[1], "text": "ab"}])


async def test_a_message_repeated_in_every_chunk_counts_once() -> None:
    events = [
        {"choices": [{"delta": {"content": "a"}, "message": {"content": "a"}}]},
        {"choices": [{"delta": {"content": "b"}, "message": {"content": "ab"}, "finish_reason": "stop"}]},
        "[DONE]",
    ]
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "ab"


@BOTH
async def test_only_the_first_of_several_choices_is_read(streamed: bool) -> None:
    second = {"index": 1, "delta": {"content": "no"}, "message": {"content": "no"}, "finish_reason": "stop"}
    first = {"index": 0, "delta": {"content": "yes"}, "message": {"content": "yes"}, "finish_reason": "stop"}
    body = {"choices": [second, first]}
    said = ServerReply(events=[body, "[DONE]"]) if streamed else ServerReply(body=body)
    async with FakeOpenAIServer([said]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "yes"


@pytest.mark.parametrize("finish", ["stop", "STOP", "eos_token", "stop_sequence"])
@BOTH
async def test_finish_reasons_that_mean_stop(streamed: bool, finish: str) -> None:
    async with FakeOpenAIServer([reply({"content": "a", "tool_calls": [TOOL_CALL]}, finish, streamed=streamed)]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert (response.finish, len(calls_of(response))) == ("stop", 1)


async def test_a_chunk_of_another_choice_is_left_out() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    async with FakeOpenAIServer(
        [ServerReply(events=[chunk({"content": "a"}), other, chunk(finish="stop"), "[DONE]"])]
    ) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


async def test_a_whole_answer_to_a_request_for_a_stream() -> None:
    async with FakeOpenAIServer([ServerReply(body=whole({"content": "a"}))]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


async def test_a_stream_with_no_content_type() -> None:
    said = ServerReply(events=[chunk({"content": "a"}), chunk(finish="stop"), "[DONE]"], headers={"content-type": "text/plain"})
    async with FakeOpenAIServer([said]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "a"


@BOTH
async def test_lone_surrogates_are_replaced(streamed: bool) -> None:
    texts = (
        '{"id":"c1","choices":[{"delta":{"content":"a\\ud83d"}}]}',
        '{"choices":[{"delta":{"content":"\\ude00\\ud83db"},"finish_reason":"stop"}]}',
    )
    body = b'{"choices":[{"message":{"content":"a\\ud83d\\ude00\\ud83db"},"finish_reason":"stop"}]}'
    said = ServerReply(events=[*texts, "[DONE]"]) if streamed else ServerReply(body=body)
    async with FakeOpenAIServer([said]) as server:
        response = await ask(model_at(server), request(stream=streamed))
    assert response.text == "a😀\ufffdb"


# Usage


async def test_usage_that_comes_with_every_chunk_is_not_added_up() -> None:
    def at(output: int) -> dict[str, int]:
        return {"prompt_tokens": 3, "completion_tokens": output}

    events = [
        chunk({"content": "a"}, usage=at(1)),
        chunk({"content": "b"}, usage=at(2)),
        chunk(finish="stop", usage=at(2)),
        "[DONE]",
    ]
    async with FakeOpenAIServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert (response.text, response.usage) == ("ab", Usage(1, 3, 2))


# Ends


@pytest.mark.parametrize("cut", [None, -1, -2], ids=["after-done", "after-usage", "after-finish"])
async def test_a_socket_that_stays_open_is_not_waited_for(cut: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentsdk.models.http_model.HttpModel._end_grace", 0.3)
    said = ServerReply("one", stops_after=cut, then="open")
    async with FakeOpenAIServer([said, "two"]) as server:
        model = model_at(server, timeouts=ModelTimeouts(idle=None, read=None, total=None))
        response = await ask(model, request(stream=True))
        assert (response.text, response.usage.known) == ("one", cut != -2)
        await server.all_closed()
        assert (await ask(model, request(stream=True))).text == "two"


async def test_a_reset_after_the_finish_reason_does_no_harm() -> None:
    async with FakeOpenAIServer([ServerReply("one", stops_after=-2, then="reset")]) as server:
        assert (await ask(model_at(server), request(stream=True))).text == "one"
