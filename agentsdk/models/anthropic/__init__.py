"""The Anthropic Messages API."""

from __future__ import annotations

from agentsdk.models.anthropic.model import AnthropicModel

__all__ = ["AnthropicModel"]
