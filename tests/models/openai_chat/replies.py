"""Chat completions as a server sends them, for the tests of this adapter."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.testing import ServerReply

BOTH = pytest.mark.parametrize("streamed", [False, True])


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **rest: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **rest}


def whole(message: dict[str, Any], finish: str | None = "stop", **rest: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **rest}


def reply(message: dict[str, Any], finish: str | None = "stop", *, streamed: bool, **options: Any) -> ServerReply:
    """The same message in both wire forms."""
    if not streamed:
        return ServerReply(body=whole(message, finish), **options)
    return ServerReply(events=[chunk(message), chunk(finish=finish), "[DONE]"], **options)


TOOL_CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
