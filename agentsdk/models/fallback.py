"""`FallbackModel`: the next model where one fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.deltas import AttemptDiscarded, ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ModelBehaviorError, ModelError, ProviderError, UserError
from agentsdk.types.response import ModelResponse


def another_may_do(error: ModelError) -> bool:
    """Whether another model may succeed where one failed with `error`: after any failure of a provider or of its reply."""
    return isinstance(error, ProviderError | ModelBehaviorError)


class FallbackModel:
    """Asks its models in order until one gives a reply.

    `on_error(error)` says whether an error is passed to the next model (by default every `ProviderError`, once that model's own
    retries are spent, and every reply that cannot be used). `accept(response)` may refuse a whole reply. The last model's error
    is raised as it is; a refused last reply is given. Deltas of a model that failed are followed by `AttemptDiscarded`.

    Raises `UserError` for no models.
    """

    def __init__(
        self,
        *models: Model,
        on_error: Callable[[ModelError], bool] = another_may_do,
        accept: Callable[[ModelResponse], bool] | None = None,
    ) -> None:
        if not models:
            raise UserError("FallbackModel was given no models, expected at least one; pass them in the order to try")
        self._models = models
        self._on_error = on_error
        self._accept = accept
        self.name = " or ".join(model.name for model in models)

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(map(repr, self._models))})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`."""
        for model in self._models[:-1]:
            shown = False
            try:
                async with aclosing(model.stream(request)) as events:
                    async for event in events:
                        if isinstance(event, ResponseCompleted) and self._accept and not self._accept(event.response):
                            reason = f"the reply of {model.name} was not accepted"
                            break
                        shown = True
                        yield event
                    else:
                        return
            except ModelError as error:
                if not self._on_error(error):
                    raise
                reason = f"{model.name} failed with {type(error).__name__}"
            if shown:
                yield AttemptDiscarded(reason)
        async with aclosing(self._models[-1].stream(request)) as events:
            async for event in events:
                yield event
