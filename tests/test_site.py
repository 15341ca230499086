"""The site of the documentation: what it is made of, and what looks it over. `make docs` builds it."""

from __future__ import annotations

import asyncio
import importlib
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from tests.local_tools.chromium import chromium, needs_chromium

ROOT = Path(__file__).parents[1]


@pytest.fixture
def site_pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("site_pages")


@pytest.fixture
def reference_pages(site_pages: ModuleType) -> ModuleType:
    return site_pages.reference_pages


def test_the_navigation_is_that_of_the_index(site_pages: ModuleType) -> None:
    start = "## Start\n\n| Page | About |\n|---|---|\n| [A b](a_b.md) | `c` |\n\n"
    index = f"# x\n\n{start}## How\n\n### Part\n\n| [C](../CHANGELOG.md) | d |\n"
    assert site_pages.navigation(index) == [
        {"Start": ["index.md", {"A b": "a_b.md"}]},
        {"How": [{"Part": [{"C": "changelog.md"}]}]},
    ]


def test_links_out_of_the_pages_go_to_pages_of_the_files(site_pages: ModuleType) -> None:
    paths = site_pages.outside()
    assert {"examples/hello.py", "CONTRIBUTING.md", "CHANGELOG.md"} <= set(paths)
    uris = [site_pages.site_uri(path) for path in paths]
    assert len(set(uris)) == len(uris)
    assert site_pages.site_uri("examples/hello.py") == "examples/hello.py.md"
    shown = site_pages.page_of("examples/hello.py")
    assert (ROOT / "examples" / "hello.py").read_text(encoding="utf-8").rstrip() in shown


def test_a_name_of_the_reference_leads_to_its_entry(reference_pages: ModuleType) -> None:
    pages = reference_pages.pages()
    shown = reference_pages.linked((ROOT / "docs" / "reference.md").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| \[`(\w+)`\]\((\S+?)#(\S+?)\)", shown, re.MULTILINE)
    assert len(rows) == len(re.findall(r"^\| \[?`", shown, re.MULTILINE)) > 500
    assert [name for name, uri, anchor in rows if f"## {name}\n" not in pages[uri] or anchor != name.lower()] == []
    assert "A name links to all of it" in shown


def test_an_entry_has_types_defaults_fields_and_methods(reference_pages: ModuleType) -> None:
    pages = reference_pages.pages()
    entries = {
        uri: dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)) for uri, text in pages.items()
    }
    runner, agent = entries["reference/agentsdk.md"]["Runner"], entries["reference/agentsdk.md"]["Agent"]
    assert "async def run(\n    starting_agent: Agent[TContext, TOutput],\n    input: RunInput,\n    *,\n" in runner
    assert ") -> RunResult[TOutput]\n" in runner
    assert "class Agent(\n    name: str,\n" in agent
    assert '    tool_use_behavior: ToolUseBehavior[TContext] = "run_llm_again",\n' in agent
    assert "def clone(**changes: Any) -> Self" in agent
    assert "- `driver`: `Driver | None`. What drives its runs" in agent
    assert "[Agents](../agents.md)" in agent
    assert "Base: `LimitExceededError`" in entries["reference/errors.md"]["DeadlineExceededError"]
    assert "- `command`: `Required[str]`" in entries["reference/mcp.md"]["MCPServerStdioParams"]
    assert "async def get_items(limit: int | None = None)" in entries["reference/sessions.md"]["SQLiteSession"]
    assert "RunEvent = " in entries["reference/events.md"]["RunEvent"]


def check(site: Path) -> tuple[int, list[str]]:
    command = [sys.executable, str(ROOT / "scripts" / "check_site.py"), str(site)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="b/index.html#here">', ""),
        ('<a href="b/#here">', ""),
        ('<a href="https://example.com">', ""),
        ('<a href="nowhere.html">', "has a dead link: nowhere.html"),
        ('<a href="b/index.html#there">', "has a dead link: b/index.html#there"),
        ('<a href="#there">', "has a dead link: #there"),
        ('<img src="nowhere.svg">', "has a dead link: nowhere.svg"),
        ('<script src="https://example.com/a.js"></script>', "asks another host: https://example.com/a.js"),
        ('<link rel="stylesheet" href="//example.com/a.css">', "asks another host: //example.com/a.css"),
        ('<link rel="preconnect" href="https://fonts.example.com">', "asks another host: https://fonts.example.com"),
    ],
)
def test_what_is_wrong_with_a_site_is_found(body: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.html").write_text('<h1 id="here">B</h1>', encoding="utf-8")
    (tmp_path / "index.html").write_text(f"<body>{body}</body>", encoding="utf-8")
    code, printed = check(tmp_path)
    assert printed[:-1] == ([f"index.html {problem}"] if problem else [])
    assert code == (1 if problem else 0)


def test_a_font_of_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example.com/a.woff') }", encoding="utf-8")
    assert check(tmp_path) == (1, ["a.css asks another host: https://fonts.example.com/a.woff", "0 pages, 1 problems"])


@needs_chromium
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs mkdocs-material: make .venv/.docs")
def test_a_site_opened_from_a_folder_can_be_searched(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "assets").symlink_to(ROOT / "docs" / "assets")
    (tmp_path / "docs" / "index.md").write_text("# Home\n\nText.\n", encoding="utf-8")
    (tmp_path / "docs" / "page.md").write_text("# Approvals\n\nA call waits for a person.\n", encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(f"INHERIT: {ROOT}/mkdocs.yml\nhooks: []\n", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--config-file", str(tmp_path / "mkdocs.yml")]
    subprocess.run(command, timeout=100, check=True)
    found, asked = asyncio.run(search("person", f"{tmp_path.as_uri()}/site/index.html"))
    assert found == "Approvals"
    assert {url.partition(":")[0] for url in asked} == {"file"}


async def search(words: str, url: str) -> tuple[str, list[str]]:
    """The first page that is found, and every address that the browser asked for."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--no-zygote"])
        page, asked = await browser.new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        await page.goto(url)
        await page.keyboard.press("/")
        await page.keyboard.type(words)
        found = await page.locator(".md-search-result__item h1").first.inner_text()
        await browser.close()
        return found, asked


SEARCHES = {
    "approval": "approvals.html",
    "resume": "results.html",
    "retry": "models.html",
    "timeout": "execution.html",
    "streaming": "streaming.html",
    "session": "sessions.html",
    "redis": "stores.html",
    "bedrock": "models.html",
    "structured output": "output.html",
    "handoff": "handoffs.html",
    "human in the loop": "approvals.html",
    "cost": "models.html",
    "tracing": "tracing.html",
    "mcp": "mcp.html",
    "rate limit": "models.html",
    "api key": "quickstart.html",
    "function_tool": "reference/tools.html",
}
"""What users type, and a page that must be among the first three."""


@needs_chromium
@pytest.mark.skipif(not (ROOT / "site" / "search").exists(), reason="needs the site: make docs")
def test_a_search_finds_the_page_of_a_thing_before_those_that_name_it() -> None:
    found = asyncio.run(first_three(SEARCHES))
    assert {words: pages for words, pages in found.items() if SEARCHES[words] not in pages} == {}


async def first_three(searches: Iterable[str]) -> dict[str, list[str]]:
    """The first three pages that each search of the site finds."""
    from playwright.async_api import async_playwright

    site, found = (ROOT / "site").as_uri(), dict[str, list[str]]()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--no-zygote"])
        page = await browser.new_page()
        await page.goto(f"{site}/index.html")
        await page.keyboard.press("/")
        for words in searches:
            await page.keyboard.press("Control+A")
            await page.keyboard.press("Delete")
            await page.get_by_text("Type to start searching").wait_for()
            await page.keyboard.type(words)
            await page.get_by_text("matching document").wait_for()
            links = page.locator(".md-search-result__item > a:first-child")
            addresses = [str(await links.nth(number).get_attribute("href")) for number in range(3)]
            found[words] = [address.removeprefix(f"{site}/").partition("?")[0] for address in addresses]
        await browser.close()
    return found
