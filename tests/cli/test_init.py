"""`agentsdk init`: the tests of the project that it makes pass, its program runs, and it type-checks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from agentsdk.cli import main
from agentsdk.cli.codes import OK, WRONG
from agentsdk.testing import FakeOpenAIServer, call
from tests.checkers import PYRIGHT


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def checked(folder: Path, *command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def test_its_tests_pass_and_it_type_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "shop"]) == OK
    assert "cd shop\n  python -m unittest\n" in capsys.readouterr().out
    shop = tmp_path / "shop"
    assert "Ran 2 tests" in checked(shop, sys.executable, "-m", "unittest")
    assert (shop / "README.md").read_text().startswith("# shop\n")
    checked(shop, *PYRIGHT, ".")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".sh")) == []


@pytest.mark.anyio
async def test_its_program_keeps_a_run_that_waits_for_a_person_and_goes_on(tmp_path: Path) -> None:
    assert main(["init", "shop"]) == OK
    async with FakeOpenAIServer([call("cancel_order", number=1816), "It is cancelled."]) as server:
        given = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "a-key",
            "AGENTSDK_MODEL": "any",
        }

        async def ran(*arguments: str) -> str:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, cwd=tmp_path / "shop", env=given, stdout=subprocess.PIPE
            )
            told, _ = await process.communicate()
            assert process.returncode == 0
            return told.decode()

        waits = await ran("main.py", "second", "Cancel order 1816.")
        assert waits == 'cancel_order({"number":1816}) waits: agentsdk decide second approve\n'
        await ran("-m", "agentsdk", "decide", "second", "approve")
        assert await ran("main.py", "second", "Cancel order 1816.") == "It is cancelled.\n"
        assert await ran("main.py", "second", "Cancel order 1816.") == "It is cancelled.\n"


@pytest.mark.parametrize("name", ["a b", "", "../up", ".", "a/b", "-x", "caf\u00e9", "a" * 65])
def test_a_name_that_cannot_be_a_folder_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--", name]) == WRONG
    assert "a project cannot be named" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop").mkdir()
    assert main(["init", "shop"]) == WRONG
    assert "is there already" in capsys.readouterr().err
    assert list((tmp_path / "shop").iterdir()) == []
