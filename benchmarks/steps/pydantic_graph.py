"""pydantic-graph: a node that gives itself again until the end. It keeps nothing beyond the process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_graph import BaseNode, End, GraphBuilder, GraphRunContext

from benchmarks import steps
from benchmarks.steps import Chain, main


@dataclass
class Add(BaseNode[None, None, int]):
    """A step: the sum so far, and how many there are."""

    total: int
    count: int

    async def run(self, ctx: GraphRunContext[None, None]) -> Add | End[int]:
        """Do it."""
        total = await steps.add(self.total)
        return End(total) if total == self.count else Add(total, self.count)


builder: Any = GraphBuilder(input_type=Add, output_type=int)
builder.add(builder.node(Add), builder.edge_from(builder.start_node).to(Add))
graph = builder.build()


@asynccontextmanager
async def opened(file: str | None) -> AsyncGenerator[Chain]:
    """Runs in memory."""
    assert file is None, "it has no store"

    async def run(name: str, count: int, resume: bool) -> int:
        return int(await graph.run(inputs=Add(0, count)))

    yield run


if __name__ == "__main__":
    main(opened)
