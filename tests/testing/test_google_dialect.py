from __future__ import annotations

from typing import Any

import httpx
import pytest

from agentsdk.testing.google_dialect import FakeGoogleServer
from agentsdk.testing.server import ServerReply
from agentsdk.types.response import ModelResponse

pytestmark = pytest.mark.anyio
METHOD = "/v1beta/models/gemini-x:generateContent"


async def body_of(reply: Any, path: str = METHOD) -> Any:
    async with FakeGoogleServer([reply]) as server, httpx.AsyncClient() as client:
        response = await client.post(server.base_url + path, json={"contents": []})
    return response.json()


async def test_a_reply_names_the_model_of_the_path_and_leaves_zeros_out() -> None:
    body = await body_of(ModelResponse((), model=""))
    assert body["modelVersion"] == "gemini-x"
    assert body["candidates"] == [{"content": {"parts": [], "role": "model"}, "index": 0, "finishReason": "STOP"}]
    assert body["usageMetadata"] == {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}


async def test_finish_and_usage_are_changed_or_left_out() -> None:
    changed = await body_of(ServerReply("a", finish="SAFETY", usage={"promptTokenCount": 1}))
    assert (changed["candidates"][0]["finishReason"], changed["usageMetadata"]) == ("SAFETY", {"promptTokenCount": 1})
    without = await body_of(ServerReply("a", finish="", usage=None))
    assert "finishReason" not in without["candidates"][0]
    assert "usageMetadata" not in without


@pytest.mark.parametrize("path", ["/v1beta/models/gemini-x:embedContent", "/v1beta/models/a/b:generateContent", "/v1/x"])
async def test_another_path_is_refused(path: str) -> None:
    assert "no such path" in (await body_of("a", path))["error"]["message"]
