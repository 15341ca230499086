"""The layers hold, the check of them can fail, and every path that the documents name leads somewhere."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(LINT, cwd=root, capture_output=True, text=True, timeout=120, check=False)


@cache
def lint_of_the_package() -> subprocess.CompletedProcess[str]:
    return lint(ROOT)


def copied(folder: Path) -> Path:
    shutil.copytree(ROOT / "agentsdk", folder / "agentsdk", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copied(tmp_path)


def test_imports_go_strictly_downward() -> None:
    outcome = lint_of_the_package()
    assert outcome.returncode == 0, outcome.stdout


PLANTED = {
    "asyncio in core": ("core/state.py", "import asyncio", "core is not allowed to import asyncio"),
    "time in types, inside a function": ("types/text.py", "def now():\n    import time", "types is not allowed to import time"),
    "upward": ("core/state.py", "import agentsdk.runner", "core is not allowed to import agentsdk.runner"),
    "upward, inside a function": (
        "types/items.py",
        "def late():\n    from agentsdk.core.state import State",
        "types is not allowed to import agentsdk.core",
    ),
    "upward, for type checkers only": (
        "define/tool.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from agentsdk.engine.run import Run",
        "define is not allowed to import agentsdk.engine",
    ),
    "sideways": ("sessions/memory.py", "import agentsdk.tracing.names", "sessions is not allowed to import agentsdk.tracing"),
    "sideways in tier 1": ("core/state.py", "import agentsdk.ports.model", "core is not allowed to import agentsdk.ports"),
    "names": ("engine/turn.py", "import agentsdk.errors", "engine is not allowed to import agentsdk.errors"),
    "the root": ("engine/turn.py", "import agentsdk", "engine.turn is not allowed to import agentsdk"),
    "a part without a layer": ("odds_and_ends.py", "", "odds_and_ends"),
}


TOGETHER = ("asyncio in core", "time in types, inside a function", "names", "a part without a layer")
"""The others would bring these about as well, by way of what they import."""


@cache
def said_of(cases: tuple[str, ...]) -> str:
    """What the check says of the package with these planted. It tells each apart, and a run of it takes a second."""
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        for path, planted, _ in map(PLANTED.__getitem__, cases):
            with (tree / "agentsdk" / path).open("a", encoding="utf-8") as module:
                module.write(f"\n{planted}\n")
        outcome = lint(tree)
    assert outcome.returncode == 1, outcome.stdout
    return " ".join(outcome.stdout.split())


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_import_is_found(case: str) -> None:
    *_, says = PLANTED[case]
    assert says in said_of(TOGETHER if case in TOGETHER else tuple(other for other in PLANTED if other not in TOGETHER))
    assert says not in " ".join(lint_of_the_package().stdout.split())


@cache
def imports_of(text: str) -> tuple[list[str], list[ast.ImportFrom]]:
    """What a module's text imports, in both forms, wherever in it."""
    nodes = list(ast.walk(ast.parse(text)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names, [node for node in nodes if isinstance(node, ast.ImportFrom)]


def import_cycle(root: Path) -> list[str]:
    """The modules of an import cycle, in order; none where there is none.

    Every import counts, also one inside a function or for type checkers only: a cycle that is hidden is a cycle. Of
    `agentsdk.compat` none does: its modules are those of the package it stands for, whose types name each other in circles.
    """
    modules: dict[str, Path] = {}
    for path in (root / "agentsdk").rglob("*.py"):
        if path.is_relative_to(root / "agentsdk" / "compat"):
            continue
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        modules[name.removesuffix(".__init__")] = path
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        whole, parts = imports_of(path.read_text(encoding="utf-8"))
        imported = {*whole}
        for node in parts:
            assert node.module and not node.level, f"{name} has a relative import, expected absolute ones"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= (inner & modules.keys()) or {node.module}
        graph[name] = imported & modules.keys()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert import_cycle(ROOT) == []


@pytest.mark.parametrize(
    "planted", ["import {}", "if False:\n    from {} import x", "def late() -> None:\n    from {} import x"]
)
def test_a_planted_cycle_is_found(planted: str, tree: Path) -> None:
    with (tree / "agentsdk" / "define" / "tool.py").open("a", encoding="utf-8") as module:
        module.write("\n" + planted.format("agentsdk.define.agent") + "\n")
    assert {"agentsdk.define.agent", "agentsdk.define.tool"} <= set(import_cycle(tree))


RARE = ["core.diff", "core.window.strategies", "engine.recorder", "engine.rerun", "engine.stored", "engine.window.fit"]
HEAVY = ["anyio", "hashlib", "httpx", "opentelemetry", "pydantic", "random", "sqlite3", "tiktoken", "xllamacpp"]


def test_importing_the_package_leaves_what_is_heavy_or_rarely_needed_for_later() -> None:
    """Of what is measured by `python -m benchmarks` as the time of an import."""
    late = [*HEAVY, *(f"agentsdk.{name}" for name in RARE)]
    first_program = "from agentsdk import Agent, Runner, RunConfig, function_tool"
    script = f"import sys; {first_program}; print([name for name in {late!r} if name in sys.modules])"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert outcome.stdout == "[]\n"


def test_every_path_of_the_map_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = re.search(r"^#+ [^\n]*to change.*?(?=^#|\Z)", page, re.IGNORECASE | re.MULTILINE | re.DOTALL)
    assert table, 'docs/architecture.md has no section "To change X, open Y"'
    paths = re.findall(r"`([\w./-]+/[\w./-]*)`", table.group())
    assert len(paths) >= 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_and_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"`((?:agentsdk|benchmarks|docs|examples|scripts|tests)/[\w./-]*)`", text)
    links = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text)
    missing = [path for path in paths if not (ROOT / path).exists()]
    missing += [link for link in links if not (page.parent / link).exists()]
    assert missing == []
