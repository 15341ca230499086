"""`Fetcher`: gets a URL that a model chose, from public addresses only, and not more of it than asked for.

The name is looked up once, its addresses are checked, and the connection is made to the address that was checked: a name that
changes its address between check and connection leads nowhere else. Redirects are followed here, each checked anew.
"""

from __future__ import annotations

import asyncio
import codecs
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from email.message import Message
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from agentsdk.local_tools.addresses import Network, resolved
from agentsdk.models.httpx_transport import HttpxReply
from agentsdk.models.network import refuse_real_request
from agentsdk.types.errors import FetchError, TransientToolError, UserError

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
PASSING = (408, 425, 429, 500, 502, 503, 504)
"""With these a server says that asking again may help."""

ENCODINGS = "gzip, deflate"
"""What `capped_body` can inflate."""

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
    """Gets pages. `allowed_hosts` (all if empty) and `blocked_hosts` are names, `.example.com` those below it too."""

    def __init__(
        self,
        *,
        allowed_hosts: Sequence[str],
        blocked_hosts: Sequence[str],
        allowed_networks: Sequence[Network],
        max_bytes: int,
        timeout: float,
    ) -> None:
        self._allowed_hosts = tuple(map(_wire_name, allowed_hosts))
        self._blocked_hosts = tuple(map(_wire_name, blocked_hosts))
        self._allowed_networks = allowed_networks
        self._max_bytes = max_bytes
        self._timeout = timeout

    async def get(self, url: str) -> Page:
        """The page. Raises `FetchError` for what may not or cannot be had, `TransientToolError` for what may be had later."""
        import httpx

        try:
            async with asyncio.timeout(self._timeout):
                target = self._parsed(url)
                for _ in range(MAX_REDIRECTS + 1):
                    async with self._answer(target) as reply:
                        location = reply.headers.get("location")
                        if reply.status not in _REDIRECTS or not location:
                            return await self._page(target, reply)
                        target = self._parsed(str(target.join(location)))
                raise FetchError(
                    f"{_host(target)!r} redirected {MAX_REDIRECTS + 1} times, expected a page; use its own address"
                )
        except TimeoutError:
            raise TransientToolError(f"the page did not come within {self._timeout:g} seconds; try again or another") from None
        except (httpx.InvalidURL, ValueError):
            raise FetchError("a redirect leads to what is no URL, expected one that begins with https://") from None
        except httpx.HTTPError as error:
            raise TransientToolError(f"the connection failed ({type(error).__name__}); try again or another page") from None

    def _parsed(self, url: str) -> httpx.URL:
        import httpx

        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, TypeError):
            raise FetchError("what was given is no URL, expected one that begins with https://") from None
        host = _host(parsed).rstrip(".")
        if parsed.scheme not in _PORTS or not host:
            raise FetchError(f"the URL's scheme is {parsed.scheme!r}, expected https or http, and a host")
        if parsed.userinfo:
            raise FetchError("the URL has a user name or a password in it, expected none; leave them out")
        if _listed(host, self._blocked_hosts) or (self._allowed_hosts and not _listed(host, self._allowed_hosts)):
            raise FetchError(f"pages of {host!r} are not allowed here; use another source")
        return parsed

    @asynccontextmanager
    async def _answer(self, url: httpx.URL) -> AsyncGenerator[HttpxReply, None]:
        """The answer of the first address that takes the connection."""
        import httpx

        refuse_real_request(str(url))
        port = url.port or _PORTS[url.scheme]
        addresses = await resolved(_host(url), port, self._allowed_networks)
        headers = {"host": url.netloc.decode("ascii"), "accept": "text/html, text/*, application/json;q=0.9, */*;q=0.1"}
        headers |= {"accept-encoding": ENCODINGS, "user-agent": "Mozilla/5.0 (compatible; agentsdk)"}
        async with httpx.AsyncClient(trust_env=False, timeout=self._timeout, verify=_certificates()) as client:
            for position, address in enumerate(addresses):
                pinned = url.copy_with(host=address, fragment=None)
                request = client.build_request("GET", pinned, headers=headers, extensions={"sni_hostname": _host(url)})
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

    async def _page(self, url: httpx.URL, reply: HttpxReply) -> Page:
        if reply.status in PASSING:
            raise TransientToolError(f"{_host(url)!r} answered with status {reply.status}; try again later or another page")
        if reply.status != 200:
            raise FetchError(f"{_host(url)!r} answered with status {reply.status}, expected 200; check the address")
        message = Message()
        message["content-type"] = reply.headers.get("content-type", "application/octet-stream")
        body, truncated = await capped_body(reply, self._max_bytes)
        charset = _charset(message.get_content_charset("") or "")
        return Page(str(url), message.get_content_type(), charset, body, truncated)


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted: reading them takes 30 ms, which no client should pay again."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


def _host(url: httpx.URL) -> str:
    """The host as it is sent and looked up: `url.host` is what people read, `bücher.example` for `xn--bcher-kva.example`."""
    return url.raw_host.decode("ascii").lower()


def _wire_name(name: str) -> str:
    """The name of a host in a list as `_host` has it."""
    if name.isascii():
        return name.rstrip(".").lower()
    import httpx

    try:
        inner = _host(httpx.URL(f"http://{name.strip('.')}"))
    except httpx.InvalidURL:
        raise UserError(f"the list of hosts has {name!r}, expected the name of a host; write 'docs.example.com'") from None
    return f".{inner}" if name.startswith(".") else inner


def _charset(named: str) -> str:
    """The name of a charset that a server gave, `""` where it is none: Python has codecs of other kinds."""
    try:
        b"a".decode(named, "replace")
    except (LookupError, ValueError):
        return ""
    name = codecs.lookup(named).name
    return "" if name in _NO_CHARSETS else name


def _listed(host: str, names: Sequence[str]) -> bool:
    return any(host == name.lstrip(".") or (name.startswith(".") and host.endswith(name)) for name in names)


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
