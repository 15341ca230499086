"""`AnyLLMProvider`: models by the names that any-llm has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.extensions.models.any_llm_model import AnyLLMModel
from agentsdk.compat.openai_agents.models.interface import Model, ModelProvider


class AnyLLMProvider(ModelProvider):
    """An `AnyLLMModel` for each name."""

    def __init__(self, *, api_key: str | None = None, base_url: str | None = None, **_: object) -> None:
        self._api_key = api_key
        self._base_url = base_url

    def get_model(self, model_name: str | None) -> Model:
        """The model of that name."""
        return AnyLLMModel(model_name or "openai/gpt-4.1", self._base_url, self._api_key)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
