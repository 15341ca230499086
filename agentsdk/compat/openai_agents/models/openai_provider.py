"""OpenAI's models by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents._config import Defaults
from agentsdk.compat.openai_agents.models.default_models import get_default_model
from agentsdk.compat.openai_agents.models.interface import Model, ModelProvider

DEFAULT_MODEL = "gpt-4.1"


class _Address:
    """A key and an address without a client."""

    def __init__(self, api_key: str | None, base_url: str | None) -> None:
        self.api_key = api_key
        self.base_url = base_url


class OpenAIProvider(ModelProvider):
    """OpenAI's models, with a key and address, or those of `openai_client`."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        openai_client: Any = None,
        use_responses: bool | None = None,
        **_: Any,
    ) -> None:
        if openai_client is not None and (api_key is not None or base_url is not None):
            raise ValueError("OpenAIProvider was given an openai_client beside api_key or base_url, expected one of the two")
        self._client = openai_client
        if openai_client is None and (api_key is not None or base_url is not None):
            self._client = _Address(api_key, base_url)
        self._use_responses = use_responses
        self._found: dict[tuple[str, bool, int], Model] = {}

    def get_model(self, model_name: str | None) -> Model:
        """The model of that name."""
        name = model_name or get_default_model()
        responses = Defaults.use_responses if self._use_responses is None else self._use_responses
        key = (name, responses, id(Defaults.client if self._client is None else self._client))
        if key not in self._found:
            self._found[key] = self._made(name, responses)
        return self._found[key]

    def _made(self, name: str, responses: bool) -> Model:
        if responses:
            from agentsdk.compat.openai_agents.models.openai_responses import OpenAIResponsesModel

            return OpenAIResponsesModel(name, self._client)
        from agentsdk.compat.openai_agents.models.openai_chatcompletions import OpenAIChatCompletionsModel

        return OpenAIChatCompletionsModel(name, self._client)


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
