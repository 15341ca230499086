"""Pages and programs under the lock of `offline.py`, each in a process of its own: a fork of one that has the package."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


class Forks:
    """Runs them one after the other. The process that forks is started by the first, and ended by `close`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, path: Path, folder: Path, arguments: Sequence[str] = (), variables: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """The exit code of a page or a program in `folder`, what it printed, and what it said on stderr."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        files = [folder / ".printed", folder / ".errors"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **(variables or {})}
        asked = [str(path), list(arguments), str(folder), [*map(str, files)], environment]
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        is_done = select.select([process.stdout], [], [], 120)[0]
        said = [file.read_text(encoding="utf-8") if file.exists() else "" for file in files]
        if not is_done:
            self.close()
            pytest.fail(f"{path.name} did not end; so far it printed: {said[0]!r} {said[1]!r}", pytrace=False)
        return int(process.stdout.readline()), said[0], said[1]

    def close(self) -> None:
        """End it, and what it runs."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            with self._process:
                self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tests.offline", "--serve"],
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        return self._process
