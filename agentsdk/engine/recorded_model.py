"""`RecordedModel`: a model that has replies in a record, and asks a real one for the rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agentsdk.ports.model import ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.response import ModelResponse


class RecordedModel:
    """Gives what is `recorded` for a request, or, where that is None, what comes `live`. A stand-in for the model `name`."""

    def __init__(
        self,
        name: str,
        recorded: Callable[[ModelRequest], ModelResponse | None],
        live: Callable[[ModelRequest], AsyncGenerator[ModelStreamEvent, None]],
    ) -> None:
        self.name = name
        self._recorded = recorded
        self._live = live

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply."""
        response = self._recorded(request)
        if response is not None:
            yield ResponseCompleted(response)
            return
        async with aclosing(self._live(request)) as events:
            async for event in events:
                yield event
