"""The page in a real browser, over real stored runs: looked at, acted on, by mouse and by keyboard."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from agentsdk import MemoryRunStore, RunConfig
from agentsdk.testing import assert_replays
from agentsdk.workflow import step, workflow
from tests.local_tools.chromium import chromium, needs_chromium
from tests.ui.runs import EVIL, clerk, finished, page_of, waiting

pytest.importorskip("starlette", reason="the page needs starlette and uvicorn: pip install 'agentsdk[ui]'")

pytestmark = [pytest.mark.anyio, needs_chromium]

ARGUMENTS = ["--no-sandbox", "--no-zygote", "--disable-background-networking", "--disable-component-update", "--disable-quic"]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        started = await driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield started
        await started.close()


class Tab:
    """A tab with the page of a store; what its console and its errors said is kept."""

    def __init__(self, page: Any, base: str) -> None:
        self.page = page
        self.base = base
        self.said: list[str] = []
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("console", lambda message: message.type in ("error", "warning") and self.said.append(message.text))
        page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))

    async def open(self, hash: str) -> None:
        """Go to a view of the page."""
        await self.page.evaluate("hash => { location.hash = hash }", hash)

    async def text(self, selector: str) -> str:
        """The text of what is there, once it is."""
        await self.page.wait_for_selector(selector)
        return str(await self.page.inner_text(selector))

    async def until(self, selector: str, text: str) -> None:
        """Wait until the text is there."""
        await self.page.locator(selector, has_text=text).first.wait_for()


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def opened(
    browser: Any, stack: AsyncExitStack, store: MemoryRunStore, look: dict[str, Any] | None = None, **options: Any
) -> Tab:
    """A tab of a browser of its own with the page of a store."""
    url, _ = await stack.enter_async_context(page_of(store, **options))
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, **(look or {}))
    stack.push_async_callback(context.close)
    tab = Tab(await context.new_page(), url.partition("/#")[0])
    tab.page.set_default_timeout(20_000)
    await tab.page.goto(url)
    await tab.page.wait_for_selector("table.runs")
    return tab


async def test_runs_are_shown_opened_and_told_by_mouse_and_by_keys(browser: Any, stack: AsyncExitStack) -> None:
    store = MemoryRunStore()
    await finished(store, "done", user="ada")
    await waiting(store, "open")
    tab = await opened(browser, stack, store, agents=clerk())
    assert "token" not in tab.page.url  # it has left the address
    assert "open" in await tab.text(".waiting .card")
    await tab.page.keyboard.press("/")
    await tab.page.keyboard.type("ada")
    await tab.page.wait_for_selector("table.runs tbody tr:only-child")
    await tab.page.click("table.runs tbody a")
    await tab.until(".title", "finished")
    await tab.page.click(".list .row >> nth=1")
    await tab.until(".detail .conversation", "calls look")
    await tab.page.keyboard.press("r")
    await tab.until(".detail .body", "Help with orders.")
    await tab.page.keyboard.press("s")
    await tab.until(".detail .body", "What it changed")
    for _ in range(3):
        await tab.page.keyboard.press("ArrowDown")
    await tab.until(".detail h2", "5")
    assert tab.page.url.endswith("#/run/done/5")
    await tab.page.keyboard.press("2")
    await tab.until(".waterfall .row", "ask_colleague")
    assert await tab.page.locator(".waterfall .bar-of").count() > 10
    await tab.page.keyboard.press("3")
    await tab.until(".left .conversation", "Pay order 1815 back.")
    await tab.page.keyboard.press("?")
    assert "the event before, the next" in await tab.text("dialog")
    await tab.page.keyboard.press("Escape")
    await tab.page.keyboard.press("g")
    await tab.page.wait_for_selector("table.runs")
    assert tab.said == []


async def test_a_click_on_approve_reaches_the_run_and_the_page_follows_it(browser: Any, stack: AsyncExitStack) -> None:
    store = MemoryRunStore()
    await waiting(store, "r")
    tab = await opened(browser, stack, store, agents=clerk())
    await tab.open("#/run/r")
    assert "waits for approval" in await tab.text(".calls .card")
    await tab.page.click("text=Approve")
    await tab.until(".title", "finished")
    await tab.until(".list .row", "finished")
    assert "Your money is on its way." in await tab.page.locator(".output pre").text_content()
    assert not await tab.page.locator(".calls").is_visible()
    run = await store.summary("r")
    assert run is not None and run.status == "finished" and tab.said == []


async def test_arguments_are_edited_and_a_key_rejects(browser: Any, stack: AsyncExitStack) -> None:
    store = MemoryRunStore()
    await waiting(store, "edited")
    await waiting(store, "rejected")
    tab = await opened(browser, stack, store, agents=clerk())
    await tab.open("#/run/edited")
    await tab.page.click("text=Edit…")
    await tab.page.fill("#edited", json.dumps({"order": 1815, "amount": 7}))
    await tab.page.click("text=Approve with these")
    await tab.until(".title", "finished")
    await tab.open("#/run/rejected")
    await tab.page.wait_for_selector(".calls .card")
    await tab.page.keyboard.press("x")
    await tab.until(".title", "finished")
    assert tab.said == []


async def test_a_run_is_forked_replayed_and_compared(browser: Any, stack: AsyncExitStack) -> None:
    store = MemoryRunStore()
    await finished(store, "r")
    tab = await opened(browser, stack, store, agents=clerk())
    await tab.open("#/run/r/6")
    await tab.until(".detail h2", "6")
    await tab.page.click('[data-act="fork"]')
    await tab.until(".title", "waiting")
    assert not tab.page.url.endswith("#/run/r/6")
    await tab.open("#/run/r")
    await tab.page.click('[data-act="replay"]')
    await tab.page.fill("#instructions", "Be brief.")
    await tab.page.click("dialog >> text=Replay >> nth=-1")
    await tab.page.click("text=Compare")
    await tab.page.wait_for_selector(".sides")
    assert "dollars" in await tab.text(".totals") or "not known" in await tab.text("main")
    assert tab.said == []


async def test_what_a_model_wrote_is_text_wherever_it_stands(browser: Any, stack: AsyncExitStack) -> None:
    store = MemoryRunStore()
    await finished(store, "r", note=EVIL)
    tab = await opened(browser, stack, store, agents=clerk())
    assert EVIL in await tab.text("table.runs tbody")
    await tab.open("#/run/r")
    await tab.page.wait_for_selector(".list .row")
    await tab.page.click(".list .row >> nth=3")
    await tab.until(".detail", "<img src=x")
    await tab.page.keyboard.press("3")
    await tab.until(".left .conversation", "⟨ESC⟩")
    assert "\u202e" not in await tab.page.inner_text("body")
    assert await tab.page.locator("img[src=x]").count() == 0 and await tab.page.locator("main script").count() == 0
    assert tab.said == []


async def test_an_exported_run_works_as_a_file_without_a_server(browser: Any, stack: AsyncExitStack, tmp_path: Path) -> None:
    store = MemoryRunStore()
    await finished(store, "r")
    tab = await opened(browser, stack, store, agents=clerk())
    await tab.open("#/run/r")
    async with tab.page.expect_download() as downloading:
        await tab.page.click("text=export")
    file = tmp_path / "run.html"
    await (await downloading.value).save_as(file)
    context = await browser.new_context(offline=True)
    stack.push_async_callback(context.close)
    offline = Tab(await context.new_page(), "")
    await offline.page.goto(file.as_uri())
    await offline.until(".title", "finished")
    await offline.page.click(".list .row >> nth=3")
    await offline.until(".detail", "1815")
    await offline.page.keyboard.press("s")
    await offline.until(".detail", "What it changed")
    await offline.page.keyboard.press("2")
    await offline.until(".waterfall .row", "Colleague")
    assert not await offline.page.locator('[data-act="fork"]').count()
    assert offline.said == [] and tab.said == []


async def test_a_run_is_copied_as_a_test_that_passes(browser: Any, stack: AsyncExitStack, tmp_path: Path) -> None:
    store = MemoryRunStore()
    await finished(store, "r")
    tab = await opened(browser, stack, store, agents=clerk())
    await tab.open("#/run/r")
    await tab.page.click("text=copy as test")
    assert "assert_replays(clerk, recorded)" in await tab.text("dialog pre")
    async with tab.page.expect_download() as downloading:
        await tab.page.click("dialog >> text=Save r.run.json")
    file = tmp_path / "r.run.json"
    await (await downloading.value).save_as(file)
    await assert_replays(clerk(), file.read_text(encoding="utf-8"))
    assert tab.said == []


async def test_without_agents_it_has_no_button_that_acts(browser: Any, stack: AsyncExitStack) -> None:
    store = MemoryRunStore()
    await waiting(store, "r")
    tab = await opened(browser, stack, store)
    assert "it only shows" in await tab.text("main .note")
    await tab.open("#/run/r")
    await tab.page.wait_for_selector(".calls .card")
    assert await tab.page.locator("[data-act], .calls button").count() == 0
    await tab.page.keyboard.press("a")
    run = await store.summary("r")
    assert run is not None and run.signals == 0 and tab.said == []


async def test_a_workflow_is_drawn(browser: Any, stack: AsyncExitStack) -> None:
    @step
    async def double(number: int) -> int:
        return 2 * number

    @workflow
    async def counts(number: int) -> int:
        return await double(number)

    store = MemoryRunStore()
    await counts.drive("w", 4, run_config=RunConfig(store=store, tracing_disabled=True))
    tab = await opened(browser, stack, store, agents=counts)
    await tab.open("#/run/w")
    await tab.page.wait_for_selector(".list .row")
    await tab.page.keyboard.press("4")
    await tab.page.wait_for_selector("img.drawing")
    assert await tab.page.eval_on_selector("img.drawing", "one => one.decode().then(() => one.naturalWidth)") > 0
    assert tab.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["wide", "small"])
async def test_all_text_can_be_read_and_all_that_acts_has_a_name(
    browser: Any, stack: AsyncExitStack, scheme: str, size: tuple[int, int]
) -> None:
    """Contrast of 4.5 to 1 (WCAG 2.2, 1.4.3), accessible names, and nothing wider than the screen."""
    store = MemoryRunStore()
    await finished(store, "done")
    await waiting(store, "open")
    look = {"color_scheme": scheme}
    tab = await opened(browser, stack, store, look, agents=clerk())
    await tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    for hash, ready in (("#/", "table.runs tbody tr"), ("#/run/open", ".calls .card"), ("#/diff/done/open", ".sides")):
        await tab.open(hash)
        await tab.page.wait_for_selector(ready)
        assert await tab.page.evaluate(LOW_CONTRAST) == []
        assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        nameless = "[...document.querySelectorAll('button, a, input, select, textarea, [role=listbox], img')].filter(NAMELESS)"
        assert await tab.page.evaluate(f"{nameless.replace('NAMELESS', NAMELESS)}.map((one) => one.outerHTML)") == []
    assert tab.said == []


NAMELESS = "(one) => !(one.textContent.trim() || one.getAttribute('aria-label') || one.title || one.alt || one.labels?.length)"

LOW_CONTRAST = """() => {
  const channel = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const color = numbers(getComputedStyle(one).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !one.checkVisibility() || one.closest(":disabled, dialog:not([open]), .skip")) continue;
    const [a, b] = [light(numbers(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${one.tagName}.${one.className}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return [...new Set(found)];
}"""
