"""The streamable HTTP transport of the official package, over a client of ours that keeps a fault to its own request.

In the package's transport a request that cannot connect ends the whole connection, other runs' calls with it, and an HTTP error
loses its status. Here each is an answer to its own request. Bodies are capped.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, cast

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from agentsdk.types.base import JsonObject
from agentsdk.types.text import escaped

MAX_BODY = 64 * 2**20
"""The longest body, or event, in bytes that a server may send."""

_GOOD_BYE = 2.0
_TAKEN = 5.0  # for a notification, which a server takes before it does anything about it
_POOL = httpx2.Limits(max_keepalive_connections=20)  # no maximum: a call may last for as long as it likes
_REDIRECTS = range(300, 400)
_SESSION_LOST = (400, 404)  # the protocol's is 404; servers that know no such session say 400 too


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str], timeout: float, auth: Any) -> AsyncGenerator[TransportStreams]:
    """The streams of messages to and from the server at `url`. `timeout`: seconds to connect and to send."""
    limits = httpx2.Timeout(timeout, read=None)  # how long a server may be silent each request says for itself
    sends = ContainedTransport(httpx2.AsyncHTTPTransport(_certificates(), limits=_POOL))
    given = {"accept-encoding": "identity", **headers}
    async with (
        httpx2.AsyncClient(headers=given, timeout=limits, transport=sends, trust_env=False, auth=auth) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_BODY) as streams,
    ):
        yield streams


class ContainedTransport(httpx2.AsyncBaseTransport):
    """Sends requests, and answers those that fail itself: with a JSON-RPC error that names the HTTP status, or that says that
    nothing could be sent."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "DELETE":  # the end of a session: nobody waits long for a server to say good bye
            request.extensions["timeout"] = httpx2.Timeout(_GOOD_BYE).as_dict()
        message = _message(request)
        if not message:  # the stream of the server's own messages, or an auth flow
            return await self._inner.handle_async_request(request)
        request_id, method = message.get("id"), message.get("method")
        if request_id is None or method is None:
            return await self._unanswered(request, method)
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            unsent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
            how = "unsent" if unsent else "sent"
            return _answer(request, request_id, 503, {"unreachable": how}, type(error).__name__)
        if response.status_code in _REDIRECTS and response.has_redirect_location:
            target = request.url.join(response.headers["location"])
            if (target.scheme, target.host, target.port) != (request.url.scheme, request.url.host, request.url.port):
                await response.aclose()
                where = escaped(f"{target.scheme}://{target.host}")
                said = f"a redirect to {where}, which is not followed"
                return _answer(request, request_id, 400, {"http_status": response.status_code}, said)
            return response
        if response.status_code >= 400:
            return await _with_status(request, request_id, response)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()  # what it unpacks to has no bound
            return _answer(request, request_id, 400, {"http_status": response.status_code}, "a compressed body, not asked for")
        response.stream = _CappedStream(response.stream)
        return response

    async def _unanswered(self, request: httpx2.Request, method: object) -> httpx2.Response:
        """Send a notification or an answer. The package waits until it is taken before it sends anything else, and where that
        fails it ends the connection: right only for the one without which there is none."""
        request.extensions["timeout"] = {**request.extensions["timeout"], "read": _TAKEN}
        try:
            return await self._inner.handle_async_request(request)
        except httpx2.TransportError:
            if method == "notifications/initialized":
                raise
            return httpx2.Response(503, request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CappedStream(httpx2.AsyncByteStream):
    """A body that breaks as the package expects one to break, and that breaks after `MAX_BODY`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._inner:
                size += len(chunk)
                if size > MAX_BODY:
                    raise httpx2.StreamError(f"the body is longer than {MAX_BODY:,} bytes")
                yield chunk
        except httpx2.TransportError as error:
            raise httpx2.StreamError(f"the body broke off: {type(error).__name__}") from error

    async def aclose(self) -> None:
        await self._inner.aclose()


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted: reading them takes 30 ms of the event loop, which no connection should pay again."""
    return httpx2.create_ssl_context()


async def _with_status(request: httpx2.Request, request_id: object, response: httpx2.Response) -> httpx2.Response:
    """An HTTP error as a JSON-RPC error with its status: the body's own where it is one."""
    status = response.status_code
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BODY:
                break
    except httpx2.HTTPError:
        pass
    await response.aclose()
    try:
        error = json.loads(body)["error"]
        code, said, data = int(error["code"]), str(error["message"]), error.get("data")
    except Exception:  # any shape of body may come with an error status
        code, said, data = INTERNAL_ERROR, response.reason_phrase, {"http_status": status}
    if status in _SESSION_LOST and "mcp-session-id" in request.headers:
        data = {"http_status": status}  # whatever the body says: the connection is tried before its next use
    answer = _answer(request, request_id, status, data, said, code)
    if challenge := response.headers.get("www-authenticate"):
        answer.headers["www-authenticate"] = challenge  # what an auth flow goes by
    return answer


def _answer(
    request: httpx2.Request, request_id: object, status: int, data: object, said: str, code: int = INTERNAL_ERROR
) -> httpx2.Response:
    error = {"code": code, "message": said, "data": data}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": request_id, "error": error}, request=request)


def _message(request: httpx2.Request) -> JsonObject:
    """The JSON-RPC message that is sent; empty where it is none."""
    if request.method != "POST":
        return {}
    try:
        message: object = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return {}
    return cast(JsonObject, message) if isinstance(message, dict) and "jsonrpc" in message else {}
