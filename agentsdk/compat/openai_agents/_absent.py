"""What of openai-agents is not here: why, and what there is instead."""

from __future__ import annotations

ABSENT: dict[str, tuple[str, str]] = {
    "sandbox": (
        "hosted sandboxes and their agents belong to other services",
        "agentsdk.sandboxes, which run commands on this machine, with the main API",
    ),
    "realtime": ("speech over an open connection is not what a run of turns is", "OpenAI's realtime client"),
    "voice": ("speech to text and back is not part of a run", "OpenAI's audio client around Runner.run"),
    "extensions.sandbox": ("hosted sandboxes belong to other services", "agentsdk.sandboxes with the main API"),
    "extensions.experimental": ("it is an experiment of theirs", "tools of your own"),
}
"""By the name in `agents`: why it is absent, and what there is instead."""


def absent(module: str, name: str) -> AttributeError:
    """The error for a name that is not in a module of this package."""
    inner = module.partition("openai_agents")[2].strip(".")
    full = f"{inner}.{name}" if inner else name
    why = ABSENT.get(full)
    if why is None:
        return AttributeError(
            f"module {module!r} has no attribute {name!r}, expected a name of openai-agents 0.24; docs/openai_agents.md lists "
            "them"
        )
    reason, instead = why
    return AttributeError(f"{full!r} of openai-agents is not in {module!r}: {reason}; use {instead}")
