"""docs/cli.md shows what the commands print."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from agentsdk.cli import main

pytest.importorskip("typer", reason="the command line needs typer and rich: pip install 'agentsdk[cli]'")
pytest.importorskip("rich", reason="the command line needs typer and rich: pip install 'agentsdk[cli]'")

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
CODES = {"run": 3, "diff": 4}
"""Exit codes of the commands that the page shows, where they are not 0."""


def block(kind: str) -> str:
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found


def timeless(text: str) -> str:
    """Without times, whose width moves the columns, and without what a table is filled up with."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", re.sub(r"[\d.]+ m?s\b", "TIME", text))
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line.rstrip()) for line in text.strip().splitlines())


def test_each_command_of_the_page_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop.py").write_text(block("python"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("AGENTSDK_STORE", raising=False)
    try:
        for shown in block("console").split("$ agentsdk ")[1:]:
            command, _, printed = shown.partition("\n")
            arguments = shlex.split(command)
            assert main(arguments) == CODES.get(arguments[0], 0), command
            assert timeless(capsys.readouterr().out) == timeless(printed), command
    finally:
        sys.modules.pop("shop", None)


def test_the_page_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    commands = re.findall(r"^  ([a-z]+) ", capsys.readouterr().out.partition("Commands:")[2], re.MULTILINE)
    rows = re.findall(r"^\| `([a-z]+)[^|]*\| (?!`)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) > 10 and set(commands) <= set(rows)
