"""A model's reply, whole."""

from __future__ import annotations

from typing import Literal

from agentsdk.types.base import Value
from agentsdk.types.items import FunctionCall, Message, ProviderItem, Reasoning
from agentsdk.types.usage import Usage

Finish = Literal["stop", "tool_calls", "length", "content_filter", "error", "unknown"]
"""Why the model stopped. `"unknown"`: the server never said, which proves nothing: text may be kept, a call never runs."""

OutputItem = Message | FunctionCall | Reasoning | ProviderItem


class ModelResponse(Value, tag=False):
    """One reply: its items in order, what it cost, why it stopped."""

    output: tuple[OutputItem, ...]
    usage: Usage = Usage()
    finish: Finish = "stop"
    response_id: str = ""
    model: str = ""

    @property
    def text(self) -> str:
        """The text of all messages, joined."""
        return "".join(item.text for item in self.output if isinstance(item, Message))
