"""Replies put together, streamed or in one piece; what goes back is what came."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.bedrock.usage import read_usage
from agentsdk.testing import ServerReply, call
from agentsdk.testing.bedrock_dialect import FakeBedrockServer
from agentsdk.types.errors import ContentFilterError, IncompleteResponseError, MalformedResponseError, UserError
from agentsdk.types.items import FunctionCall, Message, OutputText, ProviderItem, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.spec import ToolSpec
from agentsdk.types.usage import Usage
from tests.models.bedrock.server import MODEL, body_of, model_at, reply
from tests.models.fault_matrix import BOTH
from tests.models.wire import EVENTS_OF_A_STREAM, ask, events_of, request, types_of

pytestmark = pytest.mark.anyio

TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}
REDACTED = {"reasoningContent": {"redactedContent": "cmVk"}}
CALL = {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}}


async def told(said: Any, *, streamed: bool) -> ModelResponse:
    async with FakeBedrockServer([said]) as server:
        return await ask(model_at(server), request(stream=streamed))


async def test_the_events_of_a_stream() -> None:
    said = [Reasoning("one two"), Message("assistant", "one two"), call("add", a=1)]
    async with FakeBedrockServer([said]) as server:
        events = await events_of(model_at(server), request(stream=True))
    assert types_of(events) == EVENTS_OF_A_STREAM


@BOTH
async def test_a_reply_with_everything_goes_back_as_it_came(streamed: bool) -> None:
    blocks = [THOUGHT, REDACTED, {"text": "let me"}, CALL]
    response = await told(reply(*blocks, stop="tool_use", streamed=streamed), streamed=streamed)
    assert response.output == (
        Reasoning("hm", signature="c2ln", provider="bedrock"),
        Reasoning(encrypted="cmVk", provider="bedrock"),
        Message("assistant", "let me"),
        FunctionCall("t1", "add", '{"a": 1}' if streamed else '{"a":1}'),
    )
    assert (response.finish, response.model, response.usage) == ("tool_calls", MODEL, Usage(1, 3, 5))
    again = body_of(items=[Message("user", "hi"), *response.output], tools=(TOOL,))
    assert again["messages"][1] == {"role": "assistant", "content": blocks}


@BOTH
@pytest.mark.parametrize(
    ("stop", "finish"), [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("tool_use", "tool_calls")]
)
async def test_stop_reasons(streamed: bool, stop: str, finish: str) -> None:
    assert (await told(reply({"text": "a"}, stop=stop, streamed=streamed), streamed=streamed)).finish == finish


@BOTH
@pytest.mark.parametrize(
    ("stop", "error", "says"),
    [
        ("guardrail_intervened", ContentFilterError, "a guardrail"),
        ("content_filtered", ContentFilterError, "content filter"),
        ("malformed_model_output", MalformedResponseError, "malformed_model_output"),
        ("malformed_tool_use", MalformedResponseError, "malformed_tool_use"),
        ("max_tokens", IncompleteResponseError, "in a tool call; raise max_tokens"),
        ("model_context_window_exceeded", IncompleteResponseError, "context window"),
        ("stop_sequence", IncompleteResponseError, "nothing proves them complete"),
    ],
)
async def test_stop_reasons_that_are_errors(streamed: bool, stop: str, error: Any, says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        await told(reply({"text": "a"}, CALL, stop=stop, streamed=streamed), streamed=streamed)
    assert caught.value.usage == Usage(1, 3, 5)


async def test_a_call_that_was_not_ended_is_not_run() -> None:
    said = reply(CALL, stop="tool_use", streamed=True)
    assert said.events is not None
    events = [event for event in said.events if "contentBlockStop" not in event]
    with pytest.raises(IncompleteResponseError, match="nothing proves them complete"):
        await told(ServerReply(events=events), streamed=True)


async def test_a_call_without_arguments_has_none_and_one_without_an_id_gets_one() -> None:
    start = {"contentBlockStart": {"start": {"toolUse": {"name": "now"}}, "contentBlockIndex": 0}}
    ends = [{"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {"stopReason": "tool_use"}}]
    response = await told(ServerReply(events=[{"messageStart": {}}, start, *ends, {"metadata": {}}]), streamed=True)
    assert response.output == (FunctionCall("call_req-7_0", "now", "{}"),)


async def test_redacted_pieces_are_one() -> None:
    deltas = [{"reasoningContent": {"redactedContent": piece}} for piece in ("YWI=", "Yw==")]
    events = [{"contentBlockDelta": {"delta": delta, "contentBlockIndex": 0}} for delta in deltas]
    events += [{"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}}]
    assert (await told(ServerReply(events=events), streamed=True)).output == (Reasoning(encrypted="YWJj", provider="bedrock"),)


@BOTH
async def test_citations_are_annotations_and_blocks_of_text_one_message(streamed: bool) -> None:
    note = {"title": "t", "location": {"web": {"url": "https://x"}}}
    if streamed:
        deltas = [{"text": "a"}, {"citation": note}]
        events = [{"contentBlockDelta": {"delta": delta, "contentBlockIndex": 0}} for delta in deltas]
        events.append({"contentBlockDelta": {"delta": {"text": "b"}, "contentBlockIndex": 1}})
        said = ServerReply(events=[*events, {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}}])
    else:
        said = reply({"citationsContent": {"content": [{"text": "a"}], "citations": [note]}}, {"text": "b"})
    response = await told(said, streamed=streamed)
    assert response.output == (Message("assistant", (OutputText("a", (note,)), OutputText("b"))),)


@BOTH
async def test_what_the_provider_ran_itself_is_its_own_item(streamed: bool) -> None:
    use = {"toolUse": {"toolUseId": "s1", "name": "grounding", "type": "server_tool_use", "input": {"q": "x"}}}
    found = {"toolResult": {"toolUseId": "s1", "content": [{"text": "a"}, {"text": "b"}], "type": "grounding_result"}}
    if streamed:
        begun = {"toolUse": {"toolUseId": "s1", "name": "grounding", "type": "server_tool_use"}}
        result = {"toolResult": {"toolUseId": "s1", "type": "grounding_result"}}
        events: list[Any] = [{"contentBlockStart": {"start": begun, "contentBlockIndex": 0}}]
        events.append({"contentBlockDelta": {"delta": {"toolUse": {"input": '{"q":'}}, "contentBlockIndex": 0}})
        events.append({"contentBlockDelta": {"delta": {"toolUse": {"input": '"x"}'}}, "contentBlockIndex": 0}})
        events.append({"contentBlockStart": {"start": result, "contentBlockIndex": 1}})
        pieces = ({"toolResult": [{"text": "a"}]}, {"toolResult": [{"text": "b"}]})
        events += [{"contentBlockDelta": {"delta": piece, "contentBlockIndex": 1}} for piece in pieces]
        said = ServerReply(events=[*events, {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}}])
    else:
        said = reply(use, found)
    response = await told(said, streamed=streamed)
    assert response.output == (ProviderItem("bedrock", use), ProviderItem("bedrock", found))


@BOTH
async def test_what_is_told_beside_the_reply_is_kept(streamed: bool) -> None:
    rest = {"trace": {"guardrail": {"actionReason": "x"}}, "serviceTier": {"type": "flex"}}
    response = await told(reply({"text": "a"}, streamed=streamed, **rest), streamed=streamed)
    assert response.provider_data == {"trace": rest["trace"], "service_tier": rest["serviceTier"]}


async def test_blocks_of_a_new_kind_grow_by_their_deltas() -> None:
    pieces = ({"image": {"source": {"bytes": "a"}}}, {"image": {"source": {"bytes": "b"}}}, {"image": {"x": [1]}})
    events: list[Any] = [{"contentBlockStart": {"start": {"image": {"format": "png", "x": [0]}}, "contentBlockIndex": 0}}]
    events += [{"contentBlockDelta": {"delta": piece, "contentBlockIndex": 0}} for piece in pieces]
    said = ServerReply(events=[*events, {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}}])
    image = {"format": "png", "x": [0, 1], "source": {"bytes": "ab"}}
    assert (await told(said, streamed=True)).output == (ProviderItem("bedrock", {"image": image}),)


def test_cached_tokens_are_within_the_input() -> None:
    counts: dict[str, object] = {"inputTokens": 3, "outputTokens": 7, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 20}
    assert read_usage(counts) == Usage(1, 123, 7, 100, 20)
    for missing in ({}, {"inputTokens": 1}, {"inputTokens": -1, "outputTokens": True}):
        assert not read_usage(missing).known


async def test_hosted_tools_and_counts() -> None:
    from agentsdk.types.hosted_tools import WebSearchTool

    async with FakeBedrockServer([ServerReply(body={"inputTokens": 14})]) as server:
        model = model_at(server)
        with pytest.raises(UserError, match="WebSearchTool is not available with Amazon Bedrock"):
            model.body(request(hosted=(WebSearchTool(),)))
        assert await model.count_tokens(request(tools=(TOOL,), instructions="x")) == 14
    (sent,) = server.requests
    assert sent.path == "/model/anthropic.claude-test-v1%3A0/count-tokens"
    assert set(json.loads(sent.body)["input"]["converse"]) == {"messages", "system", "toolConfig"}
