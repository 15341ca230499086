"""Both type checkers, strict, over the package, `tests/types_check/`, where `assert_type` says what a user sees, and all that
README, docs and examples show: each page as one module, as it runs.

One run of a checker judges all of them, and beside them modules that are wrong on purpose.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checkers import MYPY, PYRIGHT, ROOT, check
from tests.offline import python_blocks

PACKAGE = [ROOT / "agentsdk", ROOT / "tests" / "types_check"]
OF_THE_PACKAGE = ("[redundant-cast]", "[unused-awaitable]", "[possibly-undefined]")
"""What mypy asks of the package beyond its strict mode, and of no user."""
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Of the migration guides those on agentsdk: the packages of the others are not in this environment.
EXAMPLES = sorted(
    [
        *(ROOT / "examples").glob("*.py"),
        *(ROOT / "examples" / "migration").glob("*_after.py"),
        *(ROOT / "examples" / "tutorial").glob("*.py"),
    ]
)

WRONG_PAGE = """Text.

```python
from agentsdk import Agent

Agent(name=5)
```

```python
def untyped(x):
    return Agent(name='x').nothing

print(Agent(name='x').nothing)
```
"""
WRONG_MODULE = "# pyright: strict\nfrom agentsdk.types.usage import Usage\nUsage().requests = 1\n"

pytestmark = pytest.mark.slow


def as_module(page: Path) -> str:
    """The page's blocks, each line where it is in the page, so that a message points there."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for line, code, _ in python_blocks(text):
        block = code.splitlines()
        lines[line : line + len(block)] = block
    lines[0] = "# pyright: strict"  # the first line is never one of a block: at best it opens one
    return "\n".join(lines) + "\n"


def complaints(checker: list[str], pages: list[Path], others: list[Path], folder: Path) -> list[str]:
    """The lines of what one run of the checker says of all of them, in the pages' names."""
    modules = {page: folder / f"{page.stem}_md.py" for page in pages}  # no module can be called `page.md`
    for page, module in modules.items():
        module.write_text(as_module(page), encoding="utf-8")
    outcome = check([*checker, *map(str, modules.values()), *map(str, others)])
    assert outcome.returncode == 1, outcome.stdout + outcome.stderr  # at least for what is wrong on purpose
    said = outcome.stdout + outcome.stderr
    for page, module in modules.items():
        for shown in (str(module), module.name):
            said = said.replace(shown, page.name)
    return said.splitlines()


@pytest.fixture(scope="module", params=[PYRIGHT, MYPY], ids=["pyright", "mypy"])
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a checker says of the package, of all that is shown, and of what is wrong."""
    folder = tmp_path_factory.mktemp("pages")
    page, module = folder / "wrong_page.md", folder / "wrong_module.py"
    page.write_text(WRONG_PAGE, encoding="utf-8")
    module.write_text(WRONG_MODULE, encoding="utf-8")
    return complaints(request.param, [*PAGES, page], [*PACKAGE, *EXAMPLES, module], folder)


def test_the_package_and_what_is_shown_are_typed(said: list[str]) -> None:
    errors = [line for line in said if "error:" in line]
    assert errors
    errors = [line for line in errors if line.startswith(("agentsdk/", "tests/")) or not line.endswith(OF_THE_PACKAGE)]
    assert [line for line in errors if "wrong_page.md" not in line and "wrong_module.py" not in line] == []


def test_a_wrong_block_is_found_at_its_line_of_the_page(said: list[str]) -> None:
    for line in (6, 10, 13):
        assert any(f"wrong_page.md:{line}:" in one for one in said), said


def test_a_wrong_type_is_found(said: list[str]) -> None:
    assert any("wrong_module.py:3:" in line and "error:" in line for line in said), said
    assert any("read-only" in line for line in said)
