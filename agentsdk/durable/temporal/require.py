"""Temporal's SDK is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from agentsdk.types.errors import UserError


def require_package() -> None:
    """Raises `UserError` where the package is not installed."""
    if find_spec("temporalio") is None:
        raise UserError(
            "agentsdk.durable.temporal needs temporalio, which is not installed, expected it; pip install 'agentsdk[temporal]'"
        )
