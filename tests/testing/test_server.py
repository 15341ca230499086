"""The fake server seen by a plain httpx client; the adapter's own tests show its faults at work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from agentsdk.testing import CapturedRequest, FakeOpenAIServer, ServerReply, call
from agentsdk.testing.chat_dialect import request_tokens
from agentsdk.testing.server import Say
from agentsdk.types.errors import UserError
from agentsdk.types.items import Message, Reasoning, Refusal

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def serving(*script: Any) -> AsyncIterator[tuple[FakeOpenAIServer, httpx.AsyncClient]]:
    async with FakeOpenAIServer(script) as server, httpx.AsyncClient(base_url=server.base_url, timeout=5) as client:
        yield server, client


def body(stream: bool = False) -> dict[str, Any]:
    return {"model": "m", "messages": [], "stream": stream, "stream_options": {"include_usage": True}}


async def lines(client: httpx.AsyncClient) -> list[str]:
    response = await client.post("/chat/completions", json=body(stream=True))
    return [line for line in response.text.split("\n") if line]


async def test_a_json_reply_and_what_was_captured() -> None:
    said = [Reasoning("r"), Message("assistant", "a"), call("f", x=1), Message("assistant", (Refusal("no"),))]
    async with serving(said) as (server, client):
        response = await client.post("/chat/completions", json=body(), headers={"X-Test": "1"})
    message = response.json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"], message["refusal"]) == ("a", "r", "no")
    function = {"name": "f", "arguments": '{"x":1}'}
    assert message["tool_calls"] == [{"id": "call_1_1", "type": "function", "function": function}]
    assert response.json()["choices"][0]["finish_reason"] == "tool_calls"
    (captured,) = server.requests
    assert (captured.method, captured.path, captured.headers["x-test"]) == ("POST", "/v1/chat/completions", "1")
    assert captured.json == json.loads(captured.body) == body()


async def test_a_streamed_reply() -> None:
    async with serving([Message("assistant", "a b"), Message("assistant", (Refusal("no"),))]) as (_, client):
        got = await lines(client)
    assert got[-1] == "data: [DONE]"
    deltas = [choice["delta"] for line in got[:-1] for choice in json.loads(line[6:])["choices"]]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "a"}, {"content": " b"}, {"refusal": "no"}, {}]


async def test_usage_comes_only_when_asked_for_and_may_be_replaced() -> None:
    async with serving("a", ServerReply("a", usage={"prompt_tokens": 9}, finish="length")) as (_, client):
        first = await client.post("/chat/completions", json={**body(stream=True), "stream_options": None})
        second = await lines(client)
    assert "prompt_tokens" not in first.text
    assert json.loads(second[-2][6:])["usage"] == {"prompt_tokens": 9}
    assert any('"finish_reason":"length"' in line for line in second)


async def test_a_callable_sees_the_request() -> None:
    def reply(request: CapturedRequest) -> Say | ServerReply:
        return f"you sent {request.json['model']}"

    async with serving(reply) as (_, client):
        response = await client.post("/chat/completions", json=body())
    assert response.json()["choices"][0]["message"]["content"] == "you sent m"


async def test_the_end_of_the_script_and_a_wrong_path() -> None:
    async with serving() as (_, client):
        response = await client.post("/chat/completions", json=body())
        assert (response.status_code, "script" in response.text) == (400, True)
        assert (await client.get("/models")).status_code == 404


async def test_status_headers_and_bodies() -> None:
    async with serving(ServerReply(status=503, headers={"Retry-After": "1"}, body="<html>")) as (_, client):
        response = await client.post("/chat/completions", json=body())
    assert (response.status_code, response.headers["retry-after"], response.text) == (503, "1", "<html>")
    assert response.headers["content-type"] == "text/html"


@pytest.mark.parametrize("options", [{"chunks": "bytes"}, {"chunks": 5}, {"gzip": True}, {"gzip": True, "chunks": 5}])
@pytest.mark.parametrize("stream", [False, True])
async def test_wire_forms_carry_the_same(stream: bool, options: dict[str, Any]) -> None:
    async with serving(ServerReply("a b"), ServerReply("a b", **options)) as (_, client):
        plain, other = [(await client.post("/chat/completions", json=body(stream))).text for _ in range(2)]
    assert plain.replace("resp_1", "resp_2") == other


async def test_comments_and_line_ends() -> None:
    async with serving(ServerReply("a", comments=True, line_end="\r\n")) as (_, client):
        response = await client.post("/chat/completions", json=body(stream=True))
    assert response.text.count(": keep-alive\r\n\r\n") == 5
    assert "\n" not in response.text.replace("\r\n", "")


async def test_a_reply_waits() -> None:
    gate = asyncio.Event()
    async with serving(ServerReply("a", wait=gate)) as (server, client):
        asked = asyncio.ensure_future(client.post("/chat/completions", json=body()))
        await server.requested()
        assert not asked.done()
        gate.set()
        assert (await asked).status_code == 200


@pytest.mark.parametrize(
    "reply",
    [
        ServerReply("a", then="refuse"),
        ServerReply("a", then="reset", stops_after=1),
        ServerReply(body=b"abc", then="reset", stops_after=1),
    ],
)
async def test_resets(reply: ServerReply) -> None:
    async with serving(reply) as (server, client):
        with pytest.raises(httpx.TransportError):
            await client.post("/chat/completions", json=body(stream=reply.body is None))
        await server.all_closed()


@pytest.mark.parametrize("then", ["stall", "pings", "open"])
async def test_stalls(then: Any) -> None:
    async with serving(ServerReply("a b", stops_after=None if then == "open" else 2, then=then)) as (server, client):
        async with client.stream("POST", "/chat/completions", json=body(stream=True)) as response:
            chunks = response.aiter_raw()
            first = await chunks.__anext__()
            assert first.startswith(b"data: ")
            if then == "pings":
                while await chunks.__anext__() != b": ping\n\n":
                    pass
        await server.all_closed()


async def test_leaving_ends_what_hangs() -> None:
    async with httpx.AsyncClient() as client:
        async with FakeOpenAIServer([ServerReply("a", wait=asyncio.Event())]) as server:
            asked = asyncio.ensure_future(client.post(f"{server.base_url}/chat/completions", json=body()))
            await server.requested()
        with pytest.raises(httpx.TransportError):
            await asked
        assert server.open_connections == 0
        with pytest.raises(UserError, match="async with"):
            _ = server.url


async def test_events_go_out_as_they_are() -> None:
    async with serving(ServerReply(events=[b"raw\n\n", "text", {"a": 1}])) as (_, client):
        response = await client.post("/chat/completions", json=body())
    assert response.text == 'raw\n\ndata: text\n\ndata: {"a":1}\n\n'


async def test_a_request_that_is_too_long_is_refused_and_takes_nothing_from_the_script() -> None:
    def asking(length: int) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": "x" * length}]}

    async with (
        FakeOpenAIServer(["short"], context_window=100, count=len) as server,
        httpx.AsyncClient(base_url=server.base_url, timeout=5) as client,
    ):
        refused = await client.post("/chat/completions", json=asking(200))
        taken = await client.post("/chat/completions", json=asking(50))
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "maximum context length is 100 tokens. However, your messages resulted in 207" in refused.json()["error"]["message"]
    assert (server.refused, taken.json()["choices"][0]["message"]["content"]) == (1, "short")
    assert taken.json()["usage"]["prompt_tokens"] == 57, "what it counted is billed"


def test_calls_and_tools_are_counted() -> None:
    call: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]
    few = request_tokens({"messages": messages}, len)
    with_tools = request_tokens({"messages": messages, "tools": [{"type": "function"}]}, len)
    with_calls = request_tokens({"messages": [*messages, {"role": "assistant", "content": None, "tool_calls": [call]}]}, len)
    assert few == 3 + 4 + 2
    assert with_tools > few + 10
    assert with_calls > few + 40
