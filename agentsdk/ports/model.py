"""The port to a model: one streaming method."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from msgspec import Struct

from agentsdk.types.declared import having
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.hosted import Prompt, ServerConversation
from agentsdk.types.hosted_tool import HostedTool
from agentsdk.types.items import Item
from agentsdk.types.settings import ModelSettings
from agentsdk.types.spec import HandoffSpec, OutputSpec, ToolSpec
from agentsdk.types.tape import Tape


class ModelRequest(Struct, frozen=True):
    """All a model needs for one reply.

    `items` is the history; an adapter keeps its encoded form in `items.derived`, so that a turn encodes only the new items.
    `tail` follows the history in this request only. `tools`, and `hosted` which the provider is to run itself, are the same
    objects from turn to turn while they do not change. `stream` chooses the wire form: without it no delta is wanted.
    `request_id` is the same for every attempt, and no other request's: short plain ASCII, fit to be an idempotency key.
    `prompt` and `conversation` are what the provider keeps: an adapter for one that keeps none raises `UserError`.
    """

    items: Tape[Item]
    instructions: str = ""
    tail: tuple[Item, ...] = ()
    tools: tuple[ToolSpec | HandoffSpec, ...] = ()
    output: OutputSpec | None = None
    settings: ModelSettings = ModelSettings()
    stream: bool = False
    request_id: str = ""
    prompt: Prompt | None = None
    conversation: ServerConversation | None = None
    hosted: tuple[HostedTool, ...] = ()

    @property
    def all_items(self) -> Sequence[Item]:
        """The history and what follows it: the history itself where nothing does, as a copy would cost more with each turn."""
        return (*self.items, *self.tail) if self.tail else self.items


class Model(Protocol):
    """A model. Subclass it or just have its method.

    An adapter raises only `ModelError`s (and lets cancellation through), closes its connection when the generator is closed,
    and yields `ResponseCompleted` once, last, and only for a reply proven whole.
    """

    name: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Ask for one reply: any deltas, then one `ResponseCompleted`."""
        ...


MODEL = having(("stream",), "a model: an object with a name and the method stream", texts=("name",))


class ModelProvider(Protocol):
    """Finds a model by name."""

    def get_model(self, name: str | None) -> Model:
        """The model called `name`, or the default one. Raises `UserError` for an unknown name."""
        ...


MODEL_PROVIDER = having(("get_model",), "a ModelProvider: an object with the method get_model")
