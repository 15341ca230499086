"""`RunDeps`: what the runs of one tree depend on: settings, models, prices, clock, tracer, meter. Nothing of it is state."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct, structs

from agentsdk.core.limits.budget import Budget
from agentsdk.core.limits.totals import Price
from agentsdk.define.agent import Agent
from agentsdk.define.prices import Prices
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.grace import Grace
from agentsdk.ports.meter import Meter
from agentsdk.ports.model import MODEL as A_MODEL
from agentsdk.ports.model import Model, ModelProvider
from agentsdk.ports.token_counter import TokenCounter
from agentsdk.ports.tracer import Tracer
from agentsdk.types.errors import AgentsException, CallbackError, UserError

if TYPE_CHECKING:
    from agentsdk.core.window.compaction_price import TokenPrices


class ModelCatalog(Protocol):
    """What is known of models by their names."""

    def find(self, given: str | Model | None, provider: ModelProvider | None) -> Model:
        """The model of a name. Raises `UserError` where there is none."""
        ...

    def price_with(self, given: Prices | None) -> Price:
        """What tells the price of a reply: the prices given, then those of the price lists."""
        ...

    def read_price_lists(self) -> Awaitable[None]:
        """Read the price lists, so that a price is known at once."""
        ...

    def counter_of(self, model_name: str) -> TokenCounter:
        """What counts the model's tokens."""
        ...

    def context_window_of(self, model_name: str) -> int | None:
        """The size of the model's context window, in tokens; None where that is not known."""
        ...


_INEXACT_MS = 0.01
"""What the product of a time may be too large by: whole milliseconds stay what they are."""

_FAR = 1e12
"""Where no time is: a replay may stand at the end of all time."""

MODEL_OF_PROMPT = "openai:"
"""The name of no model: OpenAI takes that of the agent's prompt."""


class LookedUp(Struct, frozen=True):
    """The sizes of models' windows, what their tokens cost and what counts them: looked up once a run."""

    context_windows: dict[str, int | None]
    token_prices: dict[str, TokenPrices | None]
    token_counters: dict[str, TokenCounter]


class RunDeps(Struct, eq=False):
    """What runs of one tree share: everything that is not state.

    `now` tells the time, as a Unix timestamp in seconds. `scope` is the budget of the `shared_limits` block that the run began
    in. `full_results` are the results that were too long for the model, in full, by the id their marker names: those of this
    process.
    """

    config: RunConfig
    catalog: ModelCatalog
    now: Callable[[], float]
    tracer: Tracer | None = None
    meter: Meter | None = None
    scope: Budget | None = None
    full_results: dict[str, str] = {}
    _models: dict[str | None, Model] = {}
    _price: Price | None = None
    _looked_up: LookedUp | None = None
    _grace: Grace | None = None

    def __reduce__(self) -> tuple[Callable[..., RunDeps], tuple[object, ...]]:
        """What a pickle of a result has of it: not the key that seals the run's states, nor who saw the run."""
        config = dataclasses.replace(self.config, state_key=None)
        shared = structs.replace(self, config=config, tracer=None, meter=None, _price=None)  # found anew, it is a closure
        return type(self), structs.astuple(shared)

    def stamp(self) -> float:
        """The present, as events have it: rounded up to the millisecond."""
        now = self.now()
        return ceil(now * 1000 - _INEXACT_MS) / 1000 if abs(now) < _FAR else now

    @property
    def keeps_back(self) -> bool:
        """Whether what a last answer takes is kept out of all other requests. A callable may ask for one: of its answer the
        tokens are kept back, while its turn and its request come on top."""
        on_limit = self.config.on_limit
        return type(on_limit) is not str or on_limit == "finalize"

    @property
    def grace(self) -> Grace:
        """The time that the runs have to wind down once they are cancelled."""
        if self._grace is None:
            self._grace = Grace(self.config.cancel_grace)
        return self._grace

    @property
    def looked_up(self) -> LookedUp:
        """What was looked up of models, by their names."""
        if self._looked_up is None:
            self._looked_up = LookedUp({}, {}, {})
        return self._looked_up

    @property
    def price(self) -> Price:
        """What a reply cost, by its model's name: at the prices given, or those of the price lists."""
        if self._price is None:
            self._price = self.catalog.price_with(self.config.prices)
        return self._price

    def model_of(self, agent: Agent[Any, Any]) -> Model | None:
        """The agent's model; None where a callable chooses it, turn by turn. Raises `UserError` where there is none."""
        given = agent.model if self.config.model is None else self.config.model
        if given is None and agent.prompt is not None and self.config.model_provider is None:
            given = MODEL_OF_PROMPT
        if given is None or isinstance(given, str):
            return self.model(given)
        return cast(Model, given) if hasattr(given, "stream") else None

    def chooses_model(self, agent: Agent[Any, Any]) -> bool:
        """Whether a callable chooses the agent's model, turn by turn."""
        given = agent.model if self.config.model is None else self.config.model
        return not (given is None or isinstance(given, str) or hasattr(given, "stream"))

    def model(self, given: str | Model | None) -> Model:
        """The model that is meant; a name is looked up once a run. Raises `UserError` where there is none."""
        if given is not None and not isinstance(given, str):
            return given
        model = self._models.get(given)
        if model is None:
            try:
                model = self.catalog.find(given, self.config.model_provider)
            except AgentsException:
                raise
            except Exception as error:
                raise CallbackError(f"the model_provider raised {type(error).__name__}, expected a model; fix it") from error
            if not A_MODEL.fits(model):
                raise UserError(f"the model_provider gave a {type(model).__name__!r}, expected {A_MODEL.text}; return one")
            self._models[given] = model
        return model
