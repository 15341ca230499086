"""What a reply tells beside its items, by provider, streamed or not."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agentsdk import Agent, MemoryRunStore, ModelResponse, RunConfig, Runner
from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.google import GoogleModel
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.provider_data import MAX_BYTES, provider_data, uncounted
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.events import ModelReplied
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("streamed", [False, True])

TOKENS = [{"token": "a", "logprob": -0.1}, {"token": "b", "logprob": -0.2}]


def chat() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    top = {"id": "r", "model": "m", "service_tier": "flex", "system_fingerprint": "fp", "provider": "DeepInfra"}
    details = {"audio_tokens": 3, "cached_tokens": 1}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.01, "prompt_tokens_details": details}
    end = {"finish_reason": "stop", "stop_reason": "END"}
    whole = {**top, "usage": usage, "choices": [{"message": {"content": "ab"}, "logprobs": {"content": TOKENS}, **end}]}
    events: list[dict[str, Any]] = [
        {**top, "choices": [{"delta": {"content": text}, "logprobs": {"content": [token], "refusal": None}}]}
        for text, token in zip("ab", TOKENS, strict=True)
    ]
    told = {"service_tier": "flex", "system_fingerprint": "fp", "provider": "DeepInfra", "stop_reason": "END"}
    told_usage = {"cost": 0.01, "prompt_tokens_details": {"audio_tokens": 3}}
    events.append({**top, "choices": [{"delta": {}, **end}], "usage": usage})
    return whole, events, {**told, "usage": told_usage, "logprobs": {"content": TOKENS}}


def responses() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    part = {"type": "output_text", "text": "ab", "logprobs": TOKENS}
    whole = {
        "id": "r",
        "status": "completed",
        "service_tier": "flex",
        "conversation": {"id": "conv_1"},
        "instructions": "an echo of the request",
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "cost": 0.5},
        "output": [{"type": "message", "content": [part]}],
    }
    told = {"service_tier": "flex", "conversation": {"id": "conv_1"}, "usage": {"cost": 0.5}, "logprobs": TOKENS}
    return whole, [{"type": "response.completed", "response": whole}], told


def anthropic() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 2, "service_tier": "priority", "server_tool_use": {"web_search_requests": 2}}
    container = {"id": "c_1", "expires_at": "2030"}
    end = {"stop_reason": "stop_sequence", "stop_sequence": "END"}
    whole = {"id": "r", "content": [{"type": "text", "text": "ab"}], "usage": usage, "container": container, **end}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "r", "usage": {"input_tokens": 1, "service_tier": "priority"}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "ab"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {**end, "container": container}, "usage": usage},
        {"type": "message_stop"},
    ]
    told_usage = {"service_tier": "priority", "server_tool_use": {"web_search_requests": 2}}
    return whole, events, {"container": container, "stop_sequence": "END", "usage": told_usage}


def google() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    ratings = [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]
    end = {"finishReason": "STOP", "safetyRatings": ratings, "avgLogprobs": -0.3}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3, "trafficType": "ON_DEMAND"}
    parts = [
        {"content": {"parts": [{"text": text}]}, "logprobsResult": {"chosenCandidates": [token]}}
        for text, token in zip("ab", TOKENS, strict=True)
    ]
    joined = {"content": {"parts": [{"text": "ab"}]}, "logprobsResult": {"chosenCandidates": TOKENS}}
    whole = {"candidates": [{**joined, **end}], "usageMetadata": usage}
    events: list[dict[str, Any]] = [
        {"candidates": [parts[0]], "usageMetadata": {"promptTokenCount": 1}},
        {"candidates": [{**parts[1], **end}], "usageMetadata": usage},
    ]
    told = {"safetyRatings": ratings, "avgLogprobs": -0.3, "logprobsResult": {"chosenCandidates": TOKENS}}
    return whole, events, {**told, "usageMetadata": {"trafficType": "ON_DEMAND"}}


ADAPTERS: list[Any] = [
    pytest.param(FakeOpenAIServer, OpenAIChatCompletionsModel, chat, id="chat"),
    pytest.param(FakeResponsesServer, OpenAIResponsesModel, responses, id="responses"),
    pytest.param(FakeAnthropicServer, AnthropicModel, anthropic, id="anthropic"),
    pytest.param(FakeGoogleServer, GoogleModel, google, id="google"),
]


@BOTH
@pytest.mark.parametrize(("server_of", "model_of", "said"), ADAPTERS)
async def test_it_is_read_kept_with_the_run_and_not_sent_back(server_of: Any, model_of: Any, said: Any, streamed: bool) -> None:
    whole, events, told = said()
    async with server_of([ServerReply(events=events) if streamed else ServerReply(body=whole)]) as server:
        model = model_of("m", base_url=server.base_url, api_key="k")
        config = RunConfig(store=MemoryRunStore(), run_id="run")
        agent = Agent("a", model=model)
        await (Runner.run_streamed(agent, "x", run_config=config) if streamed else Runner.run(agent, "x", run_config=config))
        state = await Runner.load("run", run_config=config)
        [response] = [event.response for event in state.value.log if isinstance(event, ModelReplied)]
        assert response.text == "ab"
        assert response.provider_data == json.loads(json.dumps(response.provider_data)) == told
        assert msgspec.json.decode(msgspec.json.encode(response), type=ModelResponse) == response
        assert b"logprob" not in model.body(request(items=state.value.transcript))


@BOTH
@pytest.mark.parametrize(("server_of", "model_of", "said"), ADAPTERS)
async def test_a_reply_that_tells_nothing_more_has_none(server_of: Any, model_of: Any, said: Any, streamed: bool) -> None:
    async with server_of(["ab"]) as server:
        model = model_of("m", base_url=server.base_url, api_key="k")
        assert (await ask(model, request(stream=streamed))).provider_data == {}


def test_there_is_room_for_so_much_and_the_small_comes_first() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    fields = {"logprobs": ["x" * 1_000] * 300, "tier": "flex", "deep": deep, "none": None, "empty": {}, "half": "\ud83d"}
    told = provider_data(fields)
    assert told == {"tier": "flex", "half": "\ufffd", "left_out": ["deep", "logprobs"]}
    assert len(msgspec.json.encode(provider_data({str(n): "x" * 10_000 for n in range(100)}))) < MAX_BYTES + 1_000


def test_what_is_counted_is_not_told_twice() -> None:
    usage = {"tokens": 1, "zero": 0, "details": {"tokens": 1, "cost": 2, "zero": 0}, "nothing": {"tokens": 1}, "kinds": [1]}
    assert uncounted(usage, ("tokens",)) == {"details": {"cost": 2}, "kinds": [1]}
    assert uncounted(None, ()) == {}
