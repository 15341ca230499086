"""Models at Vertex AI: Google's and Anthropic's by the adapters for their APIs, other publishers' by chat completions."""

from __future__ import annotations

from agentsdk.models.vertex.claude import VertexAnthropicModel
from agentsdk.models.vertex.gemini import VertexGoogleModel
from agentsdk.models.vertex.named import vertex_model

__all__ = ["VertexAnthropicModel", "VertexGoogleModel", "vertex_model"]
