"""`agentsdk ui`: the page of a store, from the command line."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from agentsdk import Agent, RunConfig, Runner, RunQuery, SQLiteRunStore
from agentsdk.evals import Case, contains, evaluate
from agentsdk.testing import ScriptedModel

pytest.importorskip("starlette", reason="the page needs starlette and uvicorn: pip install 'agentsdk[ui]'")

pytestmark = pytest.mark.anyio


async def test_it_shows_the_runs_of_a_store_and_the_reports_that_are_named(tmp_path: Path) -> None:
    greeter = Agent(name="Greeter", model=ScriptedModel(["Hello!"] * 2))
    store = SQLiteRunStore(tmp_path / "runs.db")
    await Runner.run(greeter, "Hi.", run_config=RunConfig(store=store, run_id="r", tracing_disabled=True))
    await store.aclose()
    await evaluate("greetings", [Case("Hi.")], greeter, [contains("Hello")], save_to=tmp_path / "greetings.json")
    command = [sys.executable, "-m", "agentsdk", "ui", str(tmp_path / "runs.db"), "--evals", str(tmp_path / "greetings.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        base, token = process.stdout.readline().strip().split("/#token=")
        async with httpx.AsyncClient(base_url=base, headers={"authorization": f"Bearer {token}"}) as client:
            assert [run["run_id"] for run in (await client.get("/api/runs")).json()["runs"]] == ["r"]
            (report,) = (await client.get("/api/evals")).json()["reports"]
            assert report["name"] == "greetings"
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)


def served(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentsdk", "ui", str(tmp_path / "runs.db"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--evals", "none.json"), "cannot be read"),
        (("--evals", "wrong.json"), "no report of an eval"),
        (("--agents", "broken:agent"), "ZeroDivisionError"),
        (("--agents", "missing:agent"), "missing"),
        (("--host", "203.0.113.9"), "203.0.113.9"),
    ],
)
async def test_what_it_cannot_do_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    store = SQLiteRunStore(tmp_path / "runs.db")
    assert await store.list(RunQuery()) == []
    await store.aclose()
    (tmp_path / "wrong.json").write_text("{}")
    (tmp_path / "broken.py").write_text("1 / 0")
    done = served(tmp_path, *arguments)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr, done


async def test_a_store_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    store = SQLiteRunStore(tmp_path / "runs.db")
    assert await store.list(RunQuery()) == []
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database, database:
        database.execute("UPDATE agentsdk_schema SET version = 99")
    database.close()
    done = served(tmp_path)
    assert done.returncode == 1 and "newer" in done.stderr, done
