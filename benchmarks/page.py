"""`python -m benchmarks.page`: how soon the page of runs shows what it is asked for, in a real Chromium.

- **list**: the API's first page of 10,000 runs, on SQLite and on PostgreSQL.
- **long**: a run of 10,000 events. First paint is from the navigation to the frame that has the rows; then the list is
  scrolled through for three seconds, and the memory of the page is measured after a collection. The page is opened twice: the
  server has not read the log at first.
- **live**: another process drives 50 runs, each a tool turn a second, and the page follows one of them: from the end of the
  append that recorded an event to the row on the page.
- **approve**: with these runs going, from the click to the decision in the run's log.

`--events`, `--runs` and `--live` change the sizes. The exit code is 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from agentsdk import (
    Agent,
    FunctionCall,
    ModelRequest,
    PostgresRunStore,
    RunConfig,
    RunLimits,
    Runner,
    RunStore,
    RunSummary,
    SQLiteRunStore,
    function_tool,
)
from agentsdk.testing import ScriptedModel, call
from benchmarks.envs import REPO
from benchmarks.processes import environment
from benchmarks.report import rows_table
from tests import postgres_server
from tests.local_tools.chromium import chromium

LIST_MS, PAINT_MS, FRAMES, HEAP_MB, LIVE_MS, APPROVE_MS = 30.0, 1_000.0, 30.0, 60.0, 200.0, 300.0
"""The bounds: all are most, but `FRAMES` (a second) is least."""

REQUESTS, APPROVALS, LIVE_SECONDS = 100, 20, 20
VIEWPORT = {"width": 1280, "height": 800}
ARGUMENTS = ["--no-sandbox", "--no-zygote", "--enable-precise-memory-info"]

WATCH = """
window.painted = null; window.seen = {};
new MutationObserver(() => {
  const rows = document.querySelectorAll(".list .row .rev");
  const now = Date.now();
  for (const one of rows) window.seen[one.textContent] ??= now;
  if (rows.length && window.painted === null) {
    window.painted = 0;
    requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
  }
}).observe(document, { childList: true, subtree: true });
"""
SCROLL = """
() => new Promise((done) => {
  const list = document.querySelector(".list");
  const began = performance.now(), gaps = [];
  let last = began;
  function frame(now) {
    gaps.push(now - last);
    last = now;
    list.scrollTop = (list.scrollHeight - list.clientHeight) * Math.min(1, (now - began) / 3000);
    if (now - began < 3000) requestAnimationFrame(frame);
    else done([gaps.length / 3, Math.max(...gaps)]);
  }
  requestAnimationFrame(frame);
})
"""


@function_tool(effect="none")
async def look(order: int, pause: float) -> dict[str, object]:
    """Look an order up, in `pause` seconds."""
    await asyncio.sleep(pause)
    return {"order": order, "total": 49.5, "lines": [f"line {number} of the order" for number in range(5)]}


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"{amount} paid"


def clerk(turns: int, pause: float) -> Agent[Any, str]:
    """Looks orders up for so many turns, then is done; asked to pay it asks for approval."""

    def reply(request: ModelRequest) -> str | FunctionCall:
        turn = len(request.all_items) // 2
        if "Pay" in str(request.all_items[0]):
            return call("pay", amount=5) if turn == 0 else "It is paid."
        return call("look", order=turn, pause=pause) if turn < turns else "All is looked up."

    return Agent(name="Clerk", tools=[look, pay], model=ScriptedModel([reply] * 1_000_000))


payer = clerk(0, 0.0)


class TimedStore(SQLiteRunStore):
    """Notes when each revision was recorded."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.recorded: dict[str, dict[int, float]] = {}

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """As the store's."""
        signals = await super().append(run_id, expected_rev, events, summary)
        now = time.time()
        self.recorded.setdefault(run_id, {}).update({expected_rev + 1 + place: now for place in range(len(events))})
        return signals


async def drive(path: str, runs: int) -> None:
    """Drive so many runs until the input ends, then print when the events of the first were recorded."""
    store = TimedStore(path)
    agent, config = clerk(1_000_000, 1.0), RunConfig(store=store, limits=RunLimits(turns=None), tracing_disabled=True)
    driving: list[asyncio.Task[Any]] = []
    for number in range(runs):
        await Runner.submit(agent, "Look.", run_id=f"live-{number}", run_config=config)
        driving.append(asyncio.create_task(Runner.drive(agent, f"live-{number}", run_config=config)))
        await asyncio.sleep(1 / runs)
    print("going", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for one in driving:
        one.cancel()
    await asyncio.wait(driving)
    print(json.dumps(store.recorded["live-0"]), flush=True)
    await store.aclose()


@asynccontextmanager
async def served(store: str, *, acting: bool = False) -> AsyncGenerator[str, None]:
    """The URL of the page, of a process of its own."""
    agents = ("--agents", "benchmarks.page:payer") if acting else ()
    process = await _process("agentsdk", "ui", store, *agents)
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def _process(module: str, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=REPO, env=environment(), stdin=PIPE, stdout=PIPE
    )


async def filled(store: RunStore, runs: int) -> None:
    """So many runs, the last hundred waiting for a person."""
    for number in range(runs - 100):
        config = RunConfig(store=store, metadata={"user": f"user-{number % 50}"}, tracing_disabled=True)
        await Runner.submit(payer, "Look.", run_id=f"run-{number}", run_config=config)
    await waiting(store, "waits", 100)


async def waiting(store: RunStore, name: str, runs: int) -> None:
    """So many runs that wait for an approval."""
    for number in range(runs):
        config = RunConfig(store=store, run_id=f"{name}-{number}", tracing_disabled=True)
        assert (await Runner.run(payer, "Pay.", run_config=config)).interruptions


async def first_page(url: str) -> list[float]:
    """Milliseconds of the API's first page of runs, asked for again and again."""
    base, token = url.split("/#token=")
    took: list[float] = []
    async with httpx.AsyncClient(base_url=base, headers={"authorization": f"Bearer {token}"}) as client:
        for _ in range(REQUESTS + 5):
            began = time.perf_counter()
            answer = await client.get("/api/runs")
            took.append((time.perf_counter() - began) * 1000)
            assert len(answer.json()["runs"]) == 100, answer.text
    return took[5:]


async def listing(folder: Path, runs: int, told: Callable[..., None]) -> None:
    """The first page of many runs, on two stores."""
    sqlite = SQLiteRunStore(folder / "list.db")
    with postgres_server.running() as server:
        postgres = PostgresRunStore(server.url)
        for name, store, where in (("SQLite", sqlite, str(folder / "list.db")), ("PostgreSQL", postgres, server.url)):
            await filled(store, runs)
            await store.aclose()
            async with served(where) as url:
                took = await first_page(url)
            told(f"first page of {runs:,} runs, {name}, ms", statistics.median(took), LIST_MS, _p99(took))


async def opened(browser: Any, url: str) -> Any:
    """A tab with the list of runs, which keeps when it has shown what."""
    tab = await (await browser.new_context(viewport=VIEWPORT, bypass_csp=True)).new_page()  # for the waits below
    tab.set_default_timeout(120_000)
    await tab.add_init_script(WATCH)
    await tab.goto(url)
    await tab.wait_for_selector("table.runs")
    return tab


async def painted(tab: Any, run_id: str) -> float:
    """Milliseconds from a navigation to the run until its rows are painted."""
    await tab.evaluate("id => { location.hash = `#/run/${id}` }", run_id)
    await tab.reload()
    await tab.wait_for_function("window.painted")
    return float(await tab.evaluate("window.painted"))


async def long(folder: Path, browser: Any, events: int, told: Callable[..., None]) -> None:
    """A run of many events."""
    store = SQLiteRunStore(folder / "long.db")
    config = RunConfig(store=store, run_id="long", limits=RunLimits(turns=None), tracing_disabled=True)
    await Runner.run(clerk(events // 4, 0.0), "Look.", run_config=config)
    summary = await store.summary("long")
    assert summary is not None
    what = f"{summary.rev:,} events"
    await store.aclose()
    async with served(str(folder / "long.db")) as url:
        tab = await opened(browser, url)
        # A navigation of its own for each, as a reload of the list is not what is measured.
        cold = await _opened_at(browser, url, "long")
        told(f"first paint of {what}, log not read before, ms", cold, PAINT_MS)
        warm = [await painted(tab, "long") for _ in range(5)]
        told(f"first paint of {what}, ms", statistics.median(warm), PAINT_MS, max(warm))
        await tab.wait_for_function("document.querySelectorAll('.list .row').length > 10")
        frames, gap = await tab.evaluate(SCROLL)
        told(f"frames a second in {what}", frames, -FRAMES)
        told("longest frame, ms", gap)
        devtools = await tab.context.new_cdp_session(tab)
        await devtools.send("HeapProfiler.collectGarbage")
        used = (await devtools.send("Runtime.getHeapUsage"))["usedSize"]
        told(f"memory of the page, {what}, MB", used / 1e6, HEAP_MB)


async def _opened_at(browser: Any, url: str, run_id: str) -> float:
    tab = await opened(browser, url)
    took = await painted(tab, run_id)
    await tab.context.close()
    return took


async def live(folder: Path, browser: Any, runs: int, told: Callable[..., None]) -> None:
    """Runs that go, one of them followed; then clicks."""
    path = str(folder / "live.db")
    store = SQLiteRunStore(path)
    await waiting(store, "w", APPROVALS)
    async with served(path, acting=True) as url:
        driving = await _process("benchmarks.page", "--drive", path, "--live", str(runs))
        assert driving.stdin is not None and driving.stdout is not None
        assert await driving.stdout.readline() == b"going\n"
        tab = await opened(browser, url)
        await painted(tab, "live-0")
        began = time.time() + 1
        await asyncio.sleep(LIVE_SECONDS)
        ended = time.time() - LIVE_MS / 1000
        seen: dict[str, float] = await tab.evaluate("window.seen")
        clicks = [await clicked(tab, store, f"w-{number}") for number in range(APPROVALS)]
        driving.stdin.write(b"\n")
        recorded: dict[str, float] = json.loads(await driving.stdout.readline())
        await driving.wait()
    meanwhile = {rev: at for rev, at in recorded.items() if began < at < ended}
    lags = [seen[rev] - at * 1000 for rev, at in meanwhile.items() if rev in seen]
    told(f"events of {len(meanwhile)} that were not on the page", len(meanwhile) - len(lags), 0)
    told(f"an event on the page, {runs} runs going, ms", statistics.median(lags), LIVE_MS, _p99(lags))
    told("a click on approve in the run's log, ms", statistics.median(clicks), APPROVE_MS, max(clicks))
    await store.aclose()


async def clicked(tab: Any, store: RunStore, run_id: str) -> float:
    """Milliseconds from a click to the decision's event."""
    await tab.evaluate("id => { location.hash = `#/run/${id}` }", run_id)
    await tab.wait_for_function("id => document.querySelector('h1')?.textContent === id", arg=run_id)
    await tab.wait_for_selector("text=Approve")
    before = await store.summary(run_id)
    assert before is not None
    clicked = time.time()
    await tab.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Approve').click()")
    await store.wait(run_id, before.rev, 60)
    return (time.time() - clicked) * 1000


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98]


async def measure(given: argparse.Namespace) -> int:
    """Measure, print the table; 1 where a bound is missed."""
    from playwright.async_api import async_playwright

    rows: list[tuple[str, ...]] = []

    def told(what: str, value: float, bound: float | None = None, most: float | None = None) -> None:
        held = bound is None or (value >= -bound if bound < 0 else value <= bound)
        limit = "" if bound is None else f"{'>=' if bound < 0 else '<='} {abs(bound):g}"
        rows.append((what, f"{value:.1f}", "" if most is None else f"{most:.1f}", limit, "" if held else "MISS"))
        print(f"{what}: {value:.1f}", file=sys.stderr, flush=True)

    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        driver = await stack.enter_async_context(async_playwright())
        browser = await driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        stack.push_async_callback(browser.close)
        parts: dict[str, Callable[[], Awaitable[None]]] = {
            "list": lambda: listing(folder, given.runs, told),
            "long": lambda: long(folder, browser, given.events, told),
            "live": lambda: live(folder, browser, given.live, told),
        }
        for name, part in parts.items():
            if not given.parts or name in given.parts:
                await part()
    print(rows_table([("", "median", "99 % or most", "bound", ""), *rows]))
    return int(any(row[-1] for row in rows))


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="list, long or live; all where none is named")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--live", type=int, default=50)
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        asyncio.run(drive(given.drive, given.live))
        return 0
    return asyncio.run(measure(given))


if __name__ == "__main__":
    sys.exit(main())
