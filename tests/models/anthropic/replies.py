"""Messages as a server sends them, for the tests of this adapter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.testing import ServerReply
from tests.models.wire import request

OFFLINE = "http://127.0.0.1:9"
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "https://x"}]}


def body_of(model: AnthropicModel, **fields: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(model.body(request(**fields)))
    return parsed


BOTH = pytest.mark.parametrize("streamed", [False, True])


def whole(*blocks: dict[str, Any], stop: str | None = "end_turn", **rest: Any) -> dict[str, Any]:
    return {"id": "m1", "type": "message", "content": list(blocks), "stop_reason": stop, **rest}


def start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def stream_of(*events: dict[str, Any], reason: str | None = "end_turn", **rest: Any) -> list[dict[str, Any]]:
    opening = {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 3, "output_tokens": 1}}}
    closing = {"type": "message_delta", "delta": {"stop_reason": reason, **rest}, "usage": {"output_tokens": 5}}
    return [opening, *events, closing, {"type": "message_stop"}]


def reply(*blocks: dict[str, Any], reason: str = "end_turn", streamed: bool, **rest: Any) -> ServerReply:
    """The same blocks in both wire forms."""
    if not streamed:
        return ServerReply(body=whole(*blocks, stop=reason, **rest))
    events = [event for index, block in enumerate(blocks) for event in (start(index, **block), stop(index))]
    return ServerReply(events=stream_of(*events, reason=reason, **rest))
