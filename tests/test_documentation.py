"""Whatever README and docs show runs as shown: offline, each page in a process of its own. Examples: `test_examples.py`.

Code that a page quotes stands in a ```py block after `<!-- code: path name -->`: the source of that function, or without a name
the whole file.
"""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsdk.errors import SandboxUnavailableError
from agentsdk.sandboxes import best_sandbox
from tests.dbos_on_sqlite import require_dbos_on_sqlite
from tests.forks import Forks
from tests.offline import python_blocks

ROOT = Path(__file__).parents[1]
QUOTE = re.compile(r"^<!-- code: (?P<path>\S+)(?: (?P<name>\w+))? -->\n```py\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    forks = Forks()
    yield forks
    forks.close()


async def has_sandbox() -> bool:
    try:
        async with await best_sandbox():
            return True
    except SandboxUnavailableError:
        return False


def assert_runs(forks: Forks, path: Path, folder: Path) -> None:
    if "LocalModel" in path.read_text(encoding="utf-8") and importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the local model: pip install 'agentsdk[local]' && python -m agentsdk.models.local")
    code, printed, errors = forks.run(path, folder)
    last = errors.strip().rpartition("\n")[2]
    if last.startswith("agentsdk.types.errors.SandboxUnavailableError") and not asyncio.run(has_sandbox()):
        pytest.skip(last)
    assert code == 0, f"{path.name} failed:\n{printed}{errors}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_the_page_runs(page: Path, tmp_path: Path, forks: Forks) -> None:
    if page.name == "dbos.md":
        require_dbos_on_sqlite()
    assert list(python_blocks(page.read_text(encoding="utf-8"))), "a page without a block that runs shows nothing"
    assert_runs(forks, page, tmp_path)


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("Text.\n\n```python\nraise ValueError('x')\n```\n", 'page.md", line 4'),
        ("```python\nprint(1)\n```\n\n```output\n2\n```\n", "but the page shows"),
        ("```python\nimport urllib.request\nurllib.request.urlopen('http://example.com')\n```\n", "loopback only"),
        ("```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```output\n1\n```\n", ""),
    ],
    ids=["raises", "prints something else", "leaves this machine", "one namespace"],
)
def test_a_broken_page_fails(page: str, says: str, tmp_path: Path, forks: Forks) -> None:
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    code, _, errors = forks.run(path, tmp_path)
    assert (code != 0) == bool(says)
    assert says in errors


@pytest.mark.parametrize(("there", "outcome"), [(True, AssertionError), (False, pytest.skip.Exception)])
def test_a_page_is_skipped_only_where_no_sandbox_can_be_had(
    there: bool, outcome: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: Forks
) -> None:
    async def has_one() -> bool:
        return there

    monkeypatch.setitem(globals(), "has_sandbox", has_one)
    path = tmp_path / "page.md"
    path.write_text(
        "```python\nfrom agentsdk.errors import SandboxUnavailableError\nraise SandboxUnavailableError('none')\n```\n"
    )
    with pytest.raises(outcome):
        assert_runs(forks, path, tmp_path)


def source(path: str, name: str | None) -> str:
    """The source of the top-level function `name`, or all there is."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if name is None:
        return text
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = next(node for node in functions if node.name == name)
    lines = text.splitlines(keepends=True)
    return "".join(lines[found.lineno - 1 : found.end_lineno])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_quoted_code_is_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    quotes = list(QUOTE.finditer(text))
    assert len(quotes) == len(re.findall(r"^```py$", text, re.MULTILINE)), "a quote that does not say what it is of"
    for quote in quotes:
        assert quote["code"] == source(quote["path"], quote["name"]), f"quote {quote['name'] or quote['path']} anew"


def test_the_page_on_architecture_quotes_the_loop() -> None:
    """It is short enough to be read on one screen."""
    (loop,) = QUOTE.finditer((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert (loop["path"], loop["name"]) == ("agentsdk/engine/loop.py", "run_loop")
    assert loop["code"].count("\n") < 40
