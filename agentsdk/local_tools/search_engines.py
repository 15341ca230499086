"""Search engines for `web_search`: `BraveSearch` and `TavilySearch`, public services, and `TextSearch`, texts of your own."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from agentsdk.ports.web_search import SearchResult
from agentsdk.types.declared import SECONDS, Fields, a_name, any_text, mapping_of, optional, secret
from agentsdk.types.errors import ToolError, TransientToolError, UserError

if TYPE_CHECKING:
    import httpx

_KEY = optional(secret(any_text("a str; leave it out to take it from the environment")))
_URL = optional(a_name("a URL; write 'https://host/path'"))
_FIELDS = Fields("SearchEngine", api_key=_KEY, base_url=_URL, timeout=SECONDS)
_MAX_BYTES = 4_000_000
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class _SearchApi:
    """A search service over HTTP. The key of the environment goes to the service's own address only."""

    name = ""
    _home = ""
    _variable = ""

    def __init__(self, api_key: str | None = None, *, base_url: str | None = None, timeout: float = 15.0) -> None:
        _FIELDS.check_given(type(self).__name__, api_key=api_key, base_url=base_url, timeout=timeout)
        self._url = base_url or self._home
        self._timeout = timeout
        self._key = api_key or ("" if base_url else os.environ.get(self._variable, ""))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """What the service finds. Raises `TransientToolError` for what may work later, `ToolError` for what will not, and
        `UserError` where the key is missing."""
        import httpx

        if not self._key:
            raise UserError(f"no key for {self.name}: set the environment variable {self._variable} or pass api_key=")
        try:
            async with asyncio.timeout(self._timeout), httpx.AsyncClient(trust_env=False, timeout=self._timeout) as client:
                answer = await self._answer(client, query, limit)
        except TimeoutError:
            raise TransientToolError(f"{self.name} did not answer within {self._timeout:g} seconds; try again") from None
        except httpx.HTTPError as error:
            raise TransientToolError(f"{self.name} cannot be reached ({type(error).__name__}); try again later") from None
        if answer.status_code in _PASSING:
            raise TransientToolError(f"{self.name} answered with status {answer.status_code}; try again later")
        if answer.status_code != 200 or len(answer.content) > _MAX_BYTES:
            raise ToolError(f"{self.name} answered with status {answer.status_code}, expected 200 and results; check the key")
        try:
            return self._read(answer.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ToolError(f"{self.name} answered without results, expected JSON in its own form; check base_url") from None

    async def _answer(self, client: httpx.AsyncClient, query: str, limit: int) -> httpx.Response:
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

    async def _answer(self, client: httpx.AsyncClient, query: str, limit: int) -> httpx.Response:
        headers = {"x-subscription-token": self._key, "accept": "application/json"}
        # The API takes 400 characters and 20 results at most.
        params: dict[str, str | int] = {"q": query[:400], "count": min(limit, 20), "text_decorations": "false"}
        return await client.get(self._url, params=params, headers=headers)

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

    async def _answer(self, client: httpx.AsyncClient, query: str, limit: int) -> httpx.Response:
        body = {"query": query[:400], "max_results": min(limit, 20)}
        return await client.post(self._url, json=body, headers={"authorization": f"Bearer {self._key}"})

    def _read(self, content: bytes) -> list[SearchResult]:
        found = msgspec.json.decode(content, type=_TavilyAnswer).results
        return [SearchResult(page.title, page.url, page.content) for page in found]


class TextSearch:
    """Texts of your own, by the name or URL that a result shows; ranked by SQLite's full-text search (FTS5, bm25) in memory.

    Raises `UserError` where this Python's SQLite cannot search.
    """

    name = "text search"

    def __init__(self, texts: Mapping[str, str]) -> None:
        import sqlite3

        _TEXTS.check_given(texts=texts)
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._database.close)
        try:
            self._database.execute("CREATE VIRTUAL TABLE page USING fts5(url, text, tokenize='porter unicode61')")
        except sqlite3.OperationalError as error:
            raise UserError(
                f"this Python's SQLite cannot search texts ({error}), expected one with FTS5; use another"
            ) from None
        self._database.executemany("INSERT INTO page VALUES (?, ?)", texts.items())

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """The texts that have words of the query, with the passage that fits best."""
        words = ["".join(filter(str.isalnum, word)) for word in query.split()[:64]]
        asked = " OR ".join([f'"{word}"' for word in words if word])
        if not asked:
            return []
        found = self._database.execute(
            "SELECT url, snippet(page, 1, '', '', ' ... ', 64) FROM page WHERE page MATCH ? ORDER BY rank LIMIT ?",
            (asked, limit),
        )
        return [SearchResult(url, url, text) for url, text in found]


_TEXTS = Fields("TextSearch", texts=mapping_of(any_text("a text"), "a dict of names and texts; write {'faq': '...'}"))
