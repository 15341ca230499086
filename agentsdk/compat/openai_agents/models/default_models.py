"""The model of agents that name none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.model_settings import ModelSettings

OPENAI_DEFAULT_MODEL_ENV_VARIABLE_NAME = "OPENAI_DEFAULT_MODEL"


def get_default_model() -> str:
    """Its name: `OPENAI_DEFAULT_MODEL`, else `gpt-4.1`."""
    return os.environ.get(OPENAI_DEFAULT_MODEL_ENV_VARIABLE_NAME, "gpt-4.1").lower()


def get_default_model_settings(model: str | None = None) -> ModelSettings:
    """The settings of agents that give none."""
    return ModelSettings()


def gpt_5_reasoning_settings_required(model_name: str) -> bool:
    """Whether a model is one that reasons."""
    return model_name.startswith("gpt-5") and not model_name.startswith("gpt-5-chat")


def is_gpt_5_default() -> bool:
    """Whether the default model is one that reasons."""
    return gpt_5_reasoning_settings_required(get_default_model())


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
