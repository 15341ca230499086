"""Starlette is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from agentsdk.types.errors import UserError


def require_package(what: str = "agentsdk.web", extra: str = "web") -> None:
    """Raises `UserError` where the package is not installed that `what` needs and `extra` brings."""
    if find_spec("starlette") is None:
        raise UserError(f"{what} needs starlette, which is not installed, expected it; pip install 'agentsdk[{extra}]'")


def require_ag_ui() -> None:
    """Raises `UserError` where what AG-UI takes is not installed."""
    if find_spec("starlette") is None or find_spec("ag_ui") is None:
        raise UserError(
            "ag_ui_app needs starlette and ag-ui-protocol, of which one is not installed, expected both; "
            "pip install 'agentsdk[ag-ui]'"
        )
