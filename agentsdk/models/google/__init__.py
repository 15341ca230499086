"""Google's `generateContent`. See `GoogleModel`."""

from __future__ import annotations

from agentsdk.models.google.model import GoogleModel

__all__ = ["GoogleModel"]
