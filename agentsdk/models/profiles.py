"""Models of OpenAI-compatible servers by name: each server is settings of the chat adapter, not a copy of it."""

from __future__ import annotations

import os
from importlib.util import find_spec

from agentsdk.models.auth import Auth
from agentsdk.models.known import PROFILES
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.types.errors import UserError


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
