"""`SelectedToolset`: of many tools, those that the conversation asks for.

A model that is shown two hundred tools pays for them in every request, and chooses worse. So it is shown a few: those that are
pinned, those that rank best for what the user has asked, and those that it finds itself with `search_tools`. A tool that was
shown stays, within a bound, so that a provider's prompt cache is not lost turn by turn.

What is offered follows from what is recorded (the conversation, what was offered before, the toolset's note), so a run that
goes on in another process offers the same, and asks nobody again.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from typing import Any, Generic, Literal, cast

from agentsdk.define.function_tool import function_tool
from agentsdk.define.tool import FunctionTool
from agentsdk.define.toolset import Toolset, ToolsetContext
from agentsdk.define.toolset_tools import tools_by_name
from agentsdk.ports.embedder import EMBEDDER, Embedder
from agentsdk.toolsets.embedding import EmbeddingFailed, EmbeddingSearch
from agentsdk.toolsets.lexical import LexicalIndex, ToolText, require_fts5
from agentsdk.toolsets.requests import called_names, last_turn, latest_request
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import (
    CALLABLE,
    SECONDS,
    Fields,
    a,
    a_name,
    a_tool_name,
    either,
    one_of,
    optional,
    sequence_of,
    whole,
)
from agentsdk.types.errors import UserError
from agentsdk.types.generics import TContext

logger = logging.getLogger("agentsdk")

ToolQuery = Callable[[ToolsetContext[TContext]], str | Awaitable[str]]
"""Called with the context when a turn begins: the text by which tools are chosen, `""` for no more than there are."""

_FOUND = 8
"""How many tools a search lists where `top` is 0."""

_KEPT = 8
"""How many sets of tools have their index kept: a toolset that offers each user others has several."""

_READ_TOGETHER = 25
"""Tools whose texts are read before other tasks have their turn: some build their schema for it."""

_MAX_SUMMARY = 300
_MAX_EMBEDDED = 2000
_NONE_FIT = "No tool fits. Try other words, or go on without."


class SelectedToolset(Toolset[TContext]):
    """Some of the tools of another toolset: those that the conversation asks for.

    Of at most `all_up_to` tools all are offered. Of more, these: the `pinned` ones, always; the `top` that rank best for what
    the user asked last; where there are more than `search_above`, the tool `search_tools`, and from the next turn on what the
    model has found with it; a tool that the model has called by name although it was not offered, from the next turn on; and
    what was offered before. Where that would be more than `most`, those go that were called and shown longest ago.

    `by` is `"lexical"`, the words of names, descriptions, parameters and tags (SQLite's bm25), or an `Embedder`, which ranks by
    meaning. An embedder that fails, or does not answer within `embedder_timeout` seconds, is made up for by words: a warning is
    logged, and the record's note says so. `query` gives the text that tools are ranked for, by default `latest_request`; they
    are ranked again only where it has changed, or the tools have. `search_above=None` gives the model no search, 0 always.

    With `by="provider"` the model's provider has all of them: it tells the model of the `pinned` ones, and of those that it
    finds by the provider's own search (`ToolSearchTool`). The other options have no meaning then. A provider without such a
    search is a `UserError` when the model is asked.

    Wrap it around what changes tools (`registry.prefixed(...)`), not the other way: a search tells the model the names inside.
    Raises `UserError` for a wrong value, and where this Python's SQLite has no full-text search.
    """

    def __init__(
        self,
        toolset: Toolset[TContext],
        *,
        top: int = 8,
        by: Literal["lexical", "provider"] | Embedder = "lexical",
        pinned: Sequence[str] = (),
        query: ToolQuery[TContext] | None = None,
        all_up_to: int = 20,
        search_above: int | None = 50,
        most: int = 40,
        search_name: str = "search_tools",
        embedder_timeout: float = 5.0,
    ) -> None:
        _FIELDS.check_given(
            toolset=toolset,
            top=top,
            by=by,
            pinned=pinned,
            query=query,
            all_up_to=all_up_to,
            search_above=search_above,
            most=most,
            search_name=search_name,
            embedder_timeout=embedder_timeout,
        )
        if by != "provider":
            _check_room(top, len(pinned), search_above, most)
            require_fts5()
        elif query is not None:
            raise UserError("SelectedToolset(by='provider') has a query, and the provider takes none; leave one of them out")
        self.name = toolset.name
        self._inner = toolset
        self._top = top
        self._search = None if isinstance(by, str) else EmbeddingSearch(by, embedder_timeout)
        self._by = by
        self._pinned = tuple(pinned)
        self._query: ToolQuery[TContext] = latest_request if query is None else query
        self._all_up_to = all_up_to
        self._search_above = search_above
        self._most = most
        self._search_name = search_name
        self._indexes: list[_Index[TContext]] = []
        self._missed: set[str] = set()
        self._deferred: tuple[tuple[FunctionTool[TContext], ...], tuple[FunctionTool[TContext], ...]] = ((), ())

    async def get_tools(self, context: ToolsetContext[TContext]) -> Sequence[FunctionTool[TContext]]:
        given = await self._inner.get_tools(context)
        if not _is_many(given, self._all_up_to):
            return given
        if self._by == "provider":
            return self._found_by_provider(given)
        index = await self._index(given)
        chosen = [*self._always(index), *self._new(context, index), *await self._ranked(context, index)]
        kept = [name for name in context.offered if name in index.tools]
        names = dict.fromkeys([*kept, *chosen])
        if len(names) > self._most:
            names = self._fewer(context, names, dict.fromkeys(chosen))
        return [index.tools[name] for name in names]

    async def get_instructions(self, context: ToolsetContext[TContext]) -> str:
        return await self._inner.get_instructions(context)

    async def find_tool(self, context: ToolsetContext[TContext], name: str) -> FunctionTool[TContext] | None:
        if name != self._search_name or self._by == "provider":
            return await self._inner.find_tool(context, name)
        given = await self._inner.get_tools(context)
        return (await self._index(given)).tools.get(name) if _is_many(given, self._all_up_to) else None

    def _always(self, index: _Index[TContext]) -> Iterator[str]:
        self._warn_of_missing(index.tools)
        yield from [name for name in self._pinned if name in index.tools]
        if self._has_search(index):
            yield self._search_name

    def _warn_of_missing(self, names: Container[str]) -> None:
        for name in self._pinned:
            if name not in names and name not in self._missed:
                self._missed.add(name)
                logger.warning("toolset %r has no tool %r, which is pinned; expected one of its names", self.name, name)

    def _found_by_provider(self, given: Sequence[FunctionTool[TContext]]) -> Sequence[FunctionTool[TContext]]:
        """The tools for the provider's own search; a copy is the same one each turn."""
        before, made = self._deferred
        tools = tuple(given)
        if tools != before:
            self._warn_of_missing({tool.name for tool in tools})
            known = dict(zip(before, made, strict=True))
            made = tuple(
                [known.get(tool) or (tool if tool.name in self._pinned else tool.clone(defer_loading=True)) for tool in tools]
            )
            self._deferred = (tools, made)
        return made

    def _new(self, context: ToolsetContext[TContext], index: _Index[TContext]) -> Iterator[str]:
        """What the model has called, or found, and was not offered. In a run's first turn also what was called before it."""
        calls, results = last_turn(context.items)
        named: list[str] = []
        for call in calls:
            if call.name == self._search_name:
                named += [line.partition(":")[0] for line in results.get(call.call_id, "").splitlines()]
            else:
                named.append(call.name)
        yield from [name for name in named if name in index.tools]
        if not context.offered:
            called = [name for name in called_names(context.items) if name in index.tools]
            yield from called[-(self._top or _FOUND) :]

    async def _ranked(self, context: ToolsetContext[TContext], index: _Index[TContext]) -> Sequence[str]:
        """The best tools for the query, unless they were ranked for it in an earlier turn."""
        if not self._top:
            return ()
        query = self._query(context)
        if inspect.isawaitable(query):
            query = await query
        if not isinstance(cast(object, query), str):
            raise UserError(
                f"the query of SelectedToolset {self.name!r} returned {type(query).__name__!r}, expected a str; return a text"
            )
        digest = hashlib.sha256(f"{index.digest}\0{query}".encode("utf-8", "replace")).hexdigest()[:12]
        if context.note.endswith(digest):
            return ()
        found, how = await self._rank(index, query, self._top)
        if not self._has_search(index) and len(found) < self._top:  # it cannot look for more itself
            found = list(dict.fromkeys([*found, *index.names]))[: self._top]
        context.note = f"{len(found)} of {len(index.names)} tools {how}, for request {digest}"
        return found

    async def _rank(self, index: _Index[TContext], query: str, limit: int) -> tuple[list[str], str]:
        """The best tools for a query, and by what they were ranked."""
        if self._search is None or not query.strip():
            return index.by_words(query, limit), "by words"
        name = cast(Embedder, self._by).name
        try:
            return index.named(await self._search.search(index.embedded, query, limit)), f"by embedder {name!r}"
        except EmbeddingFailed as failure:
            logger.warning("embedder %r of toolset %r %s; its tools are chosen by their words", name, self.name, failure)
            return index.by_words(query, limit), f"by words, as embedder {name!r} {failure}"

    def _fewer(self, context: ToolsetContext[TContext], names: dict[str, None], chosen: dict[str, None]) -> dict[str, None]:
        """As many as are allowed, and some less, so that it is not each turn that loses tools from its list."""
        must = dict.fromkeys(list(chosen)[: self._most])
        room = max(0, self._most * 3 // 4 - len(must))
        used = [name for name in reversed(called_names(context.items)) if name in names]
        others = [name for name in dict.fromkeys([*used, *reversed(names)]) if name not in must]
        kept = must.keys() | set(others[:room])
        return {name: None for name in names if name in kept}

    def _has_search(self, index: _Index[TContext]) -> bool:
        return self._search_above is not None and len(index.names) > self._search_above

    async def _index(self, given: Sequence[FunctionTool[TContext]]) -> _Index[TContext]:
        """The index of these tools: the one that is there, of the same tools or of equal ones."""
        tools = given if isinstance(given, tuple) else tuple(given)
        for index in self._indexes:
            if index.given is tools or index.given == tools:
                return index
        tools_by_name(self.name, tools)
        texts: list[ToolText] = []
        for tool in tools:
            texts.append(_text_of(tool))
            if len(texts) % _READ_TOGETHER == 0:
                await asyncio.sleep(0)
        lexical = next((index.lexical for index in self._indexes if index.texts == texts), None)
        if lexical is None:
            lexical = LexicalIndex()
            for begin in range(0, len(texts), _READ_TOGETHER):
                lexical.add(texts[begin : begin + _READ_TOGETHER])
                await asyncio.sleep(0)
        made = _Index(tools, texts, lexical)
        if self._search_name in made.tools:
            raise UserError(
                f"toolset {self.name!r} has a tool {self._search_name!r} itself, expected another name; give SelectedToolset "
                "a search_name"
            )
        made.tools[self._search_name] = self._search_tool(made)
        self._indexes = [made, *self._indexes][:_KEPT]
        return made

    def _search_tool(self, index: _Index[TContext]) -> FunctionTool[TContext]:
        async def search(query: str) -> str:
            names, _ = await self._rank(index, query, self._top or _FOUND)
            return "\n".join([f"{name}: {_summary(index.tools[name])}" for name in names]) or _NONE_FIT

        return cast(
            "FunctionTool[TContext]",
            function_tool(
                search,
                name_override=self._search_name,
                description_override=(
                    "Find tools that you have not been shown, by what they are to do. Those it lists can be called from your "
                    "next message on."
                ),
                effect="none",
            ),
        )


def _check_room(top: int, pinned: int, search_above: int | None, most: int) -> None:
    if most < top + pinned + 1:
        raise UserError(
            f"SelectedToolset(most={most!r}) is less than its top ({top!r}), its {pinned} pinned tools and the search tool "
            "need, expected room for them; raise most"
        )
    if not top and search_above is None:
        raise UserError("SelectedToolset(top=0, search_above=None) would never offer more than what is pinned; give one")


class _Index(Generic[TContext]):
    """Tools, by name and by their texts."""

    def __init__(self, given: tuple[FunctionTool[TContext], ...], texts: list[ToolText], lexical: LexicalIndex) -> None:
        self.given = given
        self.texts = texts
        self.lexical = lexical
        self.names = [tool.name for tool in given]
        self.tools = dict(zip(self.names, given, strict=True))
        self.embedded = [_embedded(text) for text in texts]
        self.digest = hashlib.sha256(repr(texts).encode("utf-8", "replace")).hexdigest()

    def by_words(self, query: str, limit: int) -> list[str]:
        return self.named(self.lexical.search(query, limit))

    def named(self, found: Sequence[int]) -> list[str]:
        return [self.names[at] for at in found]


def _is_many(given: object, few: int) -> bool:
    return isinstance(given, Sequence) and len(cast("Sequence[object]", given)) > few


def _text_of(tool: FunctionTool[Any]) -> ToolText:
    return ToolText(tool.name, tool.spec.description, " ".join(_parameters(tool.spec.parameters)), " ".join(tool.tags))


def _parameters(schema: JsonObject) -> Iterator[str]:
    """The names and descriptions of a tool's parameters."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name, given in cast(JsonObject, properties).items():
        yield name
        description = cast(JsonObject, given).get("description") if isinstance(given, dict) else None
        if isinstance(description, str):
            yield description


def _embedded(text: ToolText) -> str:
    return f"{text.name.replace('_', ' ')}: {text.description}"[:_MAX_EMBEDDED]


def _summary(tool: FunctionTool[Any]) -> str:
    """The first paragraph of a tool's description, on one line."""
    text = " ".join(tool.spec.description.partition("\n\n")[0].split())
    return text if len(text) <= _MAX_SUMMARY else text[: _MAX_SUMMARY - 3] + "..."


_COUNT = whole("a whole number, 0 or more", 0)
_FIELDS = Fields(
    "SelectedToolset",
    toolset=a(Toolset, "a Toolset; pass a ToolRegistry, say"),
    top=_COUNT,
    by=either(
        one_of("", ("lexical", "provider")),
        EMBEDDER,
        what="'lexical', 'provider' or an Embedder; pass OpenAIEmbedder(...), say",
    ),
    pinned=sequence_of(a_name("a tool's name"), "a list or tuple of tool names; write ('help',)"),
    query=optional(CALLABLE),
    all_up_to=_COUNT,
    search_above=optional(_COUNT),
    most=whole("a whole number above 0: how many tools are shown at a time", 1),
    search_name=a_tool_name("a tool's name"),
    embedder_timeout=SECONDS,
)
