"""Memory: what is worth knowing of earlier conversations, kept in files."""

from __future__ import annotations

from agentsdk.patterns.memory.change import MemoryChange
from agentsdk.patterns.memory.memory import Memory

__all__ = ["Memory", "MemoryChange"]
