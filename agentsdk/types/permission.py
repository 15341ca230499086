"""`Permission`: how much a tool may change, and so what a run needs to be granted to call it."""

from __future__ import annotations

from typing import Literal, get_args

Permission = Literal["read", "write", "admin"]
"""What calling a tool takes: to look at something, to change something, or to change what others depend on. Each includes the
ones before it."""

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)


def includes(granted: Permission, needed: Permission) -> bool:
    """Whether who is granted one permission has another."""
    return PERMISSIONS.index(granted) >= PERMISSIONS.index(needed)
