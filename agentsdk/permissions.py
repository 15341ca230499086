"""Permissions of tools, the grants of a run, the audit of what was refused, and taint: see the page on permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.core.refused_calls import RefusedCall
from agentsdk.core.taint import Taint
from agentsdk.define.grants import Grant, GrantRule, Grants
from agentsdk.types.events import NotGranted
from agentsdk.types.lazy import lazy_names
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

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
