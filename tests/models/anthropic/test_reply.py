"""What the adapter makes of each shape of reply, on a real socket.

What goes wrong whatever the protocol is in `test_faults.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.testing import ServerReply, call
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.deltas import OutputItemDone, ResponseCompleted
from agentsdk.types.errors import (
    MalformedResponseError,
)
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message, OutputText, ProviderItem, Reasoning
from agentsdk.types.usage import Usage
from tests.models.anthropic.replies import BOTH, FOUND, SEARCH, body_of, reply, start, stop, stream_of
from tests.models.anthropic.server import model_at
from tests.models.wire import EVENTS_OF_A_STREAM, ask, calls_of, events_of, request, shown_reasoning, shown_text, types_of

pytestmark = pytest.mark.anyio
CITATION = {"type": "web_search_result_location", "url": "https://x", "encrypted_index": "e"}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


# Blocks


@BOTH
async def test_text(streamed: bool) -> None:
    async with FakeAnthropicServer(["Hello, wörld!\n"]) as server:
        events = await events_of(model_at(server), request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    assert last.response.output == (Message("assistant", "Hello, wörld!\n"),)
    assert last.response.usage == Usage(requests=1, input_tokens=10, output_tokens=5)
    assert (last.response.finish, last.response.response_id, last.response.model) == ("stop", "resp_1", "scripted")
    assert shown_text(events) == ("Hello, wörld!\n" if streamed else "")


async def test_the_events_of_a_stream() -> None:
    said = [Reasoning("Hm so"), Message("assistant", "I look."), call("add", a=1)]
    async with FakeAnthropicServer([said]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert types_of(events) == EVENTS_OF_A_STREAM


@BOTH
async def test_every_kind_of_block_makes_the_round_trip(streamed: bool) -> None:
    """What came goes back as it came, in its order."""
    said = [
        Reasoning("Hm so", signature="sig"),
        Reasoning(encrypted="xyz"),
        Message("assistant", "I look."),
        ProviderItem("p", dict(SEARCH)),
        ProviderItem("p", dict(FOUND)),
        Message("assistant", (OutputText("a"), OutputText("b", (dict(CITATION),)))),
        FunctionCall("c1", "add", '{"a":1.0}'),
    ]
    async with FakeAnthropicServer([said, "ok"]) as server:
        model = model_at(server, provider="p")
        response = await ask(model, request(stream=streamed))
        history = [Message("user", "hi"), *response.output, FunctionCallOutput("c1", "2")]
        await ask(model, request(stream=streamed, items=history))
    sent: Any = server.requests[1].json["messages"]
    assert sent[1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm so", "signature": "sig"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "I look."},
            SEARCH,
            FOUND,
            {"type": "text", "text": "a"},
            {"type": "text", "text": "b", "citations": [CITATION]},
            {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1.0}},
        ],
    }
    assert b'"input":{"a":1.0}' in server.requests[1].body
    assert [type(item).__name__ for item in response.output] == [
        "Reasoning",
        "Reasoning",
        "Message",
        "ProviderItem",
        "ProviderItem",
        "Message",
        "FunctionCall",
    ]
    assert (response.text, response.finish) == ("I look.ab", "tool_calls")


@BOTH
async def test_what_a_call_holds_besides_is_kept_for_the_provider(streamed: bool) -> None:
    caller = {"type": "code_execution_20260120", "tool_id": "s1", "step": 2}  # more than a `Caller` has
    blocks: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}, "caller": caller},
        {"type": "tool_use", "id": "c2", "name": "add", "input": {}, "caller": {"type": "direct"}},
    ]
    async with FakeAnthropicServer([reply(*blocks, reason="tool_use", streamed=streamed)]) as server:
        model = model_at(server, provider="p")
        events = await events_of(model, request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    output = last.response.output
    assert output[0] == ProviderItem("p", {"type": "tool_use", "caller": caller})
    assert [(call_id, json.loads(text)) for call_id, _, text in calls_of(last.response)] == [("c1", {"a": 1}), ("c2", {})]
    again: Any = body_of(model, items=list(output))["messages"][1]
    assert again["content"] == [blocks[0], {name: blocks[1][name] for name in ("type", "id", "name", "input")}]
    if streamed:
        assert [event.output_index for event in events if isinstance(event, OutputItemDone)] == [0, 1, 2]


async def test_blocks_between_each_other_and_out_of_order() -> None:
    events = stream_of(
        start(2, type="tool_use", id="b", name="add", input={}),
        start(1, type="tool_use", id="a", name="add", input={}),
        start(0, type="text", text=""),
        delta(2, "input_json_delta", partial_json='{"a"'),
        delta(1, "input_json_delta", partial_json='{"a":'),
        delta(0, "text_delta", text="t"),
        delta(2, "input_json_delta", partial_json=":2}"),
        delta(1, "input_json_delta", partial_json="1}"),
        *map(stop, (0, 1, 2)),
        reason="tool_use",
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert response.text == "t"
    assert calls_of(response) == [("a", "add", '{"a":1}'), ("b", "add", '{"a":2}')]


async def test_one_index_twice_is_two_calls_and_what_is_missing_is_made_up() -> None:
    events = stream_of(
        start(0, type="tool_use", name="f"),
        stop(0),
        start(0, type="tool_use", id="b", name="g"),
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop"},
        reason="tool_use",
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server), request(stream=True))
    assert calls_of(response) == [("call_m1_0", "f", "{}"), ("b", "g", "{}")]


async def test_text_and_thinking_without_their_start() -> None:
    events = stream_of(delta(0, "thinking_delta", thinking="h"), delta(1, "text_delta", text="t"))
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        shown = await events_of(model_at(server), request(stream=True))
    assert (shown_reasoning(shown), shown_text(shown)) == ("h", "t")


async def test_a_call_without_its_start_is_not_the_protocol() -> None:
    events = stream_of(delta(0, "input_json_delta", partial_json="{}"), reason="tool_use")
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        with pytest.raises(MalformedResponseError, match="input_json_delta"):
            await ask(model_at(server), request(stream=True))


async def test_blocks_and_deltas_and_events_that_are_not_known() -> None:
    events = stream_of(
        {"type": "something_new", "x": 1},
        {"type": "ping"},
        start(0, type="compaction", content="", level=1),
        delta(0, "compaction_delta", content="a "),
        delta(0, "compaction_delta", content="b", level=2),
        stop(0),
        start(1, type="text", text="t"),
        delta(1, "new_delta", x=1),
        stop(1),
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server, provider="p"), request(stream=True))
    kept = ProviderItem("p", {"type": "compaction", "content": "a b", "level": 2})
    assert response.output == (kept, Message("assistant", "t"))


async def test_thinking_that_is_not_shown_keeps_its_signature() -> None:
    events = stream_of(
        start(0, type="thinking", thinking="", signature=""), delta(0, "signature_delta", signature="s"), stop(0)
    )
    async with FakeAnthropicServer([ServerReply(events=events)]) as server:
        response = await ask(model_at(server, provider="p"), request(stream=True))
    assert response.output == (Reasoning(signature="s", provider="p"),)


@BOTH
async def test_lone_surrogates_are_replaced(streamed: bool) -> None:
    texts = ('{"type":"text_delta","text":"a\\ud83d"}', '{"type":"text_delta","text":"\\ude00\\ud83db"}')
    pieces = [f'{{"type":"content_block_delta","index":0,"delta":{text}}}' for text in texts]
    opening, *_, closing, end = stream_of()
    body = b'{"content":[{"type":"text","text":"a\\ud83d\\ude00\\ud83db"}],"stop_reason":"end_turn"}'
    said = ServerReply(events=[opening, *pieces, closing, end]) if streamed else ServerReply(body=body)
    async with FakeAnthropicServer([said]) as server:
        assert (await ask(model_at(server), request(stream=streamed))).text == "a😀\ufffdb"


async def test_usage_is_the_last_total() -> None:
    async with FakeAnthropicServer([ServerReply(events=stream_of(start(0, type="text", text="t"), stop(0)))]) as server:
        assert (await ask(model_at(server), request(stream=True))).usage == Usage(1, 3, 5)
