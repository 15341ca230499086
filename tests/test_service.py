"""The example service, as its clients see it: over HTTP, through `kill -9` and SIGTERM; and its page, in a real browser."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsdk import Message
from agentsdk.testing import FakeOpenAIServer, call
from agentsdk.testing.scripted import Say
from tests.local_tools.chromium import chromium, needs_chromium

pytest.importorskip("starlette", reason="the example service needs starlette: pip install starlette uvicorn")
pytest.importorskip("uvicorn", reason="the example service needs uvicorn: pip install starlette uvicorn")

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[1] / "examples"
LEASE = 1.0
SENDS: Say = call("send_invoice", number=7)
EVIL = "<img src=x onerror=alert(1)>"


class Service:
    """The service as a process, and a client of it that tries again while nobody listens."""

    def __init__(self, folder: Path, model: FakeOpenAIServer) -> None:
        # Kept while no process listens on it: else another one could get the port.
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(EXAMPLES.parent),
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "a key",
            "AGENTSDK_MODEL": "some-model",
            "SERVICE_LEASE": str(LEASE),
        }
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        headers = {"authorization": "Bearer ada"}
        self._client = httpx.AsyncClient(base_url=f"{self.address}/api", timeout=60, headers=headers)
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the process."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "service:app"),
            *("--fd", str(self._listening.fileno()), "--log-level", "warning", "--timeout-graceful-shutdown", "1"),
            cwd=self._folder,
            env=self._environment,
            pass_fds=[self._listening.fileno()],
        )

    async def end(self, how: signal.Signals) -> int:
        """Send it a signal; the exit code."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(how)
        return await self._process.wait()

    async def aclose(self) -> None:
        """End both."""
        await self._client.aclose()
        if self._process is not None:
            await self.end(signal.SIGKILL)
        self._listening.close()

    async def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """The answer to a request, sent again for as long as nobody is there."""
        async with asyncio.timeout(60):
            while True:
                try:
                    return await self._client.request(method, path, **given)
                except httpx.TransportError:
                    await asyncio.sleep(0.02)  # a process is starting: nothing can be waited for

    async def begin(self, key: str, input: str = "Send it.") -> str:
        """The id of the run that is begun under this key."""
        answer = await self.ask("POST", "/runs", json={"input": input}, headers={"idempotency-key": key})
        assert answer.status_code == 201, answer.text
        run_id: str = answer.json()["run_id"]
        return run_id

    async def events(self, run_id: str, after: int) -> AsyncIterator[tuple[int, str]]:
        """The run's events, as a browser reads them; ends where the connection does."""
        headers = {"last-event-id": str(after)}
        try:
            async with self._client.stream("GET", f"/runs/{run_id}/events", headers=headers, timeout=None) as reply:
                revision = after
                async for line in reply.aiter_lines():
                    if line.startswith("id: "):
                        revision = int(line[4:])
                    elif line.startswith("data: ") and "revision" in (event := json.loads(line[6:])):
                        yield revision, event["type"]
        except httpx.TransportError:
            return

    async def until(self, run_id: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The run, once it fits."""
        async with asyncio.timeout(60):
            while True:
                run = (await self.ask("GET", f"/runs/{run_id}")).json()
                if fits(run):
                    return run
                await asyncio.sleep(0.02)  # over HTTP, without a stream


@asynccontextmanager
async def served(folder: Path, says: Say = SENDS) -> AsyncGenerator[Service, None]:
    async with FakeOpenAIServer([says] * 100) as model:
        service = Service(folder, model)
        await service.start()
        try:
            yield service
        finally:
            await service.aclose()


async def test_runs_outlive_the_service_however_it_ends(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        keys = [f"invoice {number}" for number in range(6)]
        begun = [await service.begin(key) for key in keys[:3]]
        await service.end(signal.SIGKILL)  # wherever these three were
        await service.start()
        ids = [await service.begin(key) for key in keys]  # a client that does not know whether it was heard asks again
        assert ids[:3] == begun
        waiting = [await service.until(run_id, lambda run: run["status"] == "waiting") for run_id in ids]
        assert await service.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        await service.start()
        for run in waiting:
            [open_call] = run["calls"]
            decision = {"call_id": open_call["call_id"], "action": "approve"}
            assert (await service.ask("POST", f"/runs/{run['run_id']}/decisions", json=decision)).status_code == 202
        await service.end(signal.SIGTERM)
        await service.start()
        done = [await service.until(run_id, lambda run: run["status"] == "finished") for run_id in ids]
        assert {run["output"] for run in done} == {"Invoice 7 is sent."}
        assert len((tmp_path / "sent.txt").read_text().splitlines()) == len(ids), "each was sent once"


async def test_a_reader_of_events_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        run_id = await service.begin("r")
        run = await service.until(run_id, lambda run: run["status"] == "waiting")
        seen: list[tuple[int, str]] = []

        async def read() -> None:
            while not seen or seen[-1][1] != "RunEnded":
                await service.ask("GET", f"/runs/{run_id}")  # once somebody is there
                async for event in service.events(run_id, seen[-1][0] if seen else 0):
                    seen.append(event)

        reading = asyncio.create_task(read())
        await service.end(signal.SIGKILL)
        await service.start()
        [open_call] = run["calls"]
        decision = {"call_id": open_call["call_id"], "action": "approve"}
        await service.ask("POST", f"/runs/{run_id}/decisions", json=decision)
        async with asyncio.timeout(60):
            await reading
        assert [revision for revision, _ in seen] == list(range(1, len(seen) + 1)), "nothing missed, nothing twice"
        assert [name for _, name in seen][:2] == ["RunStarted", "RunResumed"]


async def test_the_service_stops_while_clients_follow_its_runs(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        run_id = await service.begin("r")
        await service.until(run_id, lambda run: run["status"] == "waiting")
        stream = service.events(run_id, 0)
        await anext(stream)
        async with asyncio.timeout(60):
            assert await service.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        async for _ in stream:
            pass


@needs_chromium
async def test_its_page_begins_follows_and_approves_in_a_real_browser(tmp_path: Path) -> None:
    from playwright.async_api import async_playwright, expect

    async with (
        served(tmp_path, [Message("assistant", EVIL), call("send_invoice", number=7)]) as service,
        async_playwright() as playwright,
    ):
        await service.ask("GET", "/health")
        browser = await playwright.chromium.launch(
            executable_path=chromium(), chromium_sandbox=False, args=["--no-zygote", "--disable-gpu"]
        )
        expect.set_options(timeout=60_000)
        page = await browser.new_page()
        raised: list[object] = []
        page.on("pageerror", lambda error: raised.append(error))
        page.on("dialog", lambda dialog: raised.append(dialog))
        await page.goto(service.address)
        await page.get_by_label("Token").fill("nobody")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("401")
        await page.get_by_label("Token").fill("ada")
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_label("What is to be done?").fill("Send invoice 7.")
        await page.get_by_role("button", name="Begin").click()
        await expect(page.locator("#calls")).to_contain_text('{"number":7}')
        await service.end(signal.SIGKILL)
        await service.start()
        await service.ask("GET", "/health")
        await page.get_by_role("button", name="Approve").click()
        await expect(page.get_by_role("status")).to_have_text("Invoice 7 is sent.")
        said = await page.locator("#events li").all_inner_texts()
        names = [text.split()[0] for text in said]
        assert names[0] == "RunStarted" and names[-1] == "RunEnded" and names.count("RunStarted") == 1, names
        assert EVIL in " ".join(said) and await page.locator("img").count() == 0 and raised == [], "what a model says is text"
        run_id = await page.locator("#run h2").inner_text()
        eve = await browser.new_context()
        theirs = await eve.new_page()
        await theirs.goto(service.address)
        await theirs.get_by_label("Token").fill("eve")
        await theirs.get_by_role("button", name="Sign in").click()
        await expect(theirs.locator("main")).to_be_visible()
        assert await theirs.locator("#runs li").count() == 0
        answer = await eve.request.get(f"{service.address}/api/runs/{run_id}")
        assert answer.status == 404
        await browser.close()
