"""`FallbackModel`: the next model where one fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from msgspec import structs

from agentsdk.ports.model import MODEL, Model, ModelRequest
from agentsdk.types.declared import SYNC, Fields, optional, sequence_of
from agentsdk.types.deltas import AttemptDiscarded, ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ModelBehaviorError, ModelError, ProviderError, UserError
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import SpentAttempt


def another_may_do(error: ModelError) -> bool:
    """Whether another model may succeed where one failed with `error`: after any failure of a provider or of its reply."""
    return isinstance(error, ProviderError | ModelBehaviorError)


_FIELDS = Fields("FallbackModel", models=sequence_of(MODEL, "models"), on_error=SYNC, accept=optional(SYNC))


class FallbackModel:
    """Asks its models in order until one gives a reply.

    `on_error(error)` says whether an error is passed to the next model (by default every `ProviderError`, once that model's own
    retries are spent, and every reply that cannot be used). `accept(response)` may refuse a complete reply. The last model's
    error is raised as it is; a refused last reply is given. Deltas of a model that failed are followed by `AttemptDiscarded`.

    Raises `UserError` for no models, and for what is none.
    """

    def __init__(
        self,
        *models: Model,
        on_error: Callable[[ModelError], bool] = another_may_do,
        accept: Callable[[ModelResponse], bool] | None = None,
    ) -> None:
        if not models:
            raise UserError("FallbackModel was given no models, expected at least one; pass them in the order to try")
        _FIELDS.check_given(models=models, on_error=on_error, accept=accept)
        self._models = models
        self._on_error = on_error
        self._accept = accept
        self.name = " or ".join(model.name for model in models)

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(map(repr, self._models))})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`."""
        spent: tuple[SpentAttempt, ...] = ()
        for number, model in enumerate(self._models, 1):
            is_last = number == len(self._models)
            shown = False
            try:
                async with aclosing(model.stream(request)) as events:
                    async for event in events:
                        if isinstance(event, ResponseCompleted):
                            event = structs.replace(event, attempts=spent + _named(event.attempts, model))
                            response = event.response
                            if not (is_last or self._accept is None or self._accept(response)):
                                refused = SpentAttempt(response.usage, response.model or model.name)
                                spent = (*event.attempts, refused)
                                reason = f"the reply of {model.name} was not accepted"
                                break
                        shown = True
                        yield event
                    else:
                        return
            except ModelError as error:
                error.attempts = spent = spent + _named(error.attempts, model)
                if is_last or not self._on_error(error):
                    raise
                reason = f"{model.name} failed with {type(error).__name__}"
            if shown:
                yield AttemptDiscarded(reason)


def _named(attempts: tuple[SpentAttempt, ...], model: Model) -> tuple[SpentAttempt, ...]:
    return tuple([SpentAttempt(attempt.usage, attempt.model or model.name) for attempt in attempts])
