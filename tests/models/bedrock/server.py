"""A `BedrockModel` on a fake server, and replies as the API sends them."""

from __future__ import annotations

import json
from typing import Any

from agentsdk.models.bedrock import BedrockModel
from agentsdk.testing import FakeServer, ServerReply
from tests.models.wire import FakeClock, request

KEY = "sk-canary-0123456789"
OFFLINE = "http://127.0.0.1:9"
MODEL = "anthropic.claude-test-v1:0"


def model_at(server: FakeServer, **options: Any) -> BedrockModel:
    """A model served by `server` that waits for nothing."""
    options.setdefault("clock", FakeClock())
    if "auth" not in options:
        options.setdefault("api_key", KEY)
    return BedrockModel(MODEL, base_url=server.url, **options)


def body_of(name: str = MODEL, *, options: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """What is sent, parsed."""
    model = BedrockModel(name, base_url=OFFLINE, api_key="k", **(options or {}))
    parsed: dict[str, Any] = json.loads(bytes(model.body(request(**fields))))
    return parsed


def reply(*blocks: dict[str, Any], stop: str = "end_turn", streamed: bool = False, **rest: Any) -> ServerReply:
    """The same blocks in both wire forms; a block of a stream is what its one delta, or its beginning, holds."""
    usage = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 8}
    if not streamed:
        whole = {"output": {"message": {"role": "assistant", "content": list(blocks)}}, "stopReason": stop, "usage": usage}
        return ServerReply(body={**whole, **rest})
    events: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for index, block in enumerate(blocks):
        call = block.get("toolUse")
        delta: dict[str, Any] = block
        if call is not None:
            start = {name: value for name, value in call.items() if name != "input"}
            events.append({"contentBlockStart": {"start": {"toolUse": start}, "contentBlockIndex": index}})
            delta = {"toolUse": {"input": json.dumps(call["input"])}}
        elif "reasoningContent" in block:
            told = block["reasoningContent"]
            delta = {"reasoningContent": told.get("reasoningText", told)}
        events.append({"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}})
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    return ServerReply(events=[*events, {"messageStop": {"stopReason": stop}}, {"metadata": {"usage": usage, **rest}}])
