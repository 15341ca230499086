"""Which model an agent means: a model itself, a name for a provider, or the default."""

from __future__ import annotations

import os
import warnings
from importlib import import_module

from agentsdk.models.known import PROFILES, elsewhere, key_hint, known_providers, provider_meant
from agentsdk.ports.model import Model, ModelProvider
from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError

_ENDINGS = ("_BASE_URL", "_API_KEY", "_TOKEN")
_BEGINNINGS = ("AWS_", "GOOGLE_")
MODEL_VARIABLE = "AGENTSDK_MODEL"
LOCAL_DEFAULT = "local:smollm2"


def find_model(given: str | Model | None, provider: ModelProvider | None = None) -> Model:
    """The model that `given` means: itself, or what `provider` (by default this module) has under that name."""
    if given is not None and not isinstance(given, str):
        return given
    return (provider or DEFAULT_PROVIDER).get_model(given)


class DefaultModelProvider:
    """Models by name.

    - `"local:smollm2"`: the local model.
    - `"openai:NAME"`: OpenAI's Responses API; `"openai-chat:NAME"` its chat completions. `"openai:"` alone is the
      model that the agent's prompt names.
    - `"anthropic:NAME"`, `"google:NAME"`; `"bedrock:MODEL_ID"`, in the region of `AWS_REGION`.
    - `"vertex:gemini-..."`, `"vertex:claude-..."`, in GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION;
      `"vertex:PUBLISHER/NAME"`: another publisher's, by chat completions.
    - `"groq:NAME"`, `"ollama:NAME"` and so on: a compatible server, see `agentsdk.models.known`.
    - any other name: that model of the server named by `OPENAI_BASE_URL`, by chat completions; one that begins with an unknown
      provider is refused.

    The default is `AGENTSDK_MODEL` where that is set; with an `OPENAI_API_KEY` OpenAI's `OPENAI_DEFAULT_MODEL`, or its
    `gpt-4.1`; and the local model where neither is, with a warning where another provider's key is set. Keys and addresses come
    from the environment. One name gives the same model as long as the environment says the same.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[dict[str, str], Model]] = {}

    def get_model(self, name: str | None) -> Model:
        """The model called `name`. Raises `UserError` where what it needs is missing."""
        is_unnamed = not (name or os.environ.get(MODEL_VARIABLE))
        name = name or default_model_name()
        environment = {key: value for key, value in os.environ.items() if key.endswith(_ENDINGS) or key.startswith(_BEGINNINGS)}
        known = self._found.get(name)
        if known is not None and known[0] == environment:
            return known[1]
        model = _make_default() if is_unnamed and name == LOCAL_DEFAULT else _make(name)
        self._found[name] = (environment, model)
        return model


def default_model_name() -> str:
    """The name of the model that answers where none is named."""
    named = os.environ.get(MODEL_VARIABLE)
    if named or not os.environ.get("OPENAI_API_KEY"):
        return named or LOCAL_DEFAULT
    model = os.environ.get("OPENAI_DEFAULT_MODEL") or "gpt-4.1"
    # Compatible servers speak chat completions, not all of them the Responses API.
    return f"openai-chat:{model}" if os.environ.get("OPENAI_BASE_URL") else f"openai:{model}"


def _make_default() -> Model:
    """The local model, which nobody has named. Warns where the environment looks as if another one were meant."""
    meant = key_hint("OPENAI_API_KEY")
    if not meant and os.environ.get("OPENAI_BASE_URL"):
        meant = f"; OPENAI_BASE_URL is set: for a model there export {MODEL_VARIABLE}=NAME"
    try:
        model = _make(LOCAL_DEFAULT)
    except UserError as error:
        hint = meant or f"; or give the agent one, model='openai:NAME' say, or set {MODEL_VARIABLE}"
        raise UserError(
            f"the agent has no model and no OPENAI_API_KEY is set, so the local model is meant, but {error}{hint}"
        ) from None
    if meant:
        warnings.warn(
            f"the agent has no model and no OPENAI_API_KEY is set, so the local model answers{meant}; "
            f"where the local model is meant, export {MODEL_VARIABLE}={LOCAL_DEFAULT}",
            RuntimeWarning,
            stacklevel=3,
        )
    return model


DEFAULT_PROVIDER = DefaultModelProvider()


def _make(name: str) -> Model:
    kind, _, rest = name.partition(":")
    if kind == "local":
        from agentsdk.models.local import LocalModel

        return LocalModel(rest or "smollm2")
    if name == "openai:":
        from agentsdk.models.openai_responses import OpenAIResponsesModel

        return OpenAIResponsesModel()
    if rest and kind in _ADAPTERS:
        module, adapter = _ADAPTERS[kind]
        model: Model = getattr(import_module(module), adapter)(rest)
        return model
    if rest and kind == "vertex":
        from agentsdk.models.vertex import vertex_model

        return vertex_model(rest)
    if rest and kind in PROFILES:
        from agentsdk.models.profiles import profiled_model

        return profiled_model(kind, rest)
    # A first part with a digit is a model's own name ("llama3:8b"), and "ft" begins those that OpenAI's users have tuned.
    if rest and kind != "ft" and kind.replace("-", "").replace("_", "").isalpha():
        meant = provider_meant(name)
        raise UserError(
            f"model {shown(name)} begins with an unknown provider, expected one of {', '.join(known_providers())}; "
            + (f"write {shown(meant)}; " if meant else "")
            + "for a model with a colon in its name at OPENAI_BASE_URL write 'openai-chat:NAME'"
        )
    if not os.environ.get("OPENAI_BASE_URL") and (there := elsewhere(name)):
        raise UserError(f"model {shown(name)} is none of OpenAI's, expected the provider before its name; write {shown(there)}")
    from agentsdk.models.openai_chat import OpenAIChatCompletionsModel

    return OpenAIChatCompletionsModel(name)


_ADAPTERS = {
    "openai": ("agentsdk.models.openai_responses", "OpenAIResponsesModel"),
    "openai-chat": ("agentsdk.models.openai_chat", "OpenAIChatCompletionsModel"),
    "anthropic": ("agentsdk.models.anthropic", "AnthropicModel"),
    "google": ("agentsdk.models.google", "GoogleModel"),
    "bedrock": ("agentsdk.models.bedrock", "BedrockModel"),
}
