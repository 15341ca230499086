"""`TimedModel`: a model that notes how long its reply takes to begin."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator

from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted


class TimedModel:
    """`model`; `first` is the seconds from the request to the first delta, None where none has come."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.provider: str = getattr(model, "provider", "")
        self.first: float | None = None
        self._model = model

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The model's own stream."""
        began = time.perf_counter()
        async with contextlib.aclosing(self._model.stream(request)) as events:
            async for event in events:
                if self.first is None and request.stream and type(event) is not ResponseCompleted:
                    self.first = time.perf_counter() - began
                yield event
