"""Which model an agent means: a model itself, a name for a provider, or the default."""

from __future__ import annotations

import os
from importlib import import_module

from agentsdk.ports.model import Model, ModelProvider

MODEL_VARIABLE = "AGENTSDK_MODEL"


def find_model(given: str | Model | None, provider: ModelProvider | None = None) -> Model:
    """The model that `given` means: itself, or what `provider` (by default this module) has under that name."""
    if given is not None and not isinstance(given, str):
        return given
    return (provider or DEFAULT_PROVIDER).get_model(given)


class DefaultModelProvider:
    """Models by name.

    - `"local:smollm2"`: the local model.
    - `"openai:NAME"`: OpenAI's Responses API; `"openai-chat:NAME"` its chat completions.
    - `"anthropic:NAME"`, `"google:NAME"`.
    - `"groq:NAME"`, `"ollama:NAME"` and so on: a compatible server, see `agentsdk.models.profiles`.
    - any other name: that model of the server named by `OPENAI_BASE_URL`, by chat completions.

    The default is `AGENTSDK_MODEL` where that is set, and the local model where not. Keys and addresses come from the
    environment. One name gives the same model as long as the environment says the same.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[dict[str, str], Model]] = {}

    def get_model(self, name: str | None) -> Model:
        """The model called `name`. Raises `UserError` where what it needs is missing."""
        name = name or os.environ.get(MODEL_VARIABLE) or "local:smollm2"
        said = {key: value for key, value in os.environ.items() if key.endswith(("_BASE_URL", "_API_KEY"))}
        known = self._found.get(name)
        if known is not None and known[0] == said:
            return known[1]
        model = _make(name)
        self._found[name] = (said, model)
        return model


DEFAULT_PROVIDER = DefaultModelProvider()


def _make(name: str) -> Model:
    kind, _, rest = name.partition(":")
    if kind == "local":
        from agentsdk.models.local import LocalModel

        return LocalModel(rest or "smollm2")
    if rest and kind in _ADAPTERS:
        module, adapter = _ADAPTERS[kind]
        model: Model = getattr(import_module(module), adapter)(rest)
        return model
    from agentsdk.models.profiles import PROFILES, profiled_model

    if rest and kind in PROFILES:
        return profiled_model(kind, rest)
    from agentsdk.models.openai_chat import OpenAIChatCompletionsModel

    return OpenAIChatCompletionsModel(name)


_ADAPTERS = {
    "openai": ("agentsdk.models.openai_responses", "OpenAIResponsesModel"),
    "openai-chat": ("agentsdk.models.openai_chat", "OpenAIChatCompletionsModel"),
    "anthropic": ("agentsdk.models.anthropic", "AnthropicModel"),
    "google": ("agentsdk.models.google", "GoogleModel"),
}
