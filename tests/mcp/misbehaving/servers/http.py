"""Servers that misbehave as HTTP servers do."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable

from tests.mcp.misbehaving.clock import PATIENCE, pause
from tests.mcp.misbehaving.servers.base import Server
from tests.mcp.misbehaving.servers.http_front import HttpFront, Request, http_case

LIST, CALL = "tools/list", "tools/call"
_DRIP = 0.05
"""Seconds between what a slow server sends."""


class Status(HttpFront):
    """Answers with a status, always or only some method, always or once."""

    status = 500
    on = ""
    once = False
    body = b"no"
    kind = "text/plain"
    headers = ""

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if (not self.on or request.method == self.on) and not (self.once and self.inner.count("refused")):
            self.inner.note("refused")
            if request.method == CALL:
                self.inner.note("call ping")
            self.plain(out, self.status, self.body, self.kind, self.headers)
        else:
            await super().post(request, out)


for _status in (400, 401, 403, 404, 429, 500, 503):
    http_case(f"http/{_status}")(type(f"Always{_status}", (Status,), {"status": _status}))
    http_case(f"http/{_status}_to_calls")(type(f"Calls{_status}", (Status,), {"status": _status, "on": CALL}))
http_case("http/500_to_a_call")(type("Call500", (Status,), {"on": CALL, "once": True}))
http_case("http/500_to_a_list")(type("List500", (Status,), {"on": LIST, "once": True}))
http_case("http/502_of_a_page")(
    type("Page", (Status,), {"status": 502, "body": b"<html>" + b"x" * 500_000, "kind": "text/html", "on": CALL})
)
http_case("http/401_with_a_challenge")(
    type(
        "Challenge",
        (Status,),
        {"status": 401, "headers": 'www-authenticate: Bearer resource_metadata="http://127.0.0.1:9/"\r\n'},
    )
)
http_case("http/200_of_a_page")(type("Html", (Status,), {"status": 200, "kind": "text/html", "on": CALL}))
http_case("http/200_without_body")(type("Empty", (Status,), {"status": 200, "body": b"", "on": CALL}))
http_case("http/200_of_no_json")(type("NoJson", (Status,), {"status": 200, "kind": "application/json", "on": CALL}))
http_case("http/200_of_bad_utf8")(
    type("Utf8", (Status,), {"status": 200, "body": b'{"\xff', "kind": "application/json", "on": CALL})
)
http_case("http/202_to_a_call")(type("Accepted", (Status,), {"status": 202, "body": b"", "on": CALL}))
http_case("http/204_to_a_call")(type("NoContent", (Status,), {"status": 204, "body": b"", "on": CALL}))


class Redirect(HttpFront):
    """Sends the client to another server, which a test makes: `other` is its origin."""

    status = 307
    on = ""

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if not self.on or request.method == self.on:
            self.plain(out, self.status, headers=f"location: {self.location}/mcp\r\n")
        else:
            await super().post(request, out)


http_case("http/redirect_307")(Redirect)
http_case("http/redirect_302")(type("Found", (Redirect,), {"status": 302}))
http_case("http/redirect_308_of_a_call")(type("OfCall", (Redirect,), {"status": 308, "on": CALL}))


@http_case("http/session_forgotten")
class Forgotten(HttpFront):
    """Forgets its sessions before the first call."""

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if request.method == CALL and self.opened == 1:
            self.sessions.clear()
        await super().post(request, out)


@http_case("http/session_forgotten_with_400")
class Forgotten400(Forgotten):
    def no_session(self, request: Request, out: asyncio.StreamWriter, status: int) -> None:
        self.plain(out, 400)


@http_case("http/session_forgotten_in_words")
class ForgottenInWords(Forgotten):
    """Says so in JSON-RPC, as the official packages do."""

    says, names_request = 404, False

    def no_session(self, request: Request, out: asyncio.StreamWriter, status: int) -> None:
        number = request.message.get("id") if self.names_request else None
        error = {"code": -32600, "message": "Session not found"}
        body = json.dumps({"jsonrpc": "2.0", "error": error, "id": number}).encode()
        self.plain(out, self.says, body, "application/json")


http_case("http/session_forgotten_in_words_with_400")(type("InWords400", (ForgottenInWords,), {"says": 400}))
http_case("http/session_forgotten_with_400_to_the_request")(
    type("ToTheRequest", (ForgottenInWords,), {"says": 400, "names_request": True})
)


@http_case("http/end_of_the_handshake_cut")
class HandshakeCut(HttpFront):
    """Never hears that its first handshake is done."""

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if request.method == "notifications/initialized" and self.opened == 1:
            self.cut(out)
        await super().post(request, out)


class OnCall(HttpFront):
    """Does `misbehave` with the first call, or with every one."""

    always = True

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        if request.method == CALL and (self.always or not self.inner.count("call")):
            self.inner.note("call ping")
            await self.misbehave(request, out)
        else:
            await super().post(request, out)

    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        raise NotImplementedError


class First(OnCall):
    always = False

    async def drip(self, out: asyncio.StreamWriter, send: Callable[[], None]) -> None:
        """Send a little again and again. Once the client's patience is over the time is the machine's, as it has more to do."""
        waited = 0.0
        while not self.closing.is_set():
            send()
            await out.drain()
            await (pause(_DRIP) if waited < PATIENCE else asyncio.sleep(_DRIP))
            waited += _DRIP


@http_case("http/no_answer")
class NoAnswer(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.inner.keep_silent()
        await self.closing.wait()


@http_case("http/no_answer_at_all")
class NoAnswerAtAll(HttpFront):
    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.inner.keep_silent()
        await self.closing.wait()


@http_case("http/reset")
class Reset(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.cut(out)


@http_case("http/closes_after_each_answer")
class Closes(HttpFront):
    async def respond(self, request: Request, out: asyncio.StreamWriter) -> None:
        await super().respond(request, out)
        await out.drain()
        self.cut(out)


@http_case("http/not_http")
class NotHttp(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        out.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        self.cut(out)


@http_case("http/cut_body")
class CutBody(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        body = self.answer(request)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body) + 100}\r\n\r\n"
        out.write(head.encode() + body[:-5])
        self.cut(out)


@http_case("http/cut_chunks")
class CutChunks(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        out.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nfff\r\n{")
        self.cut(out)


@http_case("http/slow_headers")
class SlowHeaders(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        out.write(b"HTTP/1.1 200 OK\r\n")
        await self.drip(out, lambda: out.write(b"x-more: 1\r\n"))


@http_case("http/stream_cut")
class StreamCut(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [])
        self.chunk(out, b": a comment\n\n")
        self.cut(out)


@http_case("http/stream_ends_without_answer")
class StreamEnds(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}'])
        self.chunk(out, b"")


@http_case("http/stream_cut_after_an_id")
class StreamCutId(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [])
        self.chunk(out, b"id: 7\nretry: 10\ndata:\n\n")
        self.cut(out)


@http_case("http/stream_without_answer")
class StreamSilent(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [])
        await self.drip(out, lambda: self.chunk(out, b": still there\n\n"))


@http_case("http/stream_goes_on")
class StreamGoesOn(OnCall):
    """Answers, and leaves the stream open."""

    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [self.answer(request)])
        await out.drain()
        await self.closing.wait()


@http_case("http/stream_of_garbage")
class StreamGarbage(OnCall):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [])
        self.chunk(
            out, b"event: odd\ndata: {\n\nretry: soon\nid\n\n: \xff\n\nevent: message\ndata: " + self.answer(request) + b"\n\n"
        )
        self.chunk(out, b"")


@http_case("http/stream_of_no_json")
class StreamNoJson(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [b"oops"])
        self.chunk(out, b"")


@http_case("http/event_of_3_mb")
class BigEvent(OnCall):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [self.answer(request, {"content": [{"type": "text", "text": "pong " + "x" * 3_000_000}]})])
        self.chunk(out, b"")


@http_case("http/event_without_end")
class EndlessEvent(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [])
        self.chunk(out, b"data: ")
        while not self.closing.is_set():
            self.chunk(out, b"x" * 1_000_000)
            await out.drain()


@http_case("http/body_of_100_mb")
class BigBody(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.plain(out, 200, b"x" * 100_000_000, "application/json")


@http_case("http/body_without_end")
class EndlessBody(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        out.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        while not self.closing.is_set():
            self.chunk(out, b"x" * 1_000_000)
            await out.drain()


@http_case("http/gzip_of_200_mb")
class Bomb(First):
    packed = b""

    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        Bomb.packed = Bomb.packed or gzip.compress(b"[" * 200_000_000, 1)
        self.plain(out, 200, Bomb.packed, "application/json", "content-encoding: gzip\r\n")


@http_case("http/other_id")
class OtherId(First):
    async def misbehave(self, request: Request, out: asyncio.StreamWriter) -> None:
        other = self.answer(request._replace(message={**request.message, "id": 99_999}), {"content": []})
        self.plain(out, 200, other, "application/json")
        self.inner.keep_silent()


@http_case("http/get_500")
class Get500(HttpFront):
    async def get(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.plain(out, 500)


@http_case("http/get_is_silent")
class GetSilent(HttpFront):
    async def get(self, request: Request, out: asyncio.StreamWriter) -> None:
        await self.closing.wait()


@http_case("http/get_ends_at_once")
class GetEnds(HttpFront):
    async def get(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.stream(out, [])
        self.chunk(out, b"retry: 1\n\n")
        self.chunk(out, b"")


@http_case("http/delete_is_silent")
class DeleteSilent(HttpFront):
    async def delete(self, request: Request, out: asyncio.StreamWriter) -> None:
        self.inner.keep_silent()
        await self.closing.wait()


@http_case("http/session_of_odd_characters")
class OddSession(HttpFront):
    async def messages(self, request: Request, answers: list[bytes], out: asyncio.StreamWriter, headers: str = "") -> None:
        await super().messages(request, answers, out, "mcp-session-id: \u00e9 \x01 odd\r\n" if headers else "")

    async def post(self, request: Request, out: asyncio.StreamWriter) -> None:
        await self.messages(request, self.handled(request.message), out, "x" if request.method == "initialize" else "")


@http_case("http/says_the_url")
class SaysUrl(Status):
    """Fails, so that an error is written about it."""

    status = 500


@http_case("http/healthy")
class Healthy(HttpFront):
    serves = Server
