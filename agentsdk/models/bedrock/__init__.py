"""Amazon Bedrock's Converse API."""

from __future__ import annotations

from agentsdk.models.bedrock.model import BedrockModel

__all__ = ["BedrockModel"]
