"""Temporal's SDK is an extra."""

from __future__ import annotations

from importlib.util import find_spec


def require_package() -> None:
    """Raises `UserError` where the package is not installed."""
    if find_spec("temporalio") is None:
        from agentsdk.types.errors import UserError  # only here: the workflow's sandbox imports this module for each run

        raise UserError(
            "agentsdk.durable.temporal needs temporalio, which is not installed, expected it; pip install 'agentsdk[temporal]'"
        )
