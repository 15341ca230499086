"""What README, docs and examples show passes both type checkers, strict: each page as one module, as it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers import MYPY_OF_A_USER, PYRIGHT, ROOT, check
from tests.offline import python_blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BOTH = pytest.mark.parametrize("checker", [PYRIGHT, MYPY_OF_A_USER], ids=["pyright", "mypy"])


def as_module(page: Path) -> str:
    """The page's blocks, each line where it is in the page, so that a message points there."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for line, code, _ in python_blocks(text):
        block = code.splitlines()
        lines[line : line + len(block)] = block
    lines[0] = "# pyright: strict"  # the first line is never one of a block: at best it opens one
    return "\n".join(lines) + "\n"


def complaints(checker: list[str], pages: list[Path], others: list[Path], folder: Path) -> str:
    """What one run of the checker says of all of them, in the pages' names; nothing if they are fine."""
    modules = {page: folder / f"{page.stem}_md.py" for page in pages}  # no module can be called `page.md`
    for page, module in modules.items():
        module.write_text(as_module(page), encoding="utf-8")
    outcome = check([*checker, *map(str, modules.values()), *map(str, others)])
    said = outcome.stdout + outcome.stderr
    for page, module in modules.items():
        for shown in (str(module), module.name):
            said = said.replace(shown, page.name)
    return said if outcome.returncode else ""


@pytest.mark.slow
@BOTH
def test_what_is_shown_is_typed(checker: list[str], tmp_path: Path) -> None:
    said = complaints(checker, PAGES, EXAMPLES, tmp_path)
    assert not said, said


@pytest.mark.slow
@BOTH
def test_a_wrong_block_is_found_at_its_line_of_the_page(checker: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = "from agentsdk import Agent\n\nAgent(name=5)\n"
    second = "def untyped(x):\n    return Agent(name='x').nothing\n\nprint(Agent(name='x').nothing)\n"
    page.write_text(f"Text.\n\n```python\n{first}```\n\n```python\n{second}```\n", encoding="utf-8")
    said = complaints(checker, [page], [], tmp_path)
    for line in (6, 10, 13):
        assert f"page.md:{line}:" in said
