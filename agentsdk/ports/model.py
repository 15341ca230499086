"""The port to a model: one streaming method."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from msgspec import Struct

from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.items import Item
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape


class ModelRequest(Struct, frozen=True):
    """All a model needs for one reply.

    `items` is the history; an adapter keeps its encoded form in `items.derived`, so that a turn encodes only the new items.
    `tail` follows the history in this request only. `tools` and `handoffs` are the same objects from turn to turn while they
    do not change. `stream` chooses the wire form: without it no delta is wanted. `request_id` is the same for every attempt.
    """

    items: Tape[Item]
    instructions: str = ""
    tail: tuple[Item, ...] = ()
    tools: tuple[ToolSpec | HandoffSpec, ...] = ()
    output: OutputSpec | None = None
    settings: ModelSettings = ModelSettings()
    stream: bool = False
    request_id: str = ""


class Model(Protocol):
    """A model. Subclass it or just have its method.

    An adapter raises only `ModelError`s (and lets cancellation through), closes its connection when the generator is closed,
    and yields `ResponseCompleted` once, last, and only for a reply proven whole.
    """

    name: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`."""
        ...


class ModelProvider(Protocol):
    """Finds a model by name."""

    def get_model(self, name: str | None) -> Model:
        """The model called `name`, or the default one. Raises `UserError` for an unknown name."""
        ...
