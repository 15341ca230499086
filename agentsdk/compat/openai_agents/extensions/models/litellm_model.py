"""`LitellmModel`: models of other vendors under the names that LiteLLM has for them. agentsdk asks them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.models._native import NativeModel
from agentsdk.ports.model import Model as OwnModel

_VENDORS = {
    "gemini": "google",
    "vertex_ai": "google",
    "ollama_chat": "ollama",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
_HTTP = ("openai", "custom_openai", "openai_like", "hosted_vllm")


class LitellmModel(NativeModel):
    """`"anthropic/claude-..."`, `"gemini/..."`, `"ollama/..."` and so on; or what speaks chat completions at `base_url`."""

    def __init__(self, model: str, base_url: str | None = None, api_key: str | None = None, **_: Any) -> None:
        super().__init__(model)
        self.base_url = base_url
        self.api_key = api_key

    def _make(self, options: dict[str, Any]) -> OwnModel:
        vendor, slash, name = self.model.partition("/")
        given: dict[str, Any] = {key: value for key, value in (("base_url", self.base_url), ("api_key", self.api_key)) if value}
        if not slash:
            vendor, name = "openai", self.model
        vendor = _VENDORS.get(vendor, vendor)
        if vendor == "anthropic":
            from agentsdk.models.anthropic import AnthropicModel

            return AnthropicModel(name, **given)
        if vendor == "google":
            from agentsdk.models.google import GoogleModel

            return GoogleModel(name, **given)
        if vendor in _HTTP or self.base_url:
            from agentsdk.models.openai_chat import OpenAIChatCompletionsModel

            return OpenAIChatCompletionsModel(name, **given)
        from agentsdk.models.provider import find_model
        from agentsdk.types.errors import UserError as OwnError

        try:
            return find_model(f"{vendor}:{name}")
        except OwnError as error:
            raise UserError(f"model {self.model!r} is of a vendor that agentsdk does not know: {error}") from error


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
