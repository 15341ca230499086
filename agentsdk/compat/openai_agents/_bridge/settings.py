"""Settings of a model request, for the models of agentsdk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentsdk.compat.openai_agents.items import field_of
from agentsdk.compat.openai_agents.model_settings import ModelSettings
from agentsdk.types.settings import ModelRetrySettings
from agentsdk.types.settings import ModelSettings as OwnSettings

_SAME = (
    "temperature",
    "top_p",
    "frequency_penalty",
    "presence_penalty",
    "parallel_tool_calls",
    "truncation",
    "max_tokens",
    "verbosity",
    "metadata",
    "store",
    "prompt_cache_retention",
    "top_logprobs",
)
_HOSTED_CHOICES = ("file_search", "web_search", "web_search_preview", "code_interpreter", "image_generation", "mcp")


def own_settings(settings: ModelSettings) -> OwnSettings:
    """The settings as agentsdk has them. What it has no field for goes into the body of the request as it stands."""
    given: dict[str, Any] = {name: value for name in _SAME if (value := getattr(settings, name)) is not None}
    body: dict[str, Any] = dict(cast("Mapping[str, Any]", settings.extra_body or {}))
    for name, value in (settings.extra_args or {}).items():
        if name in ("top_k", "seed", "stop", "logit_bias", "service_tier", "prompt_cache_key"):
            given[name] = value
        elif name not in ("timeout", "extra_headers"):
            body[name] = value
    choice = settings.tool_choice
    if isinstance(choice, str):
        if choice in _HOSTED_CHOICES:
            body["tool_choice"] = {"type": choice}
        else:
            given["tool_choice"] = choice
    elif choice is not None:
        body["tool_choice"] = {"type": "mcp", "server_label": choice.server_label, "name": choice.name}
    if settings.reasoning is not None:
        effort, summary = field_of(settings.reasoning, "effort"), field_of(settings.reasoning, "summary")
        if effort is not None and summary is None:
            given["reasoning_effort"] = effort
        elif summary is not None:
            body["reasoning"] = {name: value for name, value in (("effort", effort), ("summary", summary)) if value}
    if settings.response_include:
        body["include"] = list(settings.response_include)
    if settings.context_management:
        body["context_management"] = settings.context_management
    if body:
        given["extra_body"] = body
    if settings.extra_headers:
        given["extra_headers"] = {str(name): str(value) for name, value in dict(settings.extra_headers).items()}
    if settings.retry is not None:
        given["retry"] = _retry(settings.retry)
    return OwnSettings(**given)


def _retry(retry: Any) -> ModelRetrySettings:
    """Retries as agentsdk makes them, which knows itself what may be sent again."""
    backoff = retry.backoff
    named = {
        "initial_delay": "initial_delay",
        "max_delay": "max_delay",
        "multiplier": "multiplier",
    }
    given: dict[str, Any] = {}
    for theirs, ours in named.items():
        value = field_of(backoff, theirs) if backoff is not None else None
        if value is not None:
            given[ours] = value
    if backoff is not None and field_of(backoff, "jitter") is False:
        given["jitter"] = 0.0
    if retry.max_retries is not None:
        given["max_retries"] = retry.max_retries
    return ModelRetrySettings(**given)
