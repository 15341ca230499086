"""`Fetcher`: gets a URL that a model chose, from public addresses only, and not more of it than asked for.

The name is looked up once, its addresses are checked, and the connection is made to the address that was checked: a name that
changes its address between check and connection leads nowhere else. Redirects are followed here, each checked anew.
"""

from __future__ import annotations

import asyncio
import codecs
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from email.message import Message
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agentsdk.local_tools.host_rules import PORTS, HostRules, host_of
from agentsdk.models.httpx_transport import HttpxReply
from agentsdk.types.errors import FetchError, TransientToolError

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
PASSING = (408, 425, 429, 500, 502, 503, 504)
"""With these a server says that asking again may help."""

ENCODINGS = "gzip, deflate"
"""What `capped_body` can inflate."""

_HEADERS = {
    "accept": "text/html, text/*, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": ENCODINGS,
    "user-agent": "Mozilla/5.0 (compatible; agentsdk)",
}

_NO_CHARSETS = ("idna", "mbcs", "oem", "palmos", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Codecs of Python's own. To decode a page by punycode takes minutes."""


class Page(Struct, frozen=True):
    """What a URL gave. `url` is the one that answered, `charset` one that Python has, or `""`. `truncated`: it goes on."""

    url: str
    content_type: str
    charset: str
    body: bytes
    truncated: bool


class Fetcher:
    """Gets pages that `rules` allow: `max_bytes` of each, within `timeout` seconds."""

    def __init__(self, rules: HostRules, *, max_bytes: int, timeout: float) -> None:
        self._rules = rules
        self._max_bytes = max_bytes
        self._timeout = timeout

    async def get(self, url: str) -> Page:
        """The page. Raises `FetchError` for what may not or cannot be had, `TransientToolError` for what may be had later."""
        import httpx

        try:
            async with asyncio.timeout(self._timeout):
                target = self._rules.parsed(url)
                for _ in range(MAX_REDIRECTS + 1):
                    async with answered(self._rules, "GET", target, _HEADERS, self._timeout) as reply:
                        location = reply.headers.get("location")
                        if reply.status not in _REDIRECTS or not location:
                            return await self._page(target, reply)
                        target = self._rules.parsed(str(target.join(location)))
                raise FetchError(
                    f"{host_of(target)!r} redirected {MAX_REDIRECTS + 1} times, expected a page; use its own address"
                )
        except TimeoutError:
            raise TransientToolError(f"the page did not come within {self._timeout:g} seconds; try again or another") from None
        except (httpx.InvalidURL, ValueError):
            raise FetchError("a redirect leads to what is no URL, expected one that begins with https://") from None
        except httpx.HTTPError as error:
            raise TransientToolError(f"the connection failed ({type(error).__name__}); try again or another page") from None

    async def _page(self, url: httpx.URL, reply: HttpxReply) -> Page:
        if reply.status in PASSING:
            raise TransientToolError(f"{host_of(url)!r} answered with status {reply.status}; try again later or another page")
        if reply.status != 200:
            raise FetchError(f"{host_of(url)!r} answered with status {reply.status}, expected 200; check the address")
        message = Message()
        message["content-type"] = reply.headers.get("content-type", "application/octet-stream")
        body, truncated = await capped_body(reply, self._max_bytes)
        charset = _charset(message.get_content_charset("") or "")
        return Page(str(url), message.get_content_type(), charset, body, truncated)


@asynccontextmanager
async def answered(
    rules: HostRules, method: str, url: httpx.URL, headers: Mapping[str, str], timeout: float, content: bytes | None = None
) -> AsyncGenerator[HttpxReply, None]:
    """The answer to a request, of the first address of the URL's host that takes the connection. Redirects are not followed.

    Raises what `HostRules.addresses` raises, and `httpx.HTTPError`.
    """
    import httpx

    addresses = await rules.addresses(host_of(url), url.port or PORTS[url.scheme])
    headers = {"host": url.netloc.decode("ascii"), **headers}
    async with httpx.AsyncClient(trust_env=False, timeout=timeout, verify=_certificates()) as client:
        for position, address in enumerate(addresses):
            pinned = url.copy_with(host=address, fragment=None)
            sni = {"sni_hostname": host_of(url)}
            request = client.build_request(method, pinned, headers=headers, content=content, extensions=sni)
            try:
                reply = HttpxReply(await client.send(request, stream=True, follow_redirects=False), None)
            except httpx.ConnectError:
                if position + 1 < len(addresses):
                    continue
                raise
            try:
                yield reply
            finally:
                await reply.aclose()
            return


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted: reading them takes 30 ms, which no client should pay again."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


def _charset(named: str) -> str:
    """The name of a charset that a server gave, `""` where it is none: Python has codecs of other kinds."""
    try:
        b"a".decode(named, "replace")
    except (LookupError, ValueError):
        return ""
    name = codecs.lookup(named).name
    return "" if name in _NO_CHARSETS else name


async def capped_body(reply: HttpxReply, most: int) -> tuple[bytes, bool]:
    """The first `most` bytes of a body, inflated, and whether it goes on. No more is read, whatever it would inflate to.

    Raises `FetchError` for a body that cannot be inflated, `TransientToolError` for one that ends too early.
    """
    encoding = reply.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise FetchError("the page came in an encoding that was not asked for, expected gzip, deflate or none; use another")
    inflate = None if encoding in ("identity", "") else zlib.decompressobj(wbits=47)
    body, received = bytearray(), 0
    async for chunk in reply:
        received += len(chunk)
        try:
            body += chunk if inflate is None else inflate.decompress(chunk, most + 1 - len(body))
        except zlib.error:
            raise FetchError("the page's gzip or deflate data is broken, expected whole data; use another page") from None
        if len(body) > most or received > most:
            return bytes(body[:most]), True
    if inflate is not None and received and not inflate.eof:
        raise TransientToolError("the page's gzip or deflate data ends too early; try again or another page")
    return bytes(body), False
