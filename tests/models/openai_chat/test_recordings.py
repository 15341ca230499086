"""Recorded answers of eight vendors, served again over a socket in several chunkings.

The folder is named by AGENTSDK_RECORDINGS. What must come out is read from each recording by a naive reader of its own.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsdk import Agent, AgentOutputSchema, Runner, function_tool
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import BadRequestError, IncompleteResponseError, NotFoundError, ProviderError, RateLimitError
from agentsdk.types.settings import ModelRetrySettings
from tests.models.wire import calls_of, events_of, model_at, reasoning_of, request, shown_reasoning, shown_text

FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")]

Interaction = dict[str, Any]


def recorded() -> list[Any]:
    """Every answer of a chat completions server, one test each."""
    found = []
    for path in sorted(Path(FOLDER).glob("*.json")) if FOLDER else []:
        for number, interaction in enumerate(json.loads(path.read_text(encoding="utf-8"))["interactions"]):
            if "/chat/completions" in interaction["request"]["uri"]:
                found.append(pytest.param(interaction, id=f"{path.stem.removeprefix('models__')}-{number}"))
    return found


def served(interaction: Interaction, chunks: Any) -> ServerReply:
    answer = interaction["response"]
    kind = {"content-type": answer["headers"].get("content-type", "")}
    if "text" in answer:
        return ServerReply(events=[answer["text"].encode()], headers=kind, chunks=chunks)
    return ServerReply(status=answer["status"], body=json.dumps(answer["json"]).encode(), headers=kind, chunks=chunks)


def expected(interaction: Interaction) -> dict[str, Any]:
    """Text, reasoning, calls, finish reason and usage, read naively."""
    answer = interaction["response"]
    if "text" in answer:
        lines = [line[6:] for line in answer["text"].splitlines() if line.startswith("data: ") and line != "data: [DONE]"]
        parsed = [json.loads(line) for line in lines]
    else:
        parsed = [answer["json"]]
    text = reasoning = ""
    finish = usage = None
    calls: dict[int, list[str]] = {}
    for one in parsed:
        usage = one.get("usage") or usage
        for choice in one.get("choices", []):
            finish = choice.get("finish_reason") or finish
            message = choice.get("delta") or choice.get("message") or {}
            content = message.get("content") or ""
            for part in content if isinstance(content, list) else []:
                text += part.get("text", "")
                reasoning += "".join(inner["text"] for inner in part.get("thinking", []))
            text += content if isinstance(content, str) else ""
            details = "".join(detail.get("text", "") for detail in message.get("reasoning_details") or [])
            reasoning += message.get("reasoning_content") or message.get("reasoning") or details
            for position, call in enumerate(message.get("tool_calls") or []):
                entry = calls.setdefault(call.get("index", position), ["", "", ""])
                entry[0] = entry[0] or call.get("id") or ""
                entry[1] = entry[1] or call["function"].get("name") or ""
                entry[2] += call["function"].get("arguments") or ""
    return {
        "text": text,
        "reasoning": reasoning,
        "calls": [tuple(calls[n]) for n in sorted(calls)],
        "finish": finish,
        "usage": usage,
    }


@pytest.mark.parametrize("chunks", ["whole", "bytes", 7])
@pytest.mark.parametrize("interaction", recorded())
async def test_recording(interaction: Interaction, chunks: Any) -> None:
    streamed = "text" in interaction["response"]
    asked = request(stream=streamed)
    no_finish = "snowflake" in interaction["request"]["uri"]
    async with FakeOpenAIServer([served(interaction, chunks)] * 2) as server:
        model = model_at(server, allow_missing_finish_reason=no_finish, retry=ModelRetrySettings(max_retries=0))
        if interaction["response"]["status"] >= 400 or "event: error" in interaction["response"].get("text", ""):
            await check_error(interaction, model, asked)
            return
        events = await events_of(model, asked)
        if no_finish:
            with pytest.raises(IncompleteResponseError):
                await events_of(model_at(server), asked)
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    response, want = last.response, expected(interaction)
    assert response.text == want["text"]
    assert reasoning_of(response) == want["reasoning"]
    assert calls_of(response) == want["calls"]
    assert response.finish == (want["finish"] or "unknown")
    assert response.text or response.output
    if streamed:
        assert (shown_text(events), shown_reasoning(events)) == (want["text"], want["reasoning"])
    usage = want["usage"]
    assert usage, "every recording has usage"
    assert (response.usage.requests, response.usage.known) == (1, True)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (usage["prompt_tokens"], usage["completion_tokens"])
    assert response.usage.reasoning_tokens == (usage.get("completion_tokens_details") or {}).get("reasoning_tokens", 0)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", usage.get("num_cached_tokens", 0))
    assert response.usage.cached_tokens == cached


async def check_error(interaction: Interaction, model: Any, asked: Any) -> None:
    status = interaction["response"]["status"]
    with pytest.raises(ProviderError) as caught:
        await events_of(model, asked)
    kinds = {200: BadRequestError, 400: BadRequestError, 404: NotFoundError, 429: RateLimitError}
    assert type(caught.value) is kinds[status]
    assert caught.value.status == (400 if status == 200 else status)
    if "groq" in interaction["request"]["uri"]:
        assert caught.value.code == "tool_use_failed"


async def test_a_recorded_output_by_a_call_ends_a_run() -> None:
    """What is sent for it is what was sent when it was recorded, and the call's arguments are the run's final output."""

    @dataclass
    class Place:
        city: str
        country: str

    @function_tool(description_override="", effect="none")
    def get_user_country() -> str:
        return "Mexico"

    (path,) = Path(FOLDER).glob("*test_openai__test_openai_tool_output.json")
    interactions = json.loads(path.read_text(encoding="utf-8"))["interactions"]
    async with FakeOpenAIServer([served(interaction, "whole") for interaction in interactions]) as server:
        schema = AgentOutputSchema(Place, mode="tool")
        agent = Agent[None, Place]("main", model=model_at(server), tools=[get_user_country], output_type=schema)
        result = await Runner.run(agent, interactions[0]["request"]["json"]["messages"][0]["content"])
    assert result.final_output == Place("Mexico City", "Mexico")
    for sent, interaction in zip(server.requests, interactions, strict=True):
        mine, theirs = json.loads(json.dumps(sent.json)), interaction["request"]["json"]
        assert mine["tool_choice"] == theirs["tool_choice"] == "required"
        assert "response_format" not in mine
        assert [tool["function"]["name"] for tool in mine["tools"]] == [tool["function"]["name"] for tool in theirs["tools"]]


def test_all_vendors_are_there() -> None:
    hosts = {param.values[0]["request"]["uri"].split("/")[2].split(".", 1)[-1] for param in recorded()}
    assert {"openai.com", "deepseek.com", "groq.com", "mistral.ai", "huggingface.co", "snowflakecomputing.com", "z.ai"} <= hosts
    assert len(recorded()) >= 30
