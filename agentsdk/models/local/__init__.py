"""A real model on this machine: llama.cpp in a child process, no key, no network. See `LocalModel`."""

from __future__ import annotations

from agentsdk.models.local.model import LocalModel

__all__ = ["LocalModel"]
