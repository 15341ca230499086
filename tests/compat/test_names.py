"""Every public name of openai-agents 0.24: the same here, mapped, or absent and why. `-s` prints the table."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from agentsdk.compat.openai_agents._absent import AbsentError
from agentsdk.compat.openai_agents._names import NAMES
from agentsdk.compat.openai_agents._table import MAPPED, PACKAGES, Entry, counted, entries, is_apart

OURS = "agentsdk.compat.openai_agents"


def all_entries() -> list[Entry]:
    found = list(entries())
    assert [f"{module}.{name}" for module, name, entry in found if entry is None] == []
    return [entry for _, _, entry in found if entry is not None]


def test_each_name_is_the_same_mapped_or_absent() -> None:
    """The table of names, printed."""
    table = all_entries()
    for entry in table:
        print(entry)
    listed = [entry for entry in table if entry.module in PACKAGES]
    rest = [entry for entry in table if not is_apart(entry.module)]
    print(f"the root and the packages that programs import from: {counted(listed)}")
    print(f"with every module, down to its helpers: {counted(rest)}")
    print(f"with sandboxes and speech: {counted(table)}")
    assert all(entry.how for entry in table if entry.kind != "same")
    assert all(entry.instead for entry in table if entry.kind == "absent")
    here = [entry for entry in listed if entry.kind != "absent"]
    assert len(here) >= 0.85 * len(listed)


def test_an_absent_name_raises_its_explaining_error() -> None:
    absent = [entry for entry in all_entries() if entry.kind == "absent"]
    for entry in absent:
        module = f"{OURS}.{entry.module}".rstrip(".")
        with pytest.raises(AbsentError) as raised:
            exec(f"from {module} import {entry.name}")
        assert entry.how in str(raised.value) and entry.instead in str(raised.value), entry


def test_a_name_that_is_here_is_in_its_module_at_run_time() -> None:
    for entry in all_entries():
        if entry.kind != "absent":
            exec(f"from {OURS}{'.' if entry.module else ''}{entry.module} import {entry.name}")


def test_what_is_mapped_are_names_of_theirs() -> None:
    known = {name for names in NAMES.values() for name in names}
    assert not MAPPED.keys() - known


def test_modules_that_are_absent_say_why() -> None:
    for module in ("voice", "realtime", "sandbox", "extensions.experimental.codex", "extensions.memory.dapr_session"):
        with pytest.raises(AbsentError, match="use "):
            importlib.import_module(f"{OURS}.{module}")
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module(f"{OURS}.nothing_of_theirs")


def test_a_module_that_is_here_is_imported_from_its_package() -> None:
    exec(f"from {OURS} import items, models, run, tool, tracing")
    exec(f"from {OURS}.extensions import handoff_filters, memory")


def test_the_table_and_the_root_load_nothing_by_themselves() -> None:
    code = "import agentsdk, sys; print([name for name in sys.modules if name.startswith('agentsdk.compat')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
