"""The official `mcp` package is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from agentsdk.types.errors import UserError


def require_package(what: str) -> None:
    """Raises `UserError` where the package is not installed."""
    if find_spec("mcp") is None:
        raise UserError(f"{what} needs the mcp package, which is not installed, expected it; pip install 'agentsdk[mcp]'")
