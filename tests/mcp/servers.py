"""Servers for the tests: the little one of these tests, and real ones where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from agentsdk.mcp import MCPServerStdio

LITTLE = str(Path(__file__).with_name("little_server.py"))


def little(era: str = "handshake", **options: Any) -> MCPServerStdio:
    """The little server."""
    params: Any = {"command": sys.executable, "args": ["-S", LITTLE, era], "env": options.pop("env", None)}
    return MCPServerStdio(params, **{"name": "little", **options})
