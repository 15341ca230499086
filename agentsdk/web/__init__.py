"""Runs over HTTP. What a name needs, the package `starlette` (the extra `web`) too, is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.web.app import web_app
    from agentsdk.web.caller import Caller
    from agentsdk.web.front_ends.apps import ag_ui_app, vercel_app
    from agentsdk.web.front_ends.client_tools import FrontEndTools
    from agentsdk.web.limits import WebLimits
    from agentsdk.web.webhooks import Webhooks, WebhookTarget

__all__ = ["Caller", "FrontEndTools", "WebLimits", "WebhookTarget", "Webhooks", "ag_ui_app", "vercel_app", "web_app"]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.web.app": "web_app",
            "agentsdk.web.caller": "Caller",
            "agentsdk.web.front_ends.apps": "ag_ui_app vercel_app",
            "agentsdk.web.front_ends.client_tools": "FrontEndTools",
            "agentsdk.web.limits": "WebLimits",
            "agentsdk.web.webhooks": "WebhookTarget Webhooks",
        },
    )
