"""The public API changes only on purpose: `make api` writes the snapshot anew, and the change shows in review."""

from __future__ import annotations

import difflib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_public_api_is_the_snapshot() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "public_api.py")]
    now = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    then = (ROOT / "tests" / "public_api.txt").read_text(encoding="utf-8").splitlines()
    changes = "\n".join(difflib.unified_diff(then, now, "snapshot", "now", lineterm="", n=0))
    assert now == then, f"changed on purpose? make api\n{changes}"


def test_every_name_is_there_and_documented() -> None:
    import agentsdk
    import agentsdk.testing

    for module in (agentsdk, agentsdk.testing):
        assert sorted(set(module.__all__)) == sorted(module.__all__)
        for name in module.__all__:
            value = getattr(module, name)
            assert not isinstance(value, type) or value.__doc__, f"{module.__name__}.{name} has no docstring"
