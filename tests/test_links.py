"""Every link of the pages goes to a file and a heading that are there, read as a code host reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.markdown_links import anchors, links, relinked

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])


def dead(page: Path) -> Iterator[str]:
    """The links of `page` that go nowhere on this disk."""
    for link in links(page.read_text(encoding="utf-8")):
        path, _, anchor = link.target.partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            yield link.target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page: Path) -> None:
    assert list(dead(page)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](b.md) and [c](b.md#what-is-it) and ![d](d.svg)", []),
        ("[a](nowhere.md)", ["nowhere.md"]),
        ("[over\ntwo lines](nowhere.md)", ["nowhere.md"]),
        ("[a](b.md#nothing)", ["b.md#nothing"]),
        ("# Here\n\n[a](#here), [b](#there)", ["#there"]),
        ("![no picture](nowhere.svg)", ["nowhere.svg"]),
        ("[a](https://example.com/nowhere)", []),
        ("`[a](nowhere.md)`\n\n```python\nx[0](nowhere)\n# [b](nowhere.md)\n```\n\n<!-- [c](nowhere.md) -->", []),
        ("[a](b.md#in-code)", ["b.md#in-code"]),
    ],
)
def test_a_dead_link_is_found(text: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# B\n\n## What is `it`?\n\n```sh\n# In code\n```\n", encoding="utf-8")
    (tmp_path / "d.svg").touch()
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert list(dead(page)) == found


def test_headings_of_the_same_words_are_numbered() -> None:
    assert anchors("# Cost\n\n## Cost\n\n## [Cost](x.md): of what?\n") == {"cost", "cost-1", "cost-of-what"}


def test_only_links_are_changed() -> None:
    text = "[a](b.md) `[a](b.md)` ![c](b.md)\n"
    assert relinked(text, str.upper) == "[a](B.MD) `[a](b.md)` ![c](B.MD)\n"


def test_every_page_is_in_a_group_of_the_index() -> None:
    """The navigation of the site is that of the index."""
    groups = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("\n## ")[2]
    rows = re.findall(r"^\| \[[^]]+\]\((\w+\.md)\) \| .+ \|$", groups, re.MULTILINE)
    assert sorted(rows) == sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name != "index.md")
