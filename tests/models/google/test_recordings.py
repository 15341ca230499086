"""Recorded answers of Google's API, served again over a socket in several chunkings, and the requests they were answers to.

The folder is named by AGENTSDK_RECORDINGS. What must come out is read from each recording by a naive reader of its own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentsdk.models.google import GoogleModel
from agentsdk.ports.model import ModelRequest
from agentsdk.testing import ServerReply
from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.types.deltas import ResponseCompleted
from agentsdk.types.errors import ContentFilterError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, Message, Reasoning
from agentsdk.types.response import ModelResponse
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import OutputSpec, ToolSpec
from agentsdk.types.tape import Tape
from tests.models.wire import ask, calls_of, events_of, reasoning_of, shown_reasoning, shown_text

FOLDER = os.environ.get("AGENTSDK_RECORDINGS", "")

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")]

Interaction = dict[str, Any]


def recorded() -> list[Any]:
    """Every conversation with Google, one test each."""
    found = []
    for path in sorted(Path(FOLDER).glob("*google*.json")) if FOLDER else []:
        interactions = json.loads(path.read_text(encoding="utf-8"))["interactions"]
        found.append(pytest.param(interactions, id=path.stem.removeprefix("models__")))
    return found


def served(interaction: Interaction, chunks: Any) -> ServerReply:
    answer = interaction["response"]
    kind = {"content-type": answer["headers"].get("content-type", "")}
    if "text" in answer:
        return ServerReply(events=[answer["text"].encode()], headers=kind, chunks=chunks)
    return ServerReply(status=answer["status"], body=json.dumps(answer["json"]).encode(), headers=kind, chunks=chunks)


def chunks_of(interaction: Interaction) -> list[Any]:
    answer = interaction["response"]
    if "text" not in answer:
        return [answer["json"]]
    return [json.loads(line[6:]) for line in answer["text"].splitlines() if line.startswith("data: ")]


def check_reply(interaction: Interaction, response: ModelResponse) -> None:
    """Text, reasoning, calls, signatures, finish and usage, read naively."""
    parsed = chunks_of(interaction)
    parts = [part for one in parsed for part in one["candidates"][0]["content"].get("parts", [])]
    assert response.text == "".join(part.get("text", "") for part in parts if not part.get("thought"))
    assert reasoning_of(response) == "".join(part["text"] for part in parts if part.get("thought"))
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [(name, json.loads(arguments)) for _, name, arguments in calls_of(response)] == [
        (c["name"], c["args"]) for c in calls
    ]
    assert [call_id for call_id, _, _ in calls_of(response)] == [
        call.get("id") or f"call_{parsed[0]['responseId']}_{number}" for number, call in enumerate(calls)
    ]
    signed = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
    assert [item.signature for item in response.output if isinstance(item, Reasoning) and item.signature] == signed
    assert response.finish == ("tool_calls" if calls else "stop")
    usage = parsed[-1]["usageMetadata"]
    assert (response.usage.requests, response.usage.known) == (1, True)
    assert response.usage.input_tokens == usage["promptTokenCount"]
    assert response.usage.total_tokens == usage["promptTokenCount"] + usage.get("candidatesTokenCount", 0) + usage.get(
        "thoughtsTokenCount", 0
    )
    assert response.usage.reasoning_tokens == usage.get("thoughtsTokenCount", 0)


@pytest.mark.parametrize("chunks", ["whole", "bytes", 7])
@pytest.mark.parametrize("interactions", recorded())
async def test_recording(interactions: list[Interaction], chunks: Any) -> None:
    """Each reply is read right, and the next request, made of what was read, has the recorded shape."""
    history: list[Item] = []
    for number, interaction in enumerate(interactions):
        body = interaction["request"]["json"]
        history.extend(told(body["contents"][0 if number == 0 else -1], history))
        async with FakeGoogleServer([served(interaction, chunks)]) as server:
            name = interaction["request"]["uri"].split("/models/")[1].split(":")[0]
            model = GoogleModel(name, base_url=server.base_url)
            asked = request_for(interaction, history)
            if chunks_of(interaction)[-1]["candidates"][0]["finishReason"] == "SAFETY":
                with pytest.raises(ContentFilterError, match="SAFETY"):
                    await ask(model, asked)
            else:
                last = (events := await events_of(model, asked))[-1]
                assert isinstance(last, ResponseCompleted)
                check_reply(interaction, last.response)
                history.extend(last.response.output)
                if asked.stream:
                    assert (shown_text(events), shown_reasoning(events)) == (last.response.text, reasoning_of(last.response))
        sent = server.requests[0]
        assert sent.path == "/v1beta" + interaction["request"]["uri"].split("/v1beta")[1]
        check_ids(sent.json["contents"])
        assert shape(sent.json) == shape(body)


def told(content: dict[str, Any], history: list[Item]) -> list[Item]:
    """What the client added to the conversation in this content."""
    calls = [item for item in history if isinstance(item, FunctionCall)]
    results = [part["functionResponse"]["response"]["return_value"] for part in content["parts"] if "functionResponse" in part]
    if results:
        return [FunctionCallOutput(call.call_id, text) for call, text in zip(calls[-len(results) :], results, strict=True)]
    return [Message("user", part["text"]) for part in content["parts"] if part["text"]]


def request_for(interaction: Interaction, history: list[Item]) -> ModelRequest:
    """The request of the SDK that asks for the same."""
    body = interaction["request"]["json"]
    config = body["generationConfig"]
    declared = [one for tool in body.get("tools", []) for one in tool["functionDeclarations"]]
    schema = config.get("responseJsonSchema")
    return ModelRequest(
        items=Tape(history),
        instructions=body["systemInstruction"]["parts"][0]["text"] if "systemInstruction" in body else "",
        tools=tuple(ToolSpec(tool["name"], tool["description"], parameters(tool)) for tool in declared),
        output=OutputSpec("output", schema) if schema else None,
        settings=ModelSettings(
            temperature=config.get("temperature"),
            tool_choice="required" if "toolConfig" in body else None,
            extra_body={"safetySettings": body["safetySettings"]} if "safetySettings" in body else None,
        ),
        stream="text" in interaction["response"],
    )


def parameters(tool: dict[str, Any]) -> Any:
    """A tool's schema, in whichever of three forms it was recorded."""
    for name in ("parametersJsonSchema", "parameters_json_schema"):
        if name in tool:
            return tool[name]
    return json.loads(json.dumps(tool["parameters"]).replace('"STRING"', '"string"').replace('"OBJECT"', '"object"'))


def check_ids(contents: Any) -> None:
    """Each call's id is that of its result."""
    parts = [part for content in contents for part in content["parts"]]
    calls = [part["functionCall"]["id"] for part in parts if "functionCall" in part]
    assert calls == [part["functionResponse"]["id"] for part in parts if "functionResponse" in part]
    assert len(set(calls)) == len(calls)


def shape(body: Any) -> Any:
    """A request without what is the client's choice: ids, the key of a result, base64's alphabet, how a schema is declared."""
    config = {name: value for name, value in body.get("generationConfig", {}).items() if name != "responseModalities"}
    tools = [one for tool in body.get("tools", []) for one in tool["functionDeclarations"]]
    return {
        "contents": [(content["role"], list(map(part_shape, content["parts"]))) for content in body["contents"]],
        "config": config,
        "system": body.get("systemInstruction", {}).get("parts"),
        "tools": [(tool["name"], tool["description"], parameters(tool)) for tool in tools],
        "mode": body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode"),
        "safety": body.get("safetySettings"),
    }


def part_shape(part: dict[str, Any]) -> Any:
    made = dict(part)
    if "thoughtSignature" in made:
        made["thoughtSignature"] = made["thoughtSignature"].replace("+", "-").replace("/", "_")
    if "functionCall" in made:
        made["functionCall"] = (made["functionCall"]["name"], made["functionCall"]["args"])
    if "functionResponse" in made:
        response = made["functionResponse"]
        made["functionResponse"] = (response["name"], list(response["response"].values()))
    return made


def test_all_recordings_are_there() -> None:
    counts = [len(param.values[0]) for param in recorded()]
    assert (len(counts) >= 6, sum(counts) >= 14) == (True, True)
