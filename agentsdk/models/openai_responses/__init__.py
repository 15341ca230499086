"""The Responses API: OpenAI's, and every server that speaks the same. See `OpenAIResponsesModel`."""

from __future__ import annotations

from agentsdk.models.openai_responses.model import OpenAIResponsesModel

__all__ = ["OpenAIResponsesModel"]
