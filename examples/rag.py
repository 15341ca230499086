"""RAG over a folder: its markdown files are cut into passages, a retriever is the agent's tool, and answers name their files.

    pip install 'agentsdk[local]' && python -m agentsdk.models.local    # a model on this machine; or AGENTSDK_MODEL and a key
    python examples/rag.py                                  # over the pages of agentsdk itself
    python examples/rag.py folder "What is a lease?"        # over yours
    EMBEDDER=text-embedding-3-small python examples/rag.py  # by meaning, with vectors of an OpenAI-compatible server

Without EMBEDDER passages are ranked by their words (BM25), which needs no model and no server.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, ToolContext, function_tool
from agentsdk.models import Embedder, OpenAIEmbedder
from agentsdk.output import ModelRetry, ValidatorContext
from agentsdk.tools import SearchEngine, SearchResult, TextSearch

FOLDER = Path(__file__).parents[1] / "docs"
MOST = 1000  # characters of a passage


def passages_of(folder: Path) -> dict[str, str]:
    """The passages of a folder's files by name, `file.md#2`: a section each, cut between paragraphs where it is long."""
    passages: dict[str, str] = {}
    for path in sorted(folder.rglob("*.md")):
        pieces = [""]
        for paragraph in re.split(r"\n\n(?=\S)", path.read_text(encoding="utf-8")):
            if pieces[-1] and (paragraph.startswith("#") or len(pieces[-1]) + len(paragraph) > MOST):
                pieces.append("")
            pieces[-1] += paragraph + "\n\n"
        passages |= {f"{path.relative_to(folder)}#{number}": text for number, text in enumerate(pieces, 1)}
    return passages


class Vectors:
    """A search engine by meaning. The vectors are kept in memory: a vector database takes this place when there are many."""

    name = "vectors"

    def __init__(self, passages: dict[str, str], embedder: Embedder) -> None:
        self._passages, self._embedder = passages, embedder
        self._vectors: list[Sequence[float]] = []

    async def search(self, query: str, limit: int) -> list[SearchResult]:
        """The passages whose vectors point most nearly the way of the query's."""
        if not self._vectors:
            self._vectors = [*await self._embedder.embed(list(self._passages.values()), "document")]
        (wanted,) = await self._embedder.embed([query], "query")
        scores = [sum(a * b for a, b in zip(wanted, vector, strict=True)) for vector in self._vectors]
        best = sorted(zip(scores, self._passages, strict=True), reverse=True)[:limit]
        return [SearchResult(name, name, self._passages[name]) for _, name in best]


@dataclass
class Library:
    """What the tool works with, and what it has found in this run. The model sees neither."""

    passages: dict[str, str]
    engine: SearchEngine
    found: set[str] = field(default_factory=set[str])


@function_tool(effect="none")
async def look_up(ctx: ToolContext[Library], query: Annotated[str, Field(max_length=80)]) -> str:
    """Look up passages of the documentation."""
    library = ctx.context
    names = [result.title for result in await library.engine.search(query, 2)]
    library.found |= {name.partition("#")[0] for name in names}
    return "\n\n".join(f"[{name}]\n{library.passages[name]}" for name in names) or "Nothing is found: use other words."


def cites_what_was_found(context: ValidatorContext[Library], output: str) -> str:
    """No file counts that was not looked up. An answer that names none (small models) rests on all that were."""
    found = context.context.found
    named = set(re.findall(r"[\w./-]+\.md", output))
    if unknown := named - found:
        raise ModelRetry(f"You have not looked up {sorted(unknown)}: name only {sorted(found)}.")
    return f"{output.strip()}\n[files: {', '.join(sorted(named or found)) or 'none'}]"


librarian = Agent[Library, str](
    name="Librarian",
    instructions="Look it up, then answer in one sentence, from what you have found only, and name its files.",
    tools=[look_up],
    output_validators=[cites_what_was_found],
    model_settings=ModelSettings(tool_choice="look_up", temperature=0, max_tokens=100, stop=("\n", ". ")),
)


async def main(folder: Path, question: str) -> None:
    passages = passages_of(folder)
    embedder = os.environ.get("EMBEDDER")
    library = Library(passages, Vectors(passages, OpenAIEmbedder(embedder)) if embedder else TextSearch(passages))
    print(f"{folder.name}: passages searched by {library.engine.name}")
    result = await Runner.run(librarian, question, context=library)
    print(f"question: {question}\nanswer: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(main(Path(given[0]) if given else FOLDER, given[1] if given[1:] else "What keeps a session?"))
