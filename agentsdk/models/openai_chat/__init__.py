"""Chat completions: OpenAI's, and every server that speaks the same. See `OpenAIChatCompletionsModel`."""

from __future__ import annotations

from agentsdk.models.openai_chat.model import OpenAIChatCompletionsModel

__all__ = ["OpenAIChatCompletionsModel"]
