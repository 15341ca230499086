"""Which model an agent means: a model itself, a name for a provider, or the default."""

from __future__ import annotations

import os

from agentsdk.ports.model import Model, ModelProvider
from agentsdk.types.errors import UserError

MODEL_VARIABLE = "AGENTSDK_MODEL"

_found: dict[tuple[str | None, str | None, str | None], Model] = {}


def find_model(given: str | Model | None, provider: ModelProvider | None = None) -> Model:
    """The model that `given` means: itself, or what `provider` (by default this module) has under that name."""
    if given is not None and not isinstance(given, str):
        return given
    return (provider or DEFAULT_PROVIDER).get_model(given)


class DefaultModelProvider:
    """Models by name: `"local:smollm2"` is the local one, another name one of the environment's OpenAI-compatible server.

    The default model is `AGENTSDK_MODEL` where that is set, and the local one where not. The server is named by
    `OPENAI_BASE_URL` and its key by `OPENAI_API_KEY`. One name gives the same model each time.
    """

    def get_model(self, name: str | None) -> Model:
        """The model called `name`. Raises `UserError` where what it needs is missing."""
        name = name or os.environ.get(MODEL_VARIABLE) or "local:smollm2"
        key = (name, os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY"))
        if key not in _found:
            _found[key] = _make(name)
        return _found[key]


DEFAULT_PROVIDER = DefaultModelProvider()


def _make(name: str) -> Model:
    kind, _, rest = name.partition(":")
    if kind == "local":
        from agentsdk.models.local import LocalModel

        return LocalModel(rest or "smollm2")
    if kind == "openai" and rest:
        name = rest
    elif kind in ("anthropic", "google"):
        raise UserError(
            f"model {name!r} names a provider that has no adapter yet, expected 'local:...', 'openai:...' or a model object"
        )
    from agentsdk.models.openai_chat import OpenAIChatCompletionsModel

    return OpenAIChatCompletionsModel(name)
