"""Responses as a server sends them, for the tests of this adapter."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.testing import ServerReply

BOTH = pytest.mark.parametrize("streamed", [False, True])


TEXT = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}


CALL = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}', "status": "completed"}


def body(*output: Any, status: str | None = "completed", **rest: Any) -> dict[str, Any]:
    return {"id": "r1", "object": "response", "model": "m", "status": status, "output": list(output), **rest}


def last(reply: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.{reply['status']}", "response": reply}


def done(item: Any, index: int = 0) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def said(reply: dict[str, Any], *, streamed: bool) -> ServerReply:
    """The same reply in both wire forms."""
    return ServerReply(events=[last(reply)]) if streamed else ServerReply(body=reply)
