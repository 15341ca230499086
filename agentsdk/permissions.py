"""Permissions of tools, the grants of a run, the audit of what was refused, and taint: see the page on permissions."""

from __future__ import annotations

from agentsdk.core.refused_calls import RefusedCall
from agentsdk.core.taint import Taint
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
    "Taint",
]
