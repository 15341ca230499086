"""Recorded answers of servers of the Responses API, served again over a socket, and the requests of the same conversations.

The folder is named by AGENTSDK_RECORDINGS. What must come out is read from each recording by a naive reader of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentsdk.testing import ServerReply
from agentsdk.testing.responses_dialect import FakeResponsesServer
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import BadRequestError
from agentsdk.types.items import FunctionCallOutput, Item, Message, ProviderItem, Reasoning
from agentsdk.types.spec import ToolSpec
from tests.models.openai_responses.server import model_at
from tests.models.wire import calls_of, events_of, reasoning_of, request, shown_reasoning, shown_text

FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")]

Interaction = dict[str, Any]


def conversations() -> dict[str, list[Interaction]]:
    """The calls to a Responses server, by recording."""
    found: dict[str, list[Interaction]] = {}
    for path in sorted(Path(FOLDER).glob("*.json")) if FOLDER else []:
        calls = json.loads(path.read_text(encoding="utf-8"))["interactions"]
        if calls := [call for call in calls if call["request"]["uri"].endswith("/responses")]:
            found[path.stem.removeprefix("models__cassettes__")] = calls
    return found


RECORDED = [pytest.param(call, id=f"{name}-{n}") for name, calls in conversations().items() for n, call in enumerate(calls)]


def served(interaction: Interaction, chunks: Any) -> ServerReply:
    answer = interaction["response"]
    kind = {"content-type": answer["headers"].get("content-type", "")}
    if "text" in answer:
        return ServerReply(events=[answer["text"].encode()], headers=kind, chunks=chunks)
    return ServerReply(status=answer["status"], body=json.dumps(answer["json"]).encode(), headers=kind, chunks=chunks)


def whole(interaction: Interaction) -> dict[str, Any]:
    """The reply's last word."""
    answer = interaction["response"]
    if "json" in answer:
        return answer["json"]  # type: ignore[no-any-return]
    lines = [line[6:] for line in answer["text"].splitlines() if line.startswith("data: ")]
    return json.loads(lines[-1])["response"]  # type: ignore[no-any-return]


def expected(reply: dict[str, Any]) -> dict[str, Any]:
    """Text, reasoning, calls and the types of the other items, read naively."""
    output = reply["output"]
    parts = [part for item in output if item["type"] == "message" for part in item["content"]]
    thoughts = [item for item in output if item["type"] == "reasoning"]
    return {
        "text": "".join(part["text"] for part in parts),
        "reasoning": "".join(
            "".join(part["text"] for part in item.get("content") or []) or "\n\n".join(part["text"] for part in item["summary"])
            for item in thoughts
        ),
        "sealed": [item.get("encrypted_content") or "" for item in thoughts],
        "calls": [(item["call_id"], item["name"], item["arguments"]) for item in output if item["type"] == "function_call"],
        "other": [item for item in output if item["type"] not in ("message", "reasoning", "function_call")],
    }


@pytest.mark.parametrize("chunks", ["whole", "bytes", 7])
@pytest.mark.parametrize("interaction", RECORDED)
async def test_recording(interaction: Interaction, chunks: Any) -> None:
    streamed = "text" in interaction["response"]
    async with FakeResponsesServer([served(interaction, chunks)]) as server:
        model = model_at(server)
        if interaction["response"]["status"] >= 400:
            with pytest.raises(BadRequestError) as caught:
                await events_of(model, request(stream=streamed))
            told = interaction["response"]["json"]["error"]
            assert (caught.value.status, caught.value.code) == (400, told["code"] or told["type"])
            return
        events = await events_of(model, request(stream=streamed))
    last = events[-1]
    assert isinstance(last, ResponseCompleted)
    response, reply = last.response, whole(interaction)
    want = expected(reply)
    assert response.text == want["text"]
    assert reasoning_of(response) == want["reasoning"]
    assert [item.encrypted for item in response.output if isinstance(item, Reasoning)] == want["sealed"]
    assert calls_of(response) == want["calls"]
    assert [item.data for item in response.output if isinstance(item, ProviderItem)] == want["other"]
    assert response.finish == ("tool_calls" if want["calls"] else "stop")
    assert (response.response_id, response.model) == (reply["id"], reply["model"])
    if streamed:
        assert (shown_text(events), shown_reasoning(events)) == (want["text"], want["reasoning"])
    usage = reply["usage"]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (usage["input_tokens"], usage["output_tokens"])
    assert response.usage.cached_tokens == usage["input_tokens_details"]["cached_tokens"]
    assert response.usage.reasoning_tokens == usage["output_tokens_details"]["reasoning_tokens"]
    assert response.usage.known


# Conversations whose next request holds the reply before as it came.
CONTINUED = [
    "test_deepseek_responses__test_deepseek_responses[function_tool_stream]",
    "test_openai_responses__test_openai_responses_model_simple_response_with_tool_call",
    "test_openai_responses__test_openai_responses_phase_streamed_on_part_start",
    "test_openai_responses__test_openai_responses_model_web_search_tool_stream",
]


@pytest.mark.parametrize("name", CONTINUED)
async def test_the_next_request_has_the_recorded_shape(name: str) -> None:
    first, second = conversations()[name]
    asked = first["request"]["json"]
    items: list[Item] = [Message("user", entry["content"]) for entry in asked["input"]]
    functions = [tool for tool in asked["tools"] if tool["type"] == "function"]
    tools = tuple(ToolSpec(tool["name"], tool["description"] or "", tool["parameters"]) for tool in functions)
    async with FakeResponsesServer([served(first, "whole")]) as server:
        model = model_at(server)
        streamed = "text" in first["response"]
        last = (await events_of(model, request(stream=streamed, items=items, tools=tools)))[-1]
    assert isinstance(last, ResponseCompleted)
    items.extend(last.response.output)
    recorded = second["request"]["json"]
    for entry in recorded["input"]:
        if entry.get("type") == "function_call_output":
            items.append(FunctionCallOutput(entry["call_id"], entry["output"]))
    if recorded["input"][-1].get("role") == "user":
        items.append(Message("user", recorded["input"][-1]["content"]))
    sent = json.loads(model.body(request(stream=recorded["stream"], items=items, tools=tools)))
    assert [shape(entry) for entry in sent["input"]] == [shape(entry) for entry in recorded["input"]]
    for mine, theirs in zip(sent.get("tools", []), functions, strict=True):
        assert {**mine, "description": theirs["description"]} == theirs


def shape(entry: dict[str, Any]) -> dict[str, Any]:
    """What the server needs of an entry: what may be left out, what was normalised when recorded, is."""
    kind = entry.get("type", "message")
    if kind == "message":
        text = entry["content"] if isinstance(entry["content"], str) else entry["content"][0]["text"]
        return {"role": entry["role"], "text": plain(text), "id": entry.get("id"), "phase": entry.get("phase")}
    kept = {"type": kind, **{name: value for name, value in entry.items() if value is not None}}
    if kind == "function_call":
        kept.pop("id", None)
    kept.pop("status", None)
    if "encrypted_content" in kept:  # sealed anew in each event that carries it
        kept["encrypted_content"] = True
    if "action" in kept:
        kept["action"] = {name: value for name, value in kept["action"].items() if name != "sources"}
    return kept


def plain(text: str) -> str:
    return "".join(letter for letter in text if letter.isascii() and letter.isalnum())


def test_all_recordings_are_there() -> None:
    assert len(RECORDED) >= 19
    assert set(CONTINUED) <= set(conversations())
