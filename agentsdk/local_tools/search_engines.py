"""Search engines for `web_search`: `BraveSearch` and `TavilySearch`, public services, and `TextSearch`, texts of your own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agentsdk.local_tools.fetch import ENCODINGS, PASSING, capped_body
from agentsdk.models.httpx_transport import HttpxReply
from agentsdk.models.network import check_header, check_url, refuse_real_request
from agentsdk.ports.web_search import SearchResult
from agentsdk.toolsets.lexical import LexicalIndex, ToolText
from agentsdk.types.declared import SECONDS, Fields, a_name, any_text, mapping_of, optional, secret
from agentsdk.types.errors import ToolError, TransientToolError, UserError
from agentsdk.types.text import clean_text

if TYPE_CHECKING:
    import httpx

_KEY = optional(secret(any_text("a str; leave it out to take it from the environment")))
_URL = optional(a_name("a URL; write 'https://host/path'"))
_FIELDS = Fields("SearchEngine", api_key=_KEY, base_url=_URL, timeout=SECONDS)
_MAX_BYTES = 4_000_000
_PASSAGE = 400
"""Characters of a text that a result has at most."""


class _SearchApi:
    """A search service over HTTP. The key of the environment goes to the service's own address only."""

    name = ""
    _home = ""
    _variable = ""

    def __init__(self, api_key: str | None = None, *, base_url: str | None = None, timeout: float = 15.0) -> None:
        _FIELDS.check_given(type(self).__name__, api_key=api_key, base_url=base_url, timeout=timeout)
        self._url = check_url(base_url) if base_url else self._home
        self._timeout = timeout
        self._key = api_key or ("" if base_url else os.environ.get(self._variable, ""))
        check_header("api_key", self._key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """What the service finds. Raises `TransientToolError` for what may work later, `ToolError` for what will not, and
        `UserError` where the key is missing."""
        import httpx

        if not self._key:
            raise UserError(f"no key for {self.name}: set the environment variable {self._variable} or pass api_key=")
        refuse_real_request(self._url)
        headers = {"accept": "application/json", "accept-encoding": ENCODINGS}
        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx.AsyncClient(trust_env=False, timeout=None, headers=headers) as client,
            ):
                reply = HttpxReply(await client.send(self._request(client, query, limit), stream=True), None)
                try:
                    content = await self._content(reply)
                finally:
                    await reply.aclose()
        except TimeoutError:
            raise TransientToolError(f"{self.name} did not answer within {self._timeout:g} seconds; try again") from None
        except httpx.HTTPError as error:
            raise TransientToolError(f"{self.name} cannot be reached ({type(error).__name__}); try again later") from None
        try:
            return self._read(content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ToolError(f"{self.name} answered without results, expected JSON in its own form; check base_url") from None

    async def _content(self, reply: HttpxReply) -> bytes:
        if reply.status in PASSING:
            raise TransientToolError(f"{self.name} answered with status {reply.status}; try again later")
        if reply.status != 200:
            raise ToolError(f"{self.name} answered with status {reply.status}, expected 200 and results; check the key")
        content, truncated = await capped_body(reply, _MAX_BYTES)
        if truncated:
            raise ToolError(f"{self.name} answered with more than {_MAX_BYTES} bytes, expected results; check base_url")
        return content

    def _request(self, client: httpx.AsyncClient, query: str, limit: int) -> httpx.Request:
        raise NotImplementedError

    def _read(self, content: bytes) -> list[SearchResult]:
        raise NotImplementedError


class _BravePage(Struct):
    url: str
    title: str = ""
    description: str = ""


class _BraveWeb(Struct, frozen=True):
    results: list[_BravePage] = []


class _BraveAnswer(Struct):
    web: _BraveWeb = _BraveWeb()


class BraveSearch(_SearchApi):
    """Brave's search API. The key is `api_key`, or the environment's BRAVE_API_KEY; `timeout` is in seconds."""

    name = "Brave Search"
    _home = "https://api.search.brave.com/res/v1/web/search"
    _variable = "BRAVE_API_KEY"

    def _request(self, client: httpx.AsyncClient, query: str, limit: int) -> httpx.Request:
        # The API takes 400 characters and 20 results at most.
        params: dict[str, str | int] = {"q": query[:400], "count": min(limit, 20), "text_decorations": "false"}
        return client.build_request("GET", self._url, params=params, headers={"x-subscription-token": self._key})

    def _read(self, content: bytes) -> list[SearchResult]:
        found = msgspec.json.decode(content, type=_BraveAnswer).web.results
        return [SearchResult(page.title, page.url, page.description) for page in found]


class _TavilyPage(Struct):
    url: str
    title: str = ""
    content: str = ""


class _TavilyAnswer(Struct):
    results: list[_TavilyPage]


class TavilySearch(_SearchApi):
    """Tavily's search API. The key is `api_key`, or the environment's TAVILY_API_KEY; `timeout` is in seconds."""

    name = "Tavily"
    _home = "https://api.tavily.com/search"
    _variable = "TAVILY_API_KEY"

    def _request(self, client: httpx.AsyncClient, query: str, limit: int) -> httpx.Request:
        body = {"query": query[:400], "max_results": min(limit, 20)}
        return client.build_request("POST", self._url, json=body, headers={"authorization": f"Bearer {self._key}"})

    def _read(self, content: bytes) -> list[SearchResult]:
        found = msgspec.json.decode(content, type=_TavilyAnswer).results
        return [SearchResult(page.title, page.url, page.content) for page in found]


class TextSearch:
    """Texts of your own, by the name or URL that a result shows; ranked by SQLite's full-text search (FTS5, bm25) in memory.

    A result has the passage of its text that fits best. Raises `UserError` where this Python's SQLite cannot search.
    """

    name = "text search"

    def __init__(self, texts: Mapping[str, str]) -> None:
        _TEXTS.check_given(texts=texts)
        self._passages = [(url, passage) for url, text in texts.items() for passage in _passages(clean_text(text))]
        self._index = LexicalIndex([ToolText(clean_text(url), passage, "", "") for url, passage in self._passages])

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """The texts that have words of the query, the best first."""
        found: dict[str, str] = {}
        for place in self._index.search(query, len(self._passages)):
            if len(found) == limit:
                break
            found.setdefault(*self._passages[place])
        return [SearchResult(url, url, passage) for url, passage in found.items()]


def _passages(text: str) -> Iterator[str]:
    """The text in pieces, cut at white space where there is some; one at least."""
    start = 0
    while len(text) - start > _PASSAGE:
        end = max(text.rfind(blank, start + _PASSAGE // 2, start + _PASSAGE) for blank in " \n")
        end = end if end > 0 else start + _PASSAGE
        yield text[start:end].strip()
        start = end
    yield text[start:].strip()


_TEXTS = Fields("TextSearch", texts=mapping_of(any_text("a text"), "a dict of names and texts; write {'faq': '...'}"))
