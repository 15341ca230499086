"""A model's reply, whole."""

from __future__ import annotations

from typing import Literal

from agentsdk.types.base import JsonObject, Value
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.usage import NO_USAGE, Usage

Finish = Literal["stop", "tool_calls", "length", "content_filter", "error", "unknown"]
"""Why the model stopped. `"unknown"`: the server never said, which proves nothing: text may be kept, a call never runs."""

OutputItem = Message | FunctionCall | Reasoning | ProviderItem


class ModelResponse(Value, tag=False):
    """One reply: its items in order, what it cost, why it stopped.

    `provider_data` is what else the provider told of it, under its own names (service tier, log probabilities, stop sequence,
    safety ratings, a cost it charged). It is kept with the run and never sent back.
    """

    output: tuple[OutputItem, ...]
    usage: Usage = NO_USAGE
    finish: Finish = "stop"
    response_id: str = ""
    model: str = ""
    provider_data: JsonObject = {}  # noqa: RUF012 - each response has one of its own

    @property
    def text(self) -> str:
        """The text of all messages, joined."""
        return "".join(item.text for item in self.output if isinstance(item, Message))
