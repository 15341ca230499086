"""The port to a meter, which receives what runs measure: calls of models, tools and stores, and the runs themselves.

A run without a meter pays for none of this. With one it pays for a value and a call of `keep`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

from msgspec import Struct

from agentsdk.ports.tracer import CallOutcome
from agentsdk.types.declared import having
from agentsdk.types.summary import RunStatus
from agentsdk.types.usage import Usage


class Pricing(Protocol):
    """Works out what a request cost in US dollars, which may take the reading of price lists; None where that is not known."""

    def __call__(self, usage: Usage, model: str, asked: str = "") -> Decimal | None:
        """The cost by the name that the reply gave the model, or else by the one it was asked by."""
        ...


class ModelCall(Struct, frozen=True, gc=False):
    """A model was asked for a reply. `error` is the class of what it raised, `""` for none. `first_chunk` is the time until a
    streamed reply began, in seconds."""

    seconds: float
    error: str
    agent: str
    model: str
    provider: str
    response_model: str
    first_chunk: float | None
    usage: Usage | None
    price: Pricing


class AttemptCost(Struct, frozen=True, gc=False):
    """A request to a model came to nothing and was paid for."""

    agent: str
    model: str
    provider: str
    response_model: str
    usage: Usage
    price: Pricing


class ToolCall(Struct, frozen=True, gc=False):
    """A call of a tool came to its outcome. `seconds` is None for one that was not run."""

    seconds: float | None
    error: str
    agent: str
    tool: str
    outcome: CallOutcome


class StoreCall(Struct, frozen=True, gc=False):
    """A run asked its store for something; `operation` is the method of `RunStore`. Those that wait are not among them."""

    seconds: float
    error: str
    operation: str


class RunLeft(Struct, frozen=True, gc=False):
    """A run ended, or stopped going on in this process; `status` says what can be done with it."""

    seconds: float
    error: str
    agent: str
    status: RunStatus


Measurement = ModelCall | AttemptCost | ToolCall | StoreCall | RunLeft
"""What a meter is given."""


class Meter(Protocol):
    """Receives measurements. What it raises is logged, and affects no run."""

    def keep(self, measured: Measurement) -> None:
        """Take a measurement, at once: it is called between the steps of a run."""
        ...


METER = having(("keep",), "a Meter; pass OpenTelemetryMeter(), say")
