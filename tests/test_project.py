"""What `pyproject.toml` says of the project agrees with what is there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import agentsdk

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_written_once() -> None:
    """The build reads the constant; the newest entry of the changelog is of that version."""
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "agentsdk/__init__.py"
    newest = re.search(r"^## \[(\S+)\] - ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None and newest[1] == agentsdk.__version__


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head, *versions = re.split(r"^## ", text, flags=re.MULTILINE)
    assert head.startswith("# Changelog\n")
    for place, version_text in enumerate(versions):
        title, *parts = re.split(r"^### ", version_text, flags=re.MULTILINE)
        date = r"(\d{4}-\d\d-\d\d|unreleased)" if place == 0 else r"\d{4}-\d\d-\d\d"
        assert re.match(rf"\[\d+\.\d+\.\d+\] - {date}\n", title), title
        kinds = [part.partition("\n")[0] for part in parts]
        assert kinds == [kind for kind in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security") if kind in kinds]
        assert kinds and all(part.partition("\n")[2].strip() for part in parts)


def test_the_version_costs_no_import() -> None:
    script = "import sys, agentsdk; agentsdk.__version__; print('importlib.metadata' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert outcome.stdout == "False\n"


def test_the_tools_that_judge_the_code_are_the_pinned_ones() -> None:
    pins = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?==([\w.]+)$", "\n".join(PROJECT["dependency-groups"]["dev"]), re.MULTILINE))
    assert set(pins) == {"ruff", "mypy", "pyright", "import-linter"}
    assert {name: version(name) for name in pins} == pins, "install them: .venv/bin/pip install --group dev"


def test_everything_that_make_needs_is_in_the_source_distribution() -> None:
    shipped = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    needed = {"Makefile", "mkdocs.yml", "CONTRIBUTING.md", ".pre-commit-config.yaml", "agentsdk", "tests", "scripts"}
    assert needed <= set(shipped)
    assert [name for name in shipped if not (ROOT / name).exists()] == []


def test_no_merge_left_its_markers() -> None:
    """In a page they are text like any other: nothing else finds them."""
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout: git says which files are of the project")
    marked = subprocess.run(["git", "grep", "-lE", "^(<{7}|>{7}) "], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert marked.stdout == "" and marked.returncode == 1, marked.stdout + marked.stderr
