"""`ConcurrencyLimitedModel`: at most so many concurrent requests; the others wait their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from weakref import WeakKeyDictionary

from agentsdk.ports.model import MODEL, Model, ModelRequest
from agentsdk.types.declared import Fields, whole
from agentsdk.types.deltas import ModelStreamEvent

_FIELDS = Fields("ConcurrencyLimitedModel", model=MODEL, limit=whole("at least 1; let one request through", 1))


class ConcurrencyLimitedModel:
    """A model with at most `limit` concurrent requests in an event loop; first come, first served.

    Raises `UserError` for a limit below 1, and for what is no model.
    """

    def __init__(self, model: Model, limit: int) -> None:
        _FIELDS.check_given(model=model, limit=limit)
        self._model = model
        self._limit = limit
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self.name = model.name

    def __repr__(self) -> str:
        return f"ConcurrencyLimitedModel({self._model!r}, limit={self._limit})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply once it is this request's turn."""
        loop = asyncio.get_running_loop()
        gate = self._gates.get(loop)
        if gate is None:
            gate = self._gates[loop] = asyncio.Semaphore(self._limit)
        async with gate, aclosing(self._model.stream(request)) as events:
            async for event in events:
                yield event
