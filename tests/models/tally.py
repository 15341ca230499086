"""Asks a model and counts what became of it: the line that each adapter's fault matrix ends with."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import AgentsException
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import ModelResponse

DEADLINE = 20.0
"""Seconds that no case needs: every deadline within the cases is far shorter."""


class Tally:
    """Cases by mode, and those of them that ended as none may.

    Untyped: in an exception that is not ours. Hung: in nothing. Where an error was due, silent: in a reply without a call;
    unproven: in a reply with calls that the run would have executed.
    """

    def __init__(self) -> None:
        self._counts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}

    def lines(self) -> list[str]:
        """One line per mode."""
        lines: list[str] = []
        for streamed, count in self._counts.items():
            ends = ", ".join(f"{count[kind]} {kind}" for kind in ("untyped", "hung", "silent", "unproven"))
            lines.append(f"{'streamed' if streamed else 'whole'}: {count['cases']} cases, {ends}")
        return lines

    async def events(self, model: Model, asked: ModelRequest, seen: list[ModelStreamEvent] | None = None) -> list[Any]:
        """All events of one reply; those that came before an error are in `seen`."""
        count, events = self._counts[asked.stream], [] if seen is None else seen
        count["cases"] += 1
        try:
            async with asyncio.timeout(DEADLINE) as deadline:
                stream = model.stream(asked)
                try:
                    async for event in stream:
                        events.append(event)
                finally:
                    await stream.aclose()
        except (AgentsException, asyncio.CancelledError):
            raise
        except BaseException:
            count["hung" if deadline.expired() else "untyped"] += 1
            raise
        if not events or not isinstance(events[-1], ResponseCompleted):
            count["silent"] += 1
            pytest.fail("the stream ended without a response and without an error")
        return events

    async def ask(self, model: Model, asked: ModelRequest) -> ModelResponse:
        """The response of one request."""
        response: ModelResponse = (await self.events(model, asked))[-1].response
        return response

    async def error(
        self, kind: type[Any] | tuple[type[Any], ...], model: Model, asked: ModelRequest, seen: list[Any] | None = None
    ) -> Any:
        """The error of one request that must fail."""
        try:
            events = await self.events(model, asked, seen)
        except kind as error:
            return error
        response: ModelResponse = events[-1].response
        called = any(isinstance(item, FunctionCall) for item in response.output)
        self._counts[asked.stream]["unproven" if called else "silent"] += 1
        pytest.fail(f"an error was due, but the reply was {response!r}")
