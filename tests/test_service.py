"""The example service, as its clients see it: over HTTP, through `kill -9` and SIGTERM."""

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

from agentsdk.testing import FakeOpenAIServer, call

pytest.importorskip("starlette", reason="the example service needs starlette: pip install starlette uvicorn")
pytest.importorskip("uvicorn", reason="the example service needs uvicorn: pip install starlette uvicorn")

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[1] / "examples"
LEASE = 1.0


class Service:
    """The service as a process, and a client of it that tries again while nobody listens."""

    def __init__(self, folder: Path, model: FakeOpenAIServer) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self._folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(EXAMPLES.parent),
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "OPENAI_API_KEY": "a key",
            "AGENTSDK_MODEL": "some-model",
            "SERVICE_LEASE": str(LEASE),
        }
        self._client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{self._port}", timeout=30)
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the process."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "service:app"),
            *("--port", self._port, "--log-level", "warning"),
            cwd=self._folder,
            env=self._environment,
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

    async def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """The answer to a request, sent again for as long as nobody is there."""
        async with asyncio.timeout(60):
            while True:
                try:
                    return await self._client.request(method, path, **given)
                except httpx.TransportError:
                    await asyncio.sleep(0.02)  # a process is starting: nothing can be waited for

    async def events(self, run_id: str, after: int) -> AsyncIterator[tuple[int, str]]:
        """The run's events, as a browser reads them; ends where the connection does."""
        headers = {"last-event-id": str(after)}
        try:
            async with self._client.stream("GET", f"/runs/{run_id}/events", headers=headers, timeout=None) as reply:
                revision = after
                async for line in reply.aiter_lines():
                    if line.startswith("id: "):
                        revision = int(line[4:])
                    elif line.startswith("data: "):
                        yield revision, json.loads(line[6:])["event"]
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
async def served(folder: Path) -> AsyncGenerator[Service, None]:
    async with FakeOpenAIServer([call("send_invoice", number=7)] * 100) as model:
        service = Service(folder, model)
        await service.start()
        try:
            yield service
        finally:
            await service.aclose()


async def test_runs_outlive_the_service_however_it_ends(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        ids = [f"invoice-{number}" for number in range(6)]
        for run_id in ids[:3]:
            assert (await service.ask("POST", f"/runs/{run_id}", json={"input": "Send it."})).status_code == 202
        await service.end(signal.SIGKILL)  # wherever these three were
        await service.start()
        for run_id in ids:  # a client that does not know whether it was heard sends its request again
            assert (await service.ask("POST", f"/runs/{run_id}", json={"input": "Send it."})).status_code == 202
        waiting = [await service.until(run_id, lambda run: run["status"] == "waiting") for run_id in ids]
        assert await service.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        await service.start()
        for run in waiting:
            [open_call] = run["calls"]
            decision = {"call_id": open_call["call_id"], "action": "approve", "by": "ann"}
            path = f"/runs/{run['run_id']}/decisions"
            assert (await service.ask("POST", path, json=decision)).status_code == 204
        await service.end(signal.SIGTERM)
        await service.start()
        done = [await service.until(run_id, lambda run: run["status"] == "finished") for run_id in ids]
        assert {run["output"] for run in done} == {"Invoice 7 is sent."}
        assert len((tmp_path / "sent.txt").read_text().splitlines()) == len(ids), "each was sent once"


async def test_a_reader_of_events_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        await service.ask("POST", "/runs/r", json={"input": "Send it."})
        run = await service.until("r", lambda run: run["status"] == "waiting")
        seen: list[tuple[int, str]] = []

        async def read() -> None:
            while not seen or seen[-1][1] != "RunEnded":
                await service.ask("GET", "/runs/r")  # once somebody is there
                async for event in service.events("r", seen[-1][0] if seen else 0):
                    seen.append(event)

        reading = asyncio.create_task(read())
        await service.end(signal.SIGKILL)
        await service.start()
        [open_call] = run["calls"]
        await service.ask("POST", "/runs/r/decisions", json={"call_id": open_call["call_id"], "action": "approve"})
        async with asyncio.timeout(60):
            await reading
        assert [revision for revision, _ in seen] == list(range(1, len(seen) + 1)), "nothing missed, nothing twice"
        assert [name for _, name in seen][:2] == ["RunStarted", "RunResumed"]


async def test_what_is_wrong_is_said_with_a_status_code(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        assert (await service.ask("GET", "/runs/none")).status_code == 404
        await service.ask("POST", "/runs/r", json={"input": "Send it."})
        assert (await service.ask("POST", "/runs/r", json={"input": "Something else."})).status_code == 409
        assert (await service.ask("POST", "/runs/r", json={"input": 5})).status_code == 400
        await service.until("r", lambda run: run["status"] == "waiting")
        again = await service.ask("POST", "/runs/r/decisions", json={"call_id": "none", "action": "approve"})
        assert again.status_code in (400, 409)
        page = (await service.ask("GET", "/runs", params={"status": "waiting"})).json()
        assert [run["run_id"] for run in page["runs"]] == ["r"]
        assert (await service.ask("GET", "/runs", params={"after": page["after"]})).json()["runs"] == []
