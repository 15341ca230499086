"""Sessions and tracers: ours satisfy the ports, and so does a class that has never heard of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import assert_type

from agentsdk import Item, MemorySession, Message, OpenTelemetryTracer, Session, SQLiteSession, trace
from agentsdk.ports.tracer import SpanAttributes, SpanKind
from agentsdk.tracing import Span, Tracer
from agentsdk.types.items import InputItem


class ListSession:
    def __init__(self) -> None:
        self.session_id = "mine"
        self.items: list[Item] = []

    async def get_items(self, limit: int | None = None) -> list[Item]:
        return self.items

    async def add_items(self, items: Sequence[InputItem]) -> None: ...

    async def pop_item(self) -> Item | None:
        return None

    async def clear_session(self) -> None: ...


class PrintingSpan:
    def set(self, attributes: SpanAttributes) -> None: ...

    def end(self, error: BaseException | None = None) -> None: ...

    def activate(self) -> AbstractContextManager[None]:
        return nullcontext()


class PrintingTracer:
    def start(
        self, kind: SpanKind, name: str, parent: Span | None = None, attributes: SpanAttributes | None = None
    ) -> PrintingSpan:
        return PrintingSpan()


sessions: list[Session] = [MemorySession("a"), SQLiteSession("a", "chats.db"), ListSession()]
tracers: list[Tracer] = [OpenTelemetryTracer(capture_content=True), PrintingTracer()]


async def use(session: SQLiteSession) -> None:
    assert_type(await session.get_items(limit=3), list[Item])
    assert_type(await session.pop_item(), Item | None)
    await session.add_items([Message("user", "hi"), {"role": "user", "content": "hi"}])
    async with trace("Workflow", metadata={"team": "a"}) as block:
        assert_type(block, trace)
