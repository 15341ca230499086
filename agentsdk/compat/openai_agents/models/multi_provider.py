"""Models by name, of several providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.models.interface import Model, ModelProvider
from agentsdk.compat.openai_agents.models.openai_provider import OpenAIProvider


class MultiProviderMap:
    """Providers by the prefix of the names they are for."""

    def __init__(self) -> None:
        self._mapping: dict[str, ModelProvider] = {}

    def has_prefix(self, prefix: str) -> bool:
        """Whether there is one for it."""
        return prefix in self._mapping

    def get_mapping(self) -> dict[str, ModelProvider]:
        """All of them."""
        return self._mapping.copy()

    def set_mapping(self, mapping: dict[str, ModelProvider]) -> None:
        """Have these in their place."""
        self._mapping = mapping

    def get_provider(self, prefix: str) -> ModelProvider | None:
        """The one for a prefix."""
        return self._mapping.get(prefix)

    def add_provider(self, prefix: str, provider: ModelProvider) -> None:
        """Add one."""
        self._mapping[prefix] = provider

    def remove_provider(self, prefix: str) -> None:
        """Take one away."""
        del self._mapping[prefix]


class _Litellm(ModelProvider):
    """Models of other vendors under the names that LiteLLM has for them, asked by agentsdk itself."""

    def get_model(self, model_name: str | None) -> Model:
        from agentsdk.compat.openai_agents.extensions.models.litellm_model import LitellmModel

        return LitellmModel(model_name or "openai/gpt-4.1")


class MultiProvider(ModelProvider):
    """`"openai/NAME"` and `"NAME"` are OpenAI's; `"litellm/VENDOR/NAME"` those of other vendors; more by `provider_map`."""

    def __init__(
        self,
        *,
        provider_map: MultiProviderMap | None = None,
        openai_api_key: str | None = None,
        openai_base_url: str | None = None,
        openai_client: Any = None,
        openai_use_responses: bool | None = None,
        openai_prefix_mode: Literal["alias", "model_id"] = "alias",
        unknown_prefix_mode: Literal["error", "model_id"] = "error",
        **_: Any,
    ) -> None:
        for name, mode, known in (
            ("openai_prefix_mode", openai_prefix_mode, ("alias", "model_id")),
            ("unknown_prefix_mode", unknown_prefix_mode, ("error", "model_id")),
        ):
            if mode not in known:
                raise UserError(f"{name} is {mode!r}, expected one of {list(known)}")
        self.provider_map = provider_map
        self.openai_provider = OpenAIProvider(
            api_key=openai_api_key,
            base_url=openai_base_url,
            openai_client=openai_client,
            use_responses=openai_use_responses,
        )
        self._openai_prefix_mode = openai_prefix_mode
        self._unknown_prefix_mode = unknown_prefix_mode

    def get_model(self, model_name: str | None) -> Model:
        """The model of that name. Raises `UserError` for an unknown prefix."""
        prefix, slash, rest = (model_name or "").partition("/")
        if not slash:
            return self.openai_provider.get_model(model_name)
        if self.provider_map is not None and (provider := self.provider_map.get_provider(prefix)) is not None:
            return provider.get_model(rest)
        if prefix == "openai":
            return self.openai_provider.get_model(rest if self._openai_prefix_mode == "alias" else model_name)
        if prefix in ("litellm", "any-llm"):
            return _Litellm().get_model(rest)
        if self._unknown_prefix_mode == "model_id":
            return self.openai_provider.get_model(model_name)
        raise UserError(
            f"Unknown prefix: {prefix} of model {model_name!r}, expected 'openai', 'litellm' or one of the provider_map"
        )


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
