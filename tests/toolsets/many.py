"""Many tools, and embedders to choose among them: what the tests of selection share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agentsdk import FunctionTool, function_tool
from agentsdk.models import TextKind
from agentsdk.toolsets import ToolRegistry

WORDS = ["weather", "invoice", "flight", "hotel", "mail", "calendar", "recipe", "stock", "song", "ticket"]
VERBS = ["find", "book", "cancel", "list", "share", "rate", "print"]


def echo(name: str, description: str = "", **options: Any) -> FunctionTool[Any]:
    @function_tool(name_override=name, description_override=description or f"Do {name}.", **options)
    def body(x: int = 0) -> str:
        return f"{name} {x}"

    return body


def tools(count: int = 70) -> list[FunctionTool[Any]]:
    """So many tools, each for one thing to do with one noun."""
    pairs = [(verb, noun) for noun in WORDS for verb in VERBS]
    return [echo(f"{verb}_{noun}", f"{verb.capitalize()} a {noun}.", effect="none") for verb, noun in pairs[:count]]


def registry(count: int = 70) -> ToolRegistry[Any]:
    return ToolRegistry[Any](tools(count), name="many")


class WordEmbedder:
    """A vector has a place for each noun and verb, so that texts which share some are near. Counts what it is asked."""

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.documents: list[str] = []
        self.queries: list[str] = []

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Sequence[Sequence[float]]:
        (self.queries if kind == "query" else self.documents).extend(texts)
        return [[0.01, *[float(word in text.lower()) for word in [*WORDS, *VERBS]]] for text in texts]


class BrokenEmbedder:
    """Raises, or gives what is no vector."""

    def __init__(self, does: Any) -> None:
        self.name = "broken"
        self.asked = 0
        self._does = does

    async def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Any:
        self.asked += 1
        if isinstance(self._does, BaseException):
            raise self._does
        if self._does == "hang":
            await asyncio.Event().wait()
        return self._does
