"""The public API changes only on purpose: `make api` writes the snapshot anew, and the change shows in review."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import agentsdk

ROOT = Path(__file__).parents[1]
MODULES = [agentsdk, *(import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES)]


def name_of(module: ModuleType) -> str:
    return module.__name__


def test_the_public_api_is_the_snapshot() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "public_api.py")]
    now = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    then = (ROOT / "tests" / "public_api.txt").read_text(encoding="utf-8").splitlines()
    changes = "\n".join(difflib.unified_diff(then, now, "snapshot", "now", lineterm="", n=0))
    assert now == then, f"changed on purpose? make api\n{changes}"


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_every_name_is_there_and_documented(module: ModuleType) -> None:
    assert module.__doc__
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        value = getattr(module, name)
        assert not isinstance(value, type) or value.__doc__, f"{module.__name__}.{name} has no docstring"


NAMESAKES = """
import sys
from importlib import import_module
from pkgutil import iter_modules

for name in sys.argv[1:]:
    package = import_module(name)
    for submodule in iter_modules(getattr(package, "__path__", ())):
        if submodule.name in package.__all__:
            import_module(f"{name}.{submodule.name}")
            assert type(getattr(package, submodule.name)) is not type(sys), f"{name}.{submodule.name}"
"""


def test_no_submodule_takes_the_place_of_a_name() -> None:
    """One that is imported for another name of its own would, in a process that has not used the name."""
    command = [sys.executable, "-c", NAMESAKES, *map(name_of, MODULES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_module_of_names_is_a_public_submodule() -> None:
    paths = (*(ROOT / "agentsdk").glob("*.py"), *(ROOT / "agentsdk").glob("*/__init__.py"))
    engines = {f"durable.{path.parent.name}" for path in (ROOT / "agentsdk" / "durable").glob("*/__init__.py")}
    found = {
        path.parent.name if path.stem == "__init__" else path.stem for path in paths if "\n__all__ = [" in path.read_text()
    }
    assert found | engines == {"agentsdk", *agentsdk.SUBMODULES}


def test_the_root_has_few_names_and_each_but_three_is_in_its_submodule() -> None:
    homes = {name: [module for module in MODULES[1:] if name in module.__all__] for name in agentsdk.__all__}
    assert len(homes) < 120
    assert [name for name, modules in homes.items() if len(modules) > 1] == []
    assert [name for name, modules in homes.items() if not modules] == [
        "Agent",
        "Runner",
        "Worker",
    ]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("from agentsdk import ToolsIntended", "agentsdk.ToolsIntended is in agentsdk.events"),
        ("from agentsdk.tools import Runner", "agentsdk.tools.Runner is in agentsdk"),
        ("from agentsdk.tools import tool, Runner", "agentsdk.tools.Runner is in agentsdk"),
        ("from agentsdk.errors import ModelRetry", "agentsdk.errors.ModelRetry is in agentsdk.output"),
        ("from agentsdk.durable.dbos import Worker", "agentsdk.durable.dbos.Worker is in agentsdk"),
    ],
)
def test_a_name_that_is_elsewhere_says_where_it_is(statement: str, told: str) -> None:
    name, there = told.split(" is in ")
    with pytest.raises(ImportError) as caught:
        exec(statement)
    assert str(caught.value) == f"{told}; write: from {there} import {name.rpartition('.')[2]}"


@pytest.mark.parametrize(("module", "name"), [("agentsdk", "PythonTool"), ("agentsdk.tools", "Runner")])
def test_a_name_that_is_elsewhere_is_no_attribute(module: str, name: str) -> None:
    assert not hasattr(import_module(module), name)
    assert getattr(import_module(module), name, None) is None
    with pytest.raises(AttributeError, match=rf"^{module}\.{name} is in agentsdk.*; write: from agentsdk.* import {name}$"):
        exec(f"import {module}; {module}.{name}")


@pytest.mark.parametrize("submodule", agentsdk.SUBMODULES)
def test_every_submodule_says_of_a_name_where_it_is(submodule: str) -> None:
    with pytest.raises(ImportError, match=rf"^agentsdk\.{re.escape(submodule)}\.Agent is in agentsdk; write:"):
        exec(f"from agentsdk.{submodule} import Agent")


def test_a_missing_extra_is_no_reason_for_a_name_that_is_not_there() -> None:
    """Where a name is is looked for in every submodule, also in those of extras that are not installed."""
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['temporalio', 'dbos', 'mcp', 'starlette', 'opentelemetry']))\n"
        "for name in ('Nowhere', 'InvalidOutputError'):\n"
        "    try: exec(f'from agentsdk import {name}')\n"
        "    except ImportError as error: print(str(error).partition(' (')[0])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "cannot import name 'Nowhere' from 'agentsdk'",
        "agentsdk.InvalidOutputError is in agentsdk.errors; write: from agentsdk.errors import InvalidOutputError",
    ], done.stderr


@pytest.mark.parametrize("module", ["agentsdk", "agentsdk.models"])
def test_a_name_that_is_nowhere_is_missing_as_ever(module: str) -> None:
    assert not hasattr(import_module(module), "Nowhere")
    with pytest.raises(ImportError, match="cannot import name 'Nowhere'"):
        exec(f"from {module} import Nowhere")


def test_the_submodules_are_attributes_of_the_root() -> None:
    script = "import agentsdk; print(agentsdk.errors.UserError is agentsdk.UserError)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60).stdout == "True\n"


def test_the_reference_is_printed_from_the_code() -> None:
    """But for where its names link to, which changes with what the pages say of them."""
    command = [sys.executable, str(ROOT / "scripts" / "reference.py")]
    printed = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    link = re.compile(r"^\| \[(`\w+`)\]\(\w+\.md\)", re.MULTILINE)
    assert link.sub(r"| \1", page) == link.sub(r"| \1", printed.stdout), "print it anew: make api"
    names = sum(len(module.__all__) for module in MODULES[1:]) + 3  # those that only the root has
    assert len(link.findall(page)) == names, "a name without a page that explains it"


WITHOUT_REFERENCE = {
    "agentsdk.compat": "names of openai-agents: docs/openai_agents.md and `agentsdk doctor --from-openai-agents` say which",
    "agentsdk.databases.sqlite": "what the stores and sessions on SQLite share, for no program",
    "agentsdk.models.vertex": '`vertex_model` is what a name like "vertex:gemini" makes; the models are in `agentsdk.models`',
    "agentsdk.testing.sandbox_conformance": "checks of a sandbox of one's own: docs/sandbox.md",
    "agentsdk.testing.store_conformance": "checks of a store of one's own: docs/stores.md",
}
"""Modules with names that are in no public submodule, and why."""


def test_every_name_that_a_module_exports_is_in_a_public_submodule() -> None:
    public = {name for module in MODULES for name in module.__all__}
    lacking = set[str]()
    for path in (ROOT / "agentsdk").rglob("*.py"):
        if "\n__all__ = [" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if not set(import_module(name).__all__) <= public:
                lacking.add("agentsdk.compat" if name.startswith("agentsdk.compat.") else name)
    assert lacking == set(WITHOUT_REFERENCE)


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_every_name_is_on_the_page_of_its_noun(module: ModuleType) -> None:
    """The reference, which is printed from the code, is not enough: a page says what the name is for."""
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name != "reference.md"]
    words = set(re.findall(r"\w+", "\n".join(page.read_text(encoding="utf-8") for page in pages)))
    assert [name for name in module.__all__ if name not in words] == []
