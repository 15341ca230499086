"""One large thing in the history: however many requests send it, it is held a few times at most, and nothing of them stays."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest

from agentsdk.models.anthropic import AnthropicModel
from agentsdk.models.bedrock import BedrockModel
from agentsdk.models.google import GoogleModel
from agentsdk.models.http_model import HttpModel
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.openai_responses import OpenAIResponsesModel
from agentsdk.models.shared_client import aclose
from agentsdk.types.errors import ModelError
from agentsdk.types.items import FunctionCall, FunctionCallOutput, InputImage, InputText, Item, Message
from agentsdk.types.settings import ModelRetrySettings
from agentsdk.types.tape import Tape
from tests.models.wire import ask, request

pytestmark = pytest.mark.anyio

PAYLOAD = 2_000_000
TURNS = 6

REPLIES: dict[type[HttpModel], bytes] = {
    OpenAIChatCompletionsModel: b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}',
    OpenAIResponsesModel: b'{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":"assistant",'
    b'"status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}',
    AnthropicModel: b'{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}',
    BedrockModel: b'{"output":{"message":{"content":[{"text":"hi"}]}},"stopReason":"end_turn"}',
    GoogleModel: b'{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}]}',
}


@asynccontextmanager
async def answering(status: bytes, reply: bytes) -> AsyncIterator[tuple[str, list[tuple[int, int]]]]:
    """A server that keeps nothing: its address, and of each request the length that was declared and what came of it."""
    seen: list[tuple[int, int]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                declared = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                left = declared
                while left and (data := await reader.read(min(left, 65_536))):
                    left -= len(data)
                seen.append((declared, declared - left))
                length = len(reply)
                writer.write(b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, length))
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", seen


@contextmanager
def traced() -> Iterator[list[int]]:
    """What the block holds in Python's memory, with no collector to help it: at its peak, and at its end."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    figures: list[int] = []
    try:
        yield figures
        held, peak = tracemalloc.get_traced_memory()
        figures += [peak, held]
    finally:
        tracemalloc.stop()
        gc.enable()


def history(kind: str) -> list[Item]:
    if kind == "image":
        return [Message("user", (InputText("see"), InputImage("data:image/png;base64," + "A" * PAYLOAD)))]
    return [Message("user", "go"), FunctionCall("c0", "look", "{}"), FunctionCallOutput("c0", "x" * PAYLOAD)]


@pytest.mark.parametrize("client", ["shared", "own"])
@pytest.mark.parametrize("kind", ["image", "result"])
@pytest.mark.parametrize("adapter", REPLIES)
async def test_a_large_payload_is_held_a_few_times_at_most(adapter: type[HttpModel], kind: str, client: str) -> None:
    async with answering(b"200 OK", REPLIES[adapter]) as (url, seen), httpx.AsyncClient() as own:
        options: dict[str, Any] = {"http_client": own} if client == "own" else {}
        model = adapter("m", base_url=url, api_key="none", **options)
        await ask(model, request())
        tape = Tape(history(kind))
        with traced() as figures:
            for turn in range(1, TURNS):
                assert (await ask(model, request(items=tape))).text == "hi"
                tape = tape.extended([FunctionCall(f"c{turn}", "look", "{}"), FunctionCallOutput(f"c{turn}", "ok")])
        await aclose()
    assert len(seen) == TURNS and all(declared == came > 0 for declared, came in seen)
    peak, held = figures
    assert peak <= 4 * PAYLOAD, f"{peak / PAYLOAD:.1f} payloads at the peak"
    assert held <= 2 * PAYLOAD, f"{held / PAYLOAD:.1f} payloads stay"


@pytest.mark.parametrize("client", ["shared", "own"])
async def test_nothing_of_a_request_waits_for_the_collector(client: str) -> None:
    """Whatever becomes of the request: its body, its headers and the key in them go with it."""
    tape = Tape(history("image"))
    for status, reply in ((b"200 OK", REPLIES[OpenAIChatCompletionsModel]), (b"400 Bad Request", b"{}"), (b"200 OK", b"{")):
        async with answering(status, reply) as (url, _), httpx.AsyncClient() as own:
            options: dict[str, Any] = {"http_client": own} if client == "own" else {}
            model = OpenAIChatCompletionsModel(
                "m", base_url=url, api_key="none", retry=ModelRetrySettings(max_retries=0), **options
            )

            async def attempt(model: OpenAIChatCompletionsModel = model) -> str:
                try:
                    return (await ask(model, request(items=tape))).text
                except ModelError as error:
                    return type(error).__name__

            await attempt()
            with traced() as figures:
                outcomes = {await attempt() for _ in range(TURNS)}
            await aclose()
        assert len(outcomes) == 1
        assert figures[1] <= PAYLOAD, f"{figures[1] / PAYLOAD:.1f} payloads stay after {outcomes}"
