"""What pages list is what there is: extras, errors, public names."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import agentsdk
from agentsdk import errors, testing, tools
from tests.offline import python_blocks

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| `([a-z-]+)` \|", re.MULTILINE)


def page(name: str) -> str:
    """The text of a page."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def extras() -> set[str]:
    """The extras that the package has."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(settings["project"]["optional-dependencies"])


def test_the_page_on_installation_has_every_extra_once() -> None:
    _, _, rest = page("install.md").partition("## Extras\n")
    named = ROW.findall(rest.partition("\n## ")[0])
    assert sorted(named) == sorted(extras())


def test_no_page_names_an_extra_that_does_not_exist() -> None:
    named = {
        (path.name, extra)
        for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        for found in re.findall(r"agentsdk\[([a-z, -]+)\]", path.read_text(encoding="utf-8"))
        for extra in found.replace(" ", "").split(",")
    }
    assert named
    assert {(name, extra) for name, extra in named if extra not in extras()} == set()


def test_troubleshooting_has_every_error_once() -> None:
    """In a row of a table, by its name."""
    named = re.findall(r"^\| `(\w+(?:Error|Exception|Triggered|Exceeded))` \|", page("troubleshooting.md"), re.MULTILINE)
    public = {name: getattr(module, name) for module in (errors, testing, tools) for name in module.__all__}
    raised = {name for name, one in public.items() if isinstance(one, type) and issubclass(one, errors.AgentsException)}
    assert sorted(named) == sorted(raised)


def test_every_public_name_is_on_a_page_that_tells_of_it() -> None:
    """The reference alone says what a name is, and not when one needs it."""
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name != "reference.md"]
    words = {word for path in pages for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    modules = [agentsdk, *(import_module(f"agentsdk.{name}") for name in agentsdk.SUBMODULES)]
    names = {name for module in modules for name in module.__all__}
    assert sorted(names - words) == []


def test_no_block_is_cut_on_the_site() -> None:
    """A page of the site has room for 100 columns at 1280 pixels."""
    wide = [
        f"{path.name}:{number}"
        for path in sorted((ROOT / "docs").glob("*.md"))
        for start, code, _ in python_blocks(path.read_text(encoding="utf-8"))
        for number, line in enumerate(code.splitlines(), start + 1)
        if len(line) > 100
    ]
    assert wide == []
