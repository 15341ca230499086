"""`AnyLLMModel`: models of other vendors under the names that any-llm has for them. agentsdk asks them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in
from agentsdk.compat.openai_agents.extensions.models.litellm_model import LitellmModel


class AnyLLMModel(LitellmModel):
    """`"anthropic/claude-..."` and so on."""


if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
