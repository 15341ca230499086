"""Permissions of tools, the grants of a run, and the audit of what was refused: see the page on permissions."""

from __future__ import annotations

from agentsdk.core.refused_calls import RefusedCall
from agentsdk.define.grants import Grant, GrantRule, Grants
from agentsdk.types.events import NotGranted
from agentsdk.types.permission import Permission

__all__ = [
    "Grant",
    "GrantRule",
    "Grants",
    "NotGranted",
    "Permission",
    "RefusedCall",
]
