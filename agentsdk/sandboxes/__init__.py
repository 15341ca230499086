"""Sandboxes: where commands run that nobody vouches for. The adapters are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.ports.sandbox import (
        Completed,
        FileInfo,
        Match,
        Sandbox,
        SandboxFiles,
        SandboxLimits,
        SandboxShell,
    )
    from agentsdk.sandboxes.best import best_sandbox
    from agentsdk.sandboxes.bubblewrap import BubblewrapSandbox
    from agentsdk.sandboxes.docker import DockerSandbox
    from agentsdk.sandboxes.local import LocalSandbox
    from agentsdk.sandboxes.sandlock import SandlockSandbox

__all__ = [
    "BubblewrapSandbox",
    "Completed",
    "DockerSandbox",
    "FileInfo",
    "LocalSandbox",
    "Match",
    "Sandbox",
    "SandboxFiles",
    "SandboxLimits",
    "SandboxShell",
    "SandlockSandbox",
    "best_sandbox",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.ports.sandbox": "Completed FileInfo Match Sandbox SandboxFiles SandboxLimits SandboxShell",
            "agentsdk.sandboxes.best": "best_sandbox",
            "agentsdk.sandboxes.bubblewrap": "BubblewrapSandbox",
            "agentsdk.sandboxes.docker": "DockerSandbox",
            "agentsdk.sandboxes.local": "LocalSandbox",
            "agentsdk.sandboxes.sandlock": "SandlockSandbox",
        },
    )
