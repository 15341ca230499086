"""The port to a search engine: what `web_search` asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from agentsdk.types.declared import having


class SearchResult(Struct, frozen=True):
    """One thing that was found. `url` says where it is, `text` the part of it that fits the query."""

    title: str
    url: str
    text: str = ""


class SearchEngine(Protocol):
    """Finds pages or documents.

    `search` raises `TransientToolError` for what may work later, any other `ToolError` for what will not; either goes to the
    model.
    """

    name: str

    async def search(self, query: str, limit: int) -> Sequence[SearchResult]:
        """What fits `query` best, the best first, `limit` at most."""
        ...


SEARCH_ENGINE = having(("search",), "a SearchEngine; pass BraveSearch(), say", texts=("name",))
