"""`AnyLLMModel`: models of other vendors under the names that any-llm has for them. agentsdk asks them itself."""

from __future__ import annotations

from agentsdk.compat.openai_agents.extensions.models.litellm_model import LitellmModel


class AnyLLMModel(LitellmModel):
    """`"anthropic/claude-..."` and so on."""
