"""Real models on this machine: llama.cpp in a child process, no key, no network. See `LocalModel` and `LocalEmbedder`."""

from __future__ import annotations

from agentsdk.models.local.embedder import LocalEmbedder
from agentsdk.models.local.model import LocalModel

__all__ = ["LocalEmbedder", "LocalModel"]
