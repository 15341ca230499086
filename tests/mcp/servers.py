"""Servers for the tests: the little one of these tests, and real ones where they are installed."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentsdk.mcp import MCPServerStdio

ROOT = Path(__file__).parents[2]
LITTLE = str(Path(__file__).with_name("little_server.py"))


def little(era: str = "handshake", **options: Any) -> MCPServerStdio:
    """The little server."""
    params: Any = {"command": sys.executable, "args": ["-S", LITTLE, era], "env": options.pop("env", None)}
    return MCPServerStdio(params, **{"name": "little", **options})


def of_pypi(name: str, *args: str, **options: Any) -> MCPServerStdio:
    """A server from PyPI: `of_pypi("time")`. Skips the test where it is not installed."""
    module = f"mcp_server_{name}"
    if find_spec(module) is None:
        pytest.skip(f"needs {module.replace('_', '-')}: make .venv/.dev")
    return MCPServerStdio({"command": sys.executable, "args": ["-m", module, *args]}, **{"name": name, **options})


def npm_command(name: str) -> list[str]:
    """How a server from npm is started. Skips the test where it is not installed."""
    script = ROOT / ".venv" / "npm" / "node_modules" / ".bin" / f"mcp-server-{name}"
    node = shutil.which("node")
    if node is None or not script.exists():
        pytest.skip(f"needs @modelcontextprotocol/server-{name}, and npm to install it: make .venv/.npm")
    return [node, str(script.resolve())]


def of_npm(name: str, *args: str, env: dict[str, str] | None = None, **options: Any) -> MCPServerStdio:
    """A server from npm: `of_npm("memory")`."""
    command, *first = npm_command(name)
    return MCPServerStdio({"command": command, "args": [*first, *args], "env": env}, **{"name": name, **options})
