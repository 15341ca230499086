"""Recorded Anthropic replies, served again over a socket in several chunkings; and the recorded requests, written again.

The folder is named by AGENTSDK_RECORDINGS. What must come out is read from each recording by a naive reader of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.testing import ServerReply
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import BadRequestError
from agentsdk.types.items import FunctionCallOutput, InputText, Item, Message, ProviderItem, Reasoning
from agentsdk.types.settings import ModelRetrySettings, ModelSettings, Thinking
from agentsdk.types.spec import OutputSpec, ToolSpec
from tests.models.anthropic.server import model_at
from tests.models.wire import ask, calls_of, events_of, reasoning_of, request, shown_reasoning, shown_text

FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")]

Interaction = dict[str, Any]
FINISHES = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls"}
OWN = ("text", "thinking", "tool_use")


def conversations() -> list[Any]:
    """The Anthropic calls of every recording, one test each."""
    found = []
    for path in sorted(Path(FOLDER).glob("*.json")) if FOLDER else []:
        calls = json.loads(path.read_text(encoding="utf-8"))["interactions"]
        calls = [call for call in calls if "api.anthropic.com" in call["request"]["uri"]]
        if calls:
            found.append(pytest.param(calls, id=path.stem.removeprefix("models__").removeprefix("cassettes__")))
    return found


def recorded() -> list[Any]:
    return [pytest.param(call, id=f"{one.id}-{number}") for one in conversations() for number, call in enumerate(one.values[0])]


def served(interaction: Interaction, chunks: Any = "whole") -> ServerReply:
    answer = interaction["response"]
    kind = {"content-type": answer["headers"].get("content-type", "")}
    if "text" in answer:
        return ServerReply(events=[answer["text"].encode()], headers=kind, chunks=chunks)
    return ServerReply(status=answer["status"], body=json.dumps(answer["json"]).encode(), headers=kind, chunks=chunks)


def message_of(interaction: Interaction) -> dict[str, Any]:
    """The message that was answered, read naively."""
    answer = interaction["response"]
    if "json" in answer:
        whole: dict[str, Any] = answer["json"]
        return whole
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for line in answer["text"].splitlines():
        event = json.loads(line[6:]) if line.startswith("data: ") else {}
        match event.get("type"):
            case "message_start":
                message = event["message"]
            case "content_block_start":
                message["content"].append(event["content_block"])
            case "content_block_delta":
                block = message["content"][event["index"]]
                for name, value in event["delta"].items():
                    if name == "partial_json":
                        inputs[event["index"]] = inputs.get(event["index"], "") + value
                    elif name != "type":
                        block[name] += value
            case "message_delta":
                message.update(event["delta"])
                message["usage"].update(event["usage"])
            case _:
                pass
    for index, text in inputs.items():
        message["content"][index]["input"] = json.loads(text)
    return message


@pytest.mark.parametrize("chunks", ["whole", "bytes", 7])
@pytest.mark.parametrize("interaction", recorded())
async def test_recording(interaction: Interaction, chunks: Any) -> None:
    streamed = "text" in interaction["response"]
    async with FakeAnthropicServer([served(interaction, chunks)]) as server:
        model = model_at(server, retry=ModelRetrySettings(max_retries=0))
        if interaction["response"]["status"] >= 400:
            with pytest.raises(BadRequestError) as caught:
                await ask(model, request(stream=streamed))
            assert (caught.value.status, caught.value.code) == (400, "invalid_request_error")
            return
        events = await events_of(model, request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    response, want = last.response, message_of(interaction)
    blocks = want["content"]
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    thinking = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    assert response.text == text
    assert reasoning_of(response) == thinking
    assert [(call_id, name, json.loads(arguments)) for call_id, name, arguments in calls_of(response)] == [
        (block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"
    ]
    assert [item.signature for item in response.output if isinstance(item, Reasoning)] == [
        block["signature"] for block in blocks if block["type"] == "thinking"
    ]
    assert [item.data for item in response.output if isinstance(item, ProviderItem)] == [
        block for block in blocks if block["type"] not in OWN
    ]
    assert response.finish == FINISHES[want["stop_reason"]]
    assert (response.response_id, response.model) == (want["id"], want["model"])
    if streamed:
        assert (shown_text(events), shown_reasoning(events)) == (text, thinking)
    usage, told = response.usage, want["usage"]
    assert (usage.requests, usage.known, usage.output_tokens) == (1, True, told["output_tokens"])
    assert usage.cached_tokens == told["cache_read_input_tokens"]
    assert usage.cache_write_tokens == told["cache_creation_input_tokens"]
    assert usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens == told["input_tokens"]


@pytest.mark.parametrize("calls", conversations())
async def test_the_conversation_is_asked_for_in_the_recorded_shape(calls: list[Interaction]) -> None:
    """The history grows by what our adapter made of the recorded replies; each request must be the recorded one."""
    history: list[Item] = []
    async with FakeAnthropicServer([served(call) for call in calls]) as server:
        for number, call in enumerate(calls):
            sent = call["request"]["json"]
            history += answers(sent["messages"][-1])
            model, asked = model_and_request(server, sent, history)
            try:
                response = await ask(model, asked)
            except BadRequestError:
                assert call["response"]["status"] == 400
                assert number == len(calls) - 1
                break
            history += response.output
    for call, got in zip(calls, server.requests, strict=True):
        assert shape(got.json) == shape(call["request"]["json"])


def answers(message: dict[str, Any]) -> list[Item]:
    """What the user said and the tools answered in the last recorded message."""
    items: list[Item] = []
    for block in message["content"]:
        if block["type"] == "text":
            items.append(Message("user", block["text"]))
        else:
            content = block["content"]
            output = content if isinstance(content, str) else tuple(InputText(part["text"]) for part in content)
            items.append(FunctionCallOutput(block["tool_use_id"], output, block["is_error"]))
    return items


def model_and_request(server: FakeAnthropicServer, sent: dict[str, Any], history: list[Item]) -> tuple[AnthropicModel, Any]:
    """Our model and request that should write what was `sent`."""
    system = sent.get("system", "")
    tools = [tool for tool in sent.get("tools", []) if "input_schema" in tool]
    extra: dict[str, object] = {}
    if hosted := [tool for tool in sent.get("tools", []) if "input_schema" not in tool]:
        extra["tools"] = hosted
    config = sent.get("output_config", {})
    model = AnthropicModel(
        sent["model"],
        base_url=server.base_url,
        cache=sent.get("cache_control", {}).get("ttl"),
        strict_tools=True,
        retry=ModelRetrySettings(max_retries=0),
    )
    return model, request(
        stream=sent["stream"],
        items=list(history),
        instructions=system if isinstance(system, str) else "".join(block["text"] for block in system),
        tools=tuple(
            ToolSpec(tool["name"], tool["description"], tool["input_schema"], tool.get("strict", False)) for tool in tools
        ),
        output=OutputSpec("answer", config["format"]["schema"]) if "format" in config else None,
        settings=ModelSettings(
            max_tokens=sent["max_tokens"],
            stop=tuple(sent["stop_sequences"]) if "stop_sequences" in sent else None,
            reasoning_effort=config.get("effort"),
            thinking=Thinking(budget=sent["thinking"]["budget_tokens"]) if "thinking" in sent else None,
            tool_choice=sent.get("tool_choice", {}).get("type"),
            extra_body=extra or None,
        ),
    )


def shape(body: dict[str, Any]) -> dict[str, Any]:
    """`body` without the differences that mean nothing to the API."""
    body = {
        **body,
        "messages": [{**message, "content": list(map(block_shape, message["content"]))} for message in body["messages"]],
    }
    if isinstance(body.get("system"), list):
        body["system"] = "".join(block["text"] for block in body["system"])
    body["tools"] = [{name: value for name, value in tool.items() if name != "defer_loading"} for tool in body.get("tools", [])]
    return body


def block_shape(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] != "tool_result":
        return block
    content = block["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**block, "is_error": block.get("is_error", False), "content": parts}


def test_all_recordings_are_there() -> None:
    assert len(recorded()) >= 13
