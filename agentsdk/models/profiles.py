"""Profiles: OpenAI-compatible servers as settings of the chat adapter, not as copies of it.

The addresses and key variables are the ones each vendor documents.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from msgspec import Struct

from agentsdk.models.auth import Auth
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.types.errors import UserError


class Profile(Struct, frozen=True):
    """How a compatible server differs from OpenAI's.

    `base_url` is where it is unless the environment variable `base_url_variable` says otherwise; `""` when only that can say.
    `key_variable` holds its key, `""` for a server without one; `key_header` is the header that carries the key where it is not
    a bearer token. `is_key_optional`: it may do without one. `entra`: it takes tokens of Entra ID where there is no key.
    `allow_missing_finish_reason`: it never sends a finish reason. `whole_body_ok`: what it sends in one piece is finished all
    the same. `include_usage=False`: it sends usage unasked, and refuses to be asked. `native_output=False`: it takes no JSON
    schema.
    """

    base_url: str
    base_url_variable: str = ""
    key_variable: str = ""
    key_header: str = ""
    is_key_optional: bool = False
    entra: bool = False
    allow_missing_finish_reason: bool = False
    whole_body_ok: bool = False
    include_usage: bool = True
    native_output: bool = True


PROFILES: dict[str, Profile] = {
    "azure": Profile("", "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", key_header="api-key", entra=True),
    "deepseek": Profile("https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL", "DEEPSEEK_API_KEY", native_output=False),
    "fireworks": Profile("https://api.fireworks.ai/inference/v1", "FIREWORKS_BASE_URL", "FIREWORKS_API_KEY"),
    "gemini-compatible": Profile("https://generativelanguage.googleapis.com/v1beta/openai", "", "GEMINI_API_KEY"),
    "groq": Profile("https://api.groq.com/openai/v1", "GROQ_BASE_URL", "GROQ_API_KEY"),
    "huggingface": Profile("https://router.huggingface.co/v1", "HUGGINGFACE_BASE_URL", "HF_TOKEN"),
    "llamacpp": Profile("http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL", "LLAMA_API_KEY", is_key_optional=True),
    "lmstudio": Profile("http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL", "LM_API_TOKEN", is_key_optional=True),
    "mistral": Profile("https://api.mistral.ai/v1", "MISTRAL_BASE_URL", "MISTRAL_API_KEY", include_usage=False),
    "ollama": Profile("http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL", "OLLAMA_API_KEY", is_key_optional=True),
    "openrouter": Profile("https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", "OPENROUTER_API_KEY"),
    "snowflake": Profile("", "SNOWFLAKE_BASE_URL", "SNOWFLAKE_API_KEY", allow_missing_finish_reason=True, whole_body_ok=True),
    "together": Profile("https://api.together.xyz/v1", "TOGETHER_BASE_URL", "TOGETHER_API_KEY"),
    "vllm": Profile("http://127.0.0.1:8000/v1", "VLLM_BASE_URL", "VLLM_API_KEY", is_key_optional=True),
    "xai": Profile("https://api.x.ai/v1", "XAI_BASE_URL", "XAI_API_KEY"),
    "zai": Profile("https://api.z.ai/api/paas/v4", "ZAI_BASE_URL", "ZAI_API_KEY"),
}


def profiled_model(profile: str, model: str) -> OpenAIChatCompletionsModel:
    """The chat adapter for `model` at the server that `PROFILES[profile]` describes.

    Raises `UserError` naming the environment variable that is missing.
    """
    chosen = PROFILES[profile]
    base_url = os.environ.get(chosen.base_url_variable, "") if chosen.base_url_variable else ""
    base_url = base_url or chosen.base_url
    if not base_url:
        raise UserError(
            f"model '{profile}:{model}' has no address, expected it in {chosen.base_url_variable}; set that variable"
        )
    key = os.environ.get(chosen.key_variable, "") if chosen.key_variable else ""
    auth = _entra_auth() if chosen.entra and not key else None
    if chosen.key_variable and not chosen.is_key_optional and not key and auth is None:
        other = ", or pip install 'agentsdk[azure]' for tokens of Entra ID" if chosen.entra else ""
        raise UserError(f"model '{profile}:{model}' has no key, expected it in {chosen.key_variable}; set that variable{other}")
    return OpenAIChatCompletionsModel(
        model,
        base_url=base_url,
        api_key="" if chosen.key_header else key,
        auth=auth,
        headers={chosen.key_header: key} if chosen.key_header and key else None,
        allow_missing_finish_reason=chosen.allow_missing_finish_reason,
        whole_body_ok=chosen.whole_body_ok,
        include_usage=chosen.include_usage,
        native_output=chosen.native_output,
    )


def _entra_auth() -> Auth | None:
    """Tokens of Entra ID; None where the package for them is not installed."""
    if find_spec("azure") is None or find_spec("azure.identity") is None:
        return None
    from agentsdk.models.entra import EntraAuth

    return EntraAuth()
