"""OpenAI's chat completions, and what speaks them."""

from __future__ import annotations

from typing import Any

from agentsdk.compat.openai_agents.models._native import NativeModel
from agentsdk.ports.model import Model as OwnModel


class OpenAIChatCompletionsModel(NativeModel):
    """A model that is asked by chat completions, at the address of `openai_client`."""

    def __init__(self, model: Any, openai_client: Any = None, **_: Any) -> None:
        super().__init__(model, openai_client)

    def _make(self, options: dict[str, Any]) -> OwnModel:
        from agentsdk.models.openai_chat import OpenAIChatCompletionsModel as Own

        return Own(self.model, **options)
