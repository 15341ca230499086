"""`LitellmProvider`: models by the names that LiteLLM has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.extensions.models.litellm_model import LitellmModel
from agentsdk.compat.openai_agents.models.interface import Model, ModelProvider


class LitellmProvider(ModelProvider):
    """A `LitellmModel` for each name."""

    def get_model(self, model_name: str | None) -> Model:
        """The model of that name."""
        return LitellmModel(model_name or "openai/gpt-4.1")


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
