"""The providers that have names, their keys, and what may have been meant where a name or a key is not there.

The addresses and key variables are the ones each vendor documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches

from msgspec import Struct


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

KEYS = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "vertex": "GOOGLE_CLOUD_PROJECT",
}
OTHER_KEYS = {"google": "GOOGLE_API_KEY"}
"""What is read where the key is not set."""

EXAMPLES = {"anthropic": "anthropic:claude-sonnet-4-5", "google": "google:gemini-2.5-flash"}
"""Names of models, for errors."""

_ENDINGS = ("_API_KEY", "_TOKEN", "_BEDROCK")
_FAMILIES = {"claude": "anthropic", "gemini": "google"}
"""How the names of models begin that OpenAI does not have."""


def known_providers() -> list[str]:
    """The first parts of names."""
    return ["local", *KEYS, *PROFILES]


def key_hint(*missing: str) -> str:
    """`"; ..."`: which variable is set in place of the `missing` ones, and what to write for it; `""` where none is."""
    variables = {**KEYS, **{name: profile.key_variable for name, profile in PROFILES.items()}}
    known = [(name, variable) for name, variable in [*variables.items(), *OTHER_KEYS.items()] if variable.endswith(_ENDINGS)]
    if hint := _misnamed(missing):
        return hint
    for provider, variable in known:
        if variable not in ("OPENAI_API_KEY", *missing) and os.environ.get(variable):
            model = EXAMPLES.get(provider, f"{provider}:NAME")
            return f"; {variable} is set: for that provider write model='{model}', or export AGENTSDK_MODEL={model}"
    return _misnamed([variable for _, variable in known])


def _misnamed(variables: Iterable[str]) -> str:
    meant = {_core(variable): variable for variable in variables}
    for given, value in os.environ.items():
        variable = meant.get(_core(given))
        if value and variable is not None and variable != given and not os.environ.get(variable):
            return f"; {given} is set, which nothing reads: is {variable} meant?"
    return ""


def _core(variable: str) -> str:
    """What stays the same where the name of a variable is not remembered well."""
    return variable.upper().replace("API", "").replace("_", "")


def provider_meant(name: str) -> str:
    """The name with the provider that its first part may mean: `"anthropic:claude"` of `"antropic:claude"`, `""` for none."""
    kind, _, rest = name.partition(":")
    close = get_close_matches(kind.lower(), known_providers(), 1)
    return f"{close[0]}:{rest}" if close else ""


def elsewhere(name: str) -> str:
    """What to write for a model that OpenAI does not have: `"anthropic:claude-x"` for `"claude-x"`, `""` for any other."""
    first, slash, rest = name.partition("/")
    if slash and rest and first in known_providers():
        return f"{first}:{rest}"
    provider = next((provider for family, provider in _FAMILIES.items() if name.startswith(family)), "")
    return f"{provider}:{name}" if provider else ""
