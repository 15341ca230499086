"""`RetryingModel`: any model, asked again after an error that may pass."""

from __future__ import annotations

import dataclasses
import random as _random
from collections.abc import AsyncGenerator, Callable

from msgspec import structs

from agentsdk.models.retry import SystemClock, is_retryable, with_retries
from agentsdk.ports.clock import CLOCK, Clock
from agentsdk.ports.model import MODEL, Model, ModelRequest
from agentsdk.types.declared import SYNC, Fields, a, optional
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.errors import ModelError
from agentsdk.types.settings import ModelRetrySettings

_FIELDS = Fields(
    "RetryingModel",
    model=MODEL,
    settings=optional(a(ModelRetrySettings, "ModelRetrySettings; pass ModelRetrySettings(...)")),
    on_error=SYNC,
    clock=optional(CLOCK),
)


class RetryingModel:
    """Asks `model` again after an error that may pass, as long as nothing of its reply was shown.

    `on_error(error)` says of an error whether it may: by default a `ProviderError` that is `retryable`. `ModelSettings(retry=)`
    of a run come before `settings`. The adapters of this package retry by themselves; inside this model they do not, so a
    request is sent at most `1 + max_retries` times. `clock` is for tests. Raises `UserError` for what is no model or setting.
    """

    def __init__(
        self,
        model: Model,
        settings: ModelRetrySettings | None = None,
        *,
        on_error: Callable[[ModelError], bool] = is_retryable,
        clock: Clock | None = None,
    ) -> None:
        _FIELDS.check_given(model=model, settings=settings, on_error=on_error, clock=clock)
        self._model = model
        self._settings = settings or ModelRetrySettings()
        self._on_error = on_error
        self._clock = SystemClock() if clock is None else clock
        self.name = model.name

    def __repr__(self) -> str:
        return f"RetryingModel({self._model!r})"

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`."""
        settings = request.settings.retry or self._settings
        once = dataclasses.replace(request.settings, retry=dataclasses.replace(settings, max_retries=0))
        inner = structs.replace(request, settings=once)
        return with_retries(lambda: self._model.stream(inner), settings, self._clock, _random.random, may_pass=self._on_error)
