"""One virtual environment per contestant, made on first use under `benchmarks/.envs/`.

`REQUIREMENTS` is the one place that names what is compared, and in which version. Nothing is shared between the
environments, so the number of distributions in each is what a user of that package gets.

    python -m benchmarks.envs NAME ...    # makes those
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
ENVS = HERE / ".envs"

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "bare": ("httpx==0.28.1", "sniffio==1.3.1"),
    "agentsdk": ("-e", str(REPO)),
    "openai-agents": ("openai-agents==0.24.0",),
    "pydantic-ai": ("pydantic-ai-slim[openai]==2.68.0",),
    "langgraph": ("langgraph==1.2.22", "langchain==1.4.7", "langchain-openai==1.7.3"),
    "agno": ("agno==3.1.10", "openai"),
    "strands": ("strands-agents[openai]==1.62.0",),
    "agent-framework": ("agent-framework-core==1.23.0", "agent-framework-openai==1.17.0"),
}

PEERS = tuple(name for name in REQUIREMENTS if name not in ("bare", "agentsdk"))

DURABLE: dict[str, tuple[str, ...]] = {
    "langgraph-sqlite": (*REQUIREMENTS["langgraph"], "langgraph-checkpoint-sqlite==3.1.2"),
    "agno-sqlite": (*REQUIREMENTS["agno"], "sqlalchemy[asyncio]", "aiosqlite"),
}
"""What the benchmarks of durable runs need beside: kept apart, so that the figures of an import stay those of the package."""

WORKFLOWS: dict[str, tuple[str, ...]] = {
    "pydantic-graph": ("pydantic-graph==2.68.0",),
    "dbos": ("dbos==3.4.0",),
}
"""What the benchmark of workflows needs beside."""

MCP: dict[str, tuple[str, ...]] = {
    "openai-agents-mcp": (*REQUIREMENTS["openai-agents"], "mcp==2.3.0"),
    "pydantic-ai-mcp": ("pydantic-ai-slim[openai,mcp]==2.68.0", "mcp==2.3.0"),
}
"""What the rows of misbehaving MCP servers need beside."""

ENGINES: dict[str, tuple[str, ...]] = {
    "openai-agents-temporal": ("temporalio-openai-agents==1.1.0", "temporalio==1.35.0", "openai-agents==0.22.3"),
    "pydantic-ai-dbos": ("pydantic-ai-slim[openai,dbos]==2.68.0", "dbos==3.4.0"),
}
"""What the kills of durable engines need beside."""

MIGRATION: dict[str, tuple[str, ...]] = {
    "peers": (*REQUIREMENTS["openai-agents"], *REQUIREMENTS["pydantic-ai"], *DURABLE["langgraph-sqlite"]),
}
"""What the programs run on that the migration guides begin with: in one, and compiled when imported, as tests wait for it."""

COMPAT: dict[str, tuple[str, ...]] = {
    "openai-agents-tests": (
        "-e",
        f"{REPO}[openai-agents,mcp,encryption]",
        "pytest>=9",
        "pytest-asyncio",
        "pytest-timeout",
        "pytest-mock",
        "inline-snapshot",
        "aiosqlite",
        "fastapi",
        "asyncpg",
        "sqlalchemy[asyncio]",
        "graphviz",
        "griffe",
    ),
    "openai-agents-original": (
        "openai-agents[sqlalchemy,redis,encrypt,viz]==0.24.0",
        "aiosqlite",
        "fastapi",
        "mcp",
        "asyncpg",
    ),
}
"""What openai-agents' own tests need, which run on agentsdk; and itself, with what its documentation imports."""

_ALL = REQUIREMENTS | DURABLE | WORKFLOWS | MCP | ENGINES | MIGRATION | COMPAT

_INSTALL = ("-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")


@dataclass(frozen=True)
class Env:
    """A ready environment."""

    name: str
    python: Path
    distributions: int
    """How many distributions it holds beside pip and setuptools."""


class EnvError(Exception):
    """An environment could not be made; the message is the reason."""


def ensure(name: str) -> Env:
    """The environment of `name`, installed first where it is missing or its requirements changed."""
    root = ENVS / name
    python = root / "bin" / "python"
    stamp = root / ".ready"
    wanted = _fingerprint(name)
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(root, ignore_errors=True)
        started = time.monotonic()
        print(f"  installing {name}: {' '.join(_ALL[name])} ...", end=" ", flush=True)
        try:
            _call(sys.executable, "-m", "venv", str(root))
            options = ["--no-compile"] if name in MIGRATION else []
            _call(str(python), *_INSTALL, *options, *_ALL[name])
        except EnvError:
            print("failed")
            raise
        stamp.write_text(wanted)
        print(f"{time.monotonic() - started:.0f} s")
    if name == "agentsdk":
        # pip compiles what it installs, but not what an editable install points to.
        _call(str(python), "-m", "compileall", "-q", str(REPO / "agentsdk"))
    return Env(name, python, _distributions(root))


def found(name: str) -> Path | None:
    """The interpreter of the environment of `name`, if it is there and holds what is wanted; nothing is installed."""
    root = ENVS / name
    stamp = root / ".ready"
    return root / "bin" / "python" if stamp.exists() and stamp.read_text() == _fingerprint(name) else None


def _fingerprint(name: str) -> str:
    text = repr((sys.version, _ALL[name]))
    if name == "agentsdk":
        text += (REPO / "pyproject.toml").read_text() if (REPO / "pyproject.toml").exists() else ""
    return hashlib.sha256(text.encode()).hexdigest()


def _distributions(root: Path) -> int:
    found = {path.name.rsplit("-", 2)[0].lower() for path in root.glob("lib/python*/site-packages/*.dist-info")}
    return len({name.split("-")[0] for name in found} - {"pip", "setuptools"})


def _call(*command: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except OSError as error:
        raise EnvError(str(error)) from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise EnvError(lines[-1] if lines else f"exit code {done.returncode}")


if __name__ == "__main__":
    try:
        for wanted in sys.argv[1:]:
            ensure(wanted)
    except EnvError as error:
        sys.exit(str(error))
