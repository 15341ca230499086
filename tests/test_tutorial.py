"""The crash of the tutorial, played as its console block shows it: a real kill, and a second process that goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DESK = ROOT / "examples" / "tutorial" / "desk.py"


def test_the_console_block_is_what_happens(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "desk.py").write_text(DESK.read_text(encoding="utf-8"), encoding="utf-8")
    commands = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", shown, re.MULTILINE)
    assert [command for command, _ in commands][:2] == ["CRASH=1 python desk.py", "sleep 2; python desk.py"]
    folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for command, expected in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        if "CRASH" in command:
            assert done.returncode in (-9, 137), done.stderr  # the shell's word for it is "Killed"
        else:
            assert done.stdout == expected, done.stderr
