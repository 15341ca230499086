"""openai-agents' source distribution: fetched from PyPI once, kept beside the environments, and unpacked for each process."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from benchmarks.envs import ENVS

VERSION = "0.24.0"


def fetched() -> Path:
    """The unpacked source distribution, in a folder of its own for the life of the process."""
    kept = ENVS / "sources"
    name = f"openai_agents-{VERSION}"
    archive = kept / f"{name}.tar.gz"
    if not archive.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", str(kept)]
        subprocess.run([*command, f"openai-agents=={VERSION}"], check=True)
    place = Path(tempfile.mkdtemp(prefix="compat-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    with tarfile.open(archive) as opened:
        opened.extractall(place, filter="data")
    return place / name
