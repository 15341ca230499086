"""The model of agents that name none."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.model_settings import ModelSettings, coerce_settings

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.models.interface import Model

OPENAI_DEFAULT_MODEL_ENV_VARIABLE_NAME = "OPENAI_DEFAULT_MODEL"
_DATE = r"(-\d{4}-\d{2}-\d{2})?"
_EFFORTS = (
    (rf"gpt-5\.[12456]{_DATE}|gpt-5\.4-(mini|nano){_DATE}|gpt-5\.6-(sol|terra|luna){_DATE}|gpt-5\.3-codex", "none"),
    (rf"gpt-5{_DATE}|gpt-5\.2-codex", "low"),
    (rf"gpt-5\.[24]-pro{_DATE}", "medium"),
)


def get_default_model() -> str:
    """Its name: `OPENAI_DEFAULT_MODEL`, else `gpt-5.6-luna`."""
    return os.environ.get(OPENAI_DEFAULT_MODEL_ENV_VARIABLE_NAME, "gpt-5.6-luna").lower()


def get_default_model_settings(model: str | None = None) -> ModelSettings:
    """The settings of agents that give none: for models that reason, little reasoning and short answers."""
    name = get_default_model() if model is None else model
    if not gpt_5_reasoning_settings_required(name):
        return ModelSettings()
    effort = next((effort for pattern, effort in _EFFORTS if re.fullmatch(pattern, name)), None)
    given: dict[str, Any] = {"verbosity": "low"}
    return coerce_settings(given if effort is None else {**given, "reasoning": {"effort": effort}})


def implicit_settings(model: str | Model | None) -> ModelSettings:
    """The settings of an agent of this model that gives none."""
    return get_default_model_settings(model) if model is None or isinstance(model, str) else ModelSettings()


def gpt_5_reasoning_settings_required(model_name: str) -> bool:
    """Whether a model is one that reasons."""
    return model_name.startswith("gpt-5") and re.fullmatch(r"gpt-5(\.[123])?-chat-latest", model_name) is None


def is_gpt_5_default() -> bool:
    """Whether the default model is one that reasons."""
    return gpt_5_reasoning_settings_required(get_default_model())


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
