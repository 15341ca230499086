"""Run a quick part of the suite on a newer Python, if one is installed. A visible skip if not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUICK = ["tests/types", "tests/core", "tests/engine", "tests/sessions"]
NEEDS = [
    "pytest>=8.3",
    "hypothesis>=6.120",
    "opentelemetry-sdk>=1.30",
    "opentelemetry-exporter-otlp-proto-http>=1.30",
    "psutil>=6",
    "asyncpg",
    "redis",
    "cryptography",
    "pydantic-monty",
]


def candidates() -> list[str]:
    """Interpreters that may be there, newest first: on the path, or kept by pyenv."""
    found: list[str] = []
    for minor in range(16, sys.version_info.minor, -1):
        found += [path for path in [shutil.which(f"python3.{minor}")] if path]
        found += sorted(map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")), reverse=True)
    return found


def version(python: str) -> str:
    """`3.13` if `python` runs and can make environments, else nothing. A pyenv shim may name a version that is not chosen."""
    script = "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        outcome = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return outcome.stdout.strip() if outcome.returncode == 0 else ""


def environment(python: str, found: str) -> Path:
    """The interpreter of `.venv-<version>`, made when it is missing or older than what it holds."""
    home = ROOT / f".venv-{found}"
    inside, stamp = home / "bin" / "python", home / ".done"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        print(f"environment {home.name}", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "--quiet", "--editable", str(ROOT), *NEEDS], check=True)
        stamp.touch()
    return inside


def main() -> int:
    """Exit status of the tests, 0 where there is no other interpreter."""
    for python in candidates():
        found = version(python)
        if found:
            print(f"Python {found}: {', '.join(QUICK)}", flush=True)
            tests = [path for path in QUICK if (ROOT / path).exists()]
            pytest = [str(environment(python, found)), "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
            return subprocess.run([*pytest, *tests], cwd=ROOT, check=False).returncode
    print(f"SKIPPED: no Python newer than 3.{sys.version_info.minor} with a venv module is installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
