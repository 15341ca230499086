from __future__ import annotations

import asyncio
import errno
import gc
import gzip
import warnings
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from agentsdk.models import exchange as exchanges
from agentsdk.models import httpx_transport
from agentsdk.models import shared_client as shared_clients
from agentsdk.models.exchange import EventStream, Exchange
from agentsdk.models.httpx_transport import HttpxTransport
from agentsdk.models.network import RequestHeaders
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.models.shared_client import aclose, shared_client
from agentsdk.models.sse import ServerSentEvent
from agentsdk.models.transport import ModelTimeouts
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.errors import (
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    UserError,
)
from tests.models.wire import ask, model_at, request


@pytest.mark.anyio
async def test_models_of_one_loop_share_a_client() -> None:
    async with FakeOpenAIServer(["a", "b"]) as server:
        await ask(model_at(server), request())
        await ask(model_at(server), request())
        assert server.connections == 1
        assert await shared_client() is await shared_client()


@pytest.mark.anyio
async def test_aclose_closes_the_connections_and_a_later_request_opens_new_ones() -> None:
    async with FakeOpenAIServer(["a", "b"]) as server:
        model = model_at(server)
        await ask(model, request())
        assert server.open_connections == 1
        await aclose()
        await server.all_closed()
        assert (await ask(model, request())).text == "b"
        await aclose()
        await aclose()


@pytest.mark.anyio
async def test_a_client_of_the_caller_is_used_and_left_open() -> None:
    async with (
        httpx.AsyncClient(headers={"x-mine": "1"}, follow_redirects=True) as client,
        FakeOpenAIServer(["a", ServerReply(status=307, body=b"", headers={"location": "http://127.0.0.1:9/"})]) as server,
    ):
        model = model_at(server, http_client=client)
        await ask(model, request())
        assert server.requests[0].headers["x-mine"] == "1"
        with pytest.raises(ModelError, match="status 307"):
            await ask(model, request())
        await aclose()
        assert not client.is_closed
    with pytest.raises(UserError, match="http_client"):
        await ask(model, request())


def test_asyncio_run_closes_the_shared_client_by_itself() -> None:
    async def main() -> httpx.AsyncClient:
        async with FakeOpenAIServer(["a"]) as server:
            await ask(model_at(server), request())
            return await shared_client()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clients = [asyncio.run(main()) for _ in range(2)]
        gc.collect()
    assert all(client.is_closed for client in clients)
    assert clients[0] is not clients[1]


def test_the_entry_of_a_loop_closed_by_hand_is_dropped() -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(shared_client())
    assert loop in shared_clients._shared_by_loop
    loop.run_until_complete(aclose())
    assert loop not in shared_clients._shared_by_loop
    loop.run_until_complete(shared_client())
    loop.close()
    asyncio.run(_touch())
    assert loop not in shared_clients._shared_by_loop


async def _touch() -> None:
    await shared_client()


@pytest.mark.anyio
async def test_what_runs_here_is_reached_without_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    await aclose()
    async with FakeOpenAIServer(["a"]) as server:
        assert (await ask(model_at(server), request())).text == "a"
    await aclose()


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (httpx.ConnectTimeout("x"), ModelTimeoutError, True),
        (httpx.ReadTimeout("x"), ModelTimeoutError, True),
        (httpx.WriteTimeout("x"), ModelTimeoutError, True),
        (httpx.ConnectError("x"), ModelConnectionError, True),
        (httpx.ReadError("x"), ModelConnectionError, True),
        (httpx.RemoteProtocolError("x"), ModelConnectionError, True),
        (httpx.ProxyError("x"), ModelConnectionError, True),
        (httpx.LocalProtocolError("Illegal header value b'Bearer sk-1'"), ModelConnectionError, False),
        (OSError("x"), ModelConnectionError, True),
        (RuntimeError("x"), ModelConnectionError, False),
    ],
)
def test_failures(error: Exception, kind: type[ModelError], retryable: bool) -> None:
    found = HttpxTransport().failure(error)
    assert type(found) is kind
    assert getattr(found, "retryable", None) is retryable
    assert "sk-1" not in str(found)


@pytest.mark.anyio
async def test_an_endless_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "MAX_BODY_BYTES", 10_000)
    async with FakeOpenAIServer([ServerReply(body=b"x" * 1_000_000)]) as server:
        with pytest.raises(MalformedResponseError, match="10000 bytes"):
            await ask(model_at(server), request())
        await server.all_closed()


class OtherReply:
    """The reply of another HTTP library."""

    def __init__(self, status: int, parts: list[bytes | Exception]) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"content-type": "application/json"}
        self.parts = parts
        self.closed = False

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, Exception):
                raise part
            yield part

    async def aclose(self) -> None:
        self.closed = True


class OtherTransport:
    """Another HTTP library."""

    def __init__(self, *parts: bytes | Exception, fails: Exception | None = None) -> None:
        self.reply = OtherReply(200, list(parts))
        self.fails = fails
        self.sent: list[tuple[str, Mapping[str, str], bytes]] = []

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeouts: ModelTimeouts) -> OtherReply:
        self.sent.append((url, headers, body))
        if self.fails:
            raise self.fails
        return self.reply

    async def get(self, url: str, headers: Mapping[str, str], timeouts: ModelTimeouts) -> OtherReply:
        return await self.post(url, headers, b"", timeouts)

    def failure(self, error: Exception) -> ModelError:
        return ModelConnectionError(f"other: {error}")


async def start(transport: OtherTransport, timeouts: ModelTimeouts, *, stream: bool) -> Exchange:
    return await Exchange.start(transport, "http://127.0.0.1:9/", RequestHeaders({}), b"", timeouts, stream=stream)


@pytest.mark.anyio
async def test_another_http_library() -> None:
    good = b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}'
    transport = OtherTransport(good[:9], b"", good[9:])
    async with FakeOpenAIServer([]) as server:
        assert (await ask(model_at(server, http_client=transport), request())).text == "a"
        assert transport.reply.closed
        assert transport.sent[0][0] == f"{server.base_url}/chat/completions"
        for broken in (OtherTransport(fails=ValueError("boom")), OtherTransport(b"{", ValueError("boom"))):
            with pytest.raises(ModelConnectionError, match="other: boom"):
                await ask(model_at(server, http_client=broken), request())


@pytest.mark.anyio
async def test_every_event_restarts_the_idle_deadline() -> None:
    class Slow(OtherReply):
        async def chunks(self) -> AsyncIterator[bytes]:
            for _ in range(30):
                await asyncio.sleep(0.02)
                yield b"data: x\n\n"

    transport = OtherTransport()
    transport.reply = Slow(200, [])
    timeouts = ModelTimeouts(idle=0.5)
    async with await start(transport, timeouts, stream=True) as exchange:
        events = EventStream(exchange)
        assert [len(await events.read()) for _ in range(31)] == [1] * 30 + [0]


@pytest.mark.anyio
async def test_an_exchange_is_closed_on_the_way_out() -> None:
    transport = OtherTransport(b"ab", b"c")
    async with await start(transport, ModelTimeouts(), stream=False) as exchange:
        assert await exchange.read() == b"ab"
        assert await exchange.read_all() == b"c"
        assert await exchange.read() == b""
    assert transport.reply.closed


PING_FORMS = [
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b'data: {"type": "ping"}\n\n',
    b'event: keepalive\ndata: {"type": "keepalive", "sequence_number": 3}\n\n',
    b": comment\n\n",
]


@pytest.mark.anyio
@pytest.mark.parametrize("ping", PING_FORMS, ids=str)
async def test_pings_are_no_progress(ping: bytes) -> None:
    class Pinging(OtherReply):
        async def chunks(self) -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(0.01)
                yield ping

    transport = OtherTransport()
    transport.reply = Pinging(200, [])
    async with await start(transport, ModelTimeouts(idle=0.1, total=5), stream=True) as exchange:
        events = EventStream(exchange)
        with pytest.raises(ModelTimeoutError, match="idle"):
            while await events.read():
                pass


def test_a_word_called_ping_is_progress() -> None:
    for data in ('{"type": "text", "text": "ping"}', "ping", '{"type": ', '{"choices": [{"delta": {"content": "ping"}}]}'):
        assert not exchanges._is_ping(ServerSentEvent(data))


class RawServer:
    """Answers every request with the same bytes, then sends `more` as long as the client listens."""

    def __init__(self, *said: bytes, more: bytes = b"") -> None:
        self.said, self.more = said, more
        self.connections = 0
        self.closed = asyncio.Event()

    async def __aenter__(self) -> str:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"

    async def __aexit__(self, *_: object) -> None:
        await aclose()
        self.server.close()
        await self.server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n")
                for part in self.said:
                    writer.write(part)
                    await writer.drain()
                while self.more:
                    writer.write(self.more)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed.set()
        finally:
            writer.close()


ZIPPED = gzip.compress(b'{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}', mtime=0)
LENGTH = b"content-length: %d\r\n\r\n" % len(ZIPPED)
CHUNK = b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(ZIPPED), ZIPPED)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("said", "more", "again"),
    [
        ([LENGTH, ZIPPED], b"", True),
        ([CHUNK, b"0\r\n\r\n"], b"", True),
        ([CHUNK], b"", False),
        ([b"\r\n", ZIPPED], b"", False),
        ([b"\r\n", ZIPPED], b"x" * 65536, False),
        ([b"\r\n", ZIPPED + b"x"], b"x" * 65536, False),
        ([CHUNK], b"1\r\nx\r\n", False),
    ],
)
async def test_a_zipped_body_ends_where_its_data_does(said: list[bytes], more: bytes, again: bool) -> None:
    server = RawServer(*said, more=more)
    async with server as url:
        model = OpenAIChatCompletionsModel("m", base_url=url, timeouts=ModelTimeouts(read=None, idle=None, total=None))
        for _ in range(2):
            assert (await ask(model, request())).text == "hi"
        assert server.connections == (1 if again else 2)


@pytest.mark.anyio
async def test_zipped_data_that_inflates_to_nothing_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx_transport, "MAX_BODY_BYTES", 100_000)
    packer = zlib.compressobj(wbits=31)
    start_of_data = packer.compress(b"") + packer.flush(zlib.Z_SYNC_FLUSH)
    nothing = b"".join(packer.flush(zlib.Z_FULL_FLUSH) for _ in range(10)) or b"\x00\x00\x00\xff\xff"
    server = RawServer(b"\r\n", start_of_data, more=nothing * 1000)
    async with server as url:
        with pytest.raises(MalformedResponseError):
            await ask(OpenAIChatCompletionsModel("m", base_url=url), request())
        await server.closed.wait()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_process_out_of_files_is_told_so(number: int) -> None:
    error = httpx.ConnectError("x")
    error.__cause__ = ExceptionChain()
    error.__cause__.__context__ = OSError(number, "Too many open files")
    found = HttpxTransport().failure(error)
    assert isinstance(found, ModelConnectionError)
    assert "ulimit" in str(found)
    assert "set_max_connections" in str(found)


class ExceptionChain(Exception):
    pass


def test_the_default_number_of_connections_leaves_files_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    for files, expected in ((20_000, 1000), (1024, 512), (256, 128), (1, 1), (-1, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert shared_clients._default_connections() == expected


def test_importing_the_adapter_does_not_import_httpx() -> None:
    import subprocess
    import sys

    heavy = {"httpx", "anyio", "pydantic", "email.utils"}
    code = f"import sys, agentsdk.models.openai_chat; print(sorted({heavy} & set(sys.modules)))"
    found: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
