"""A page to look at the runs of a store, and to act on them. What `app` needs, the extra `ui`, is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.ui.application import app
    from agentsdk.ui.server import serve

__all__ = ["app", "serve"]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__, {"agentsdk.ui.application": "app", "agentsdk.ui.server": "serve"})
