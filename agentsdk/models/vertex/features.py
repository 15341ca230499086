"""What the adapters for Vertex AI can do: what those for the vendors' own servers can, without what Vertex AI does not have."""

from __future__ import annotations

from msgspec import structs

from agentsdk.models.anthropic.features import FEATURES as ANTHROPIC_FEATURES
from agentsdk.models.google.features import FEATURES as GOOGLE_FEATURES

GOOGLE = structs.replace(
    GOOGLE_FEATURES,
    hosted_tools={
        name: settings
        for name, settings in GOOGLE_FEATURES.hosted_tools.items()
        if name not in ("FileSearchTool", "HostedMCPTool")
    },
)
ANTHROPIC = structs.replace(
    ANTHROPIC_FEATURES,
    hosted_tools={
        name: settings
        for name, settings in ANTHROPIC_FEATURES.hosted_tools.items()
        if name in ("WebSearchTool", "ToolSearchTool")
    },
    images=("data", "address"),
    files=("data", "address"),
)
