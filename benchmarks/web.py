"""`python -m benchmarks.web`: 1,000 clients that follow runs over HTTP, all at one process.

The service is a process of its own (uvicorn, a SQLite file), and so are the clients; the runs, one for each client, wait for an
approval. They are then approved, `--rate` a second, and driven by a worker in this process. The lag of an event is the time
from the end of the append that recorded it to the client that has read it.

With `--runs 1` all follow one run; where there are fewer runs than clients, each run has its share of them.

With `--kill` the service is killed (-9) in the middle, and started again: then only what each client has seen counts.

The exit code is 1 when a client missed an event or had one twice, or, without `--kill`, when the 99th percentile of the lag is
over 100 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentsdk import Agent, RunConfig, Runner, RunSummary, SQLiteRunStore, Worker, function_tool
from agentsdk.runs import Decision
from agentsdk.testing import ToolCallingModel
from benchmarks.envs import REPO
from benchmarks.processes import environment
from benchmarks.report import rows_table

STREAMS = 1_000
RATE = 50.0
BOUND_MS = 100.0
_FILES = 8_192
_BACKLOG = 4_096
_AGAIN_S = 0.05


@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"{amount} paid"


clerk = Agent[Any, Any](name="Clerk", tools=[pay], model=ToolCallingModel())


class TimedStore(SQLiteRunStore):
    """Notes when each revision was recorded."""

    recorded: dict[tuple[str, int], float]

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """As the store's."""
        signals = await super().append(run_id, expected_rev, events, summary)
        now = time.monotonic()
        for number in range(len(events)):
            self.recorded[run_id, expected_rev + number + 1] = now
        return signals


def serve(path: str, listening: int) -> None:
    """The service, on a socket that its parent keeps: until it is killed."""
    import uvicorn

    from agentsdk.web import WebLimits, web_app

    limits = WebLimits(streams=100_000, requests_per_second=1e6, request_burst=1_000_000)
    app = web_app(SQLiteRunStore(path), agents=[clerk], authenticate=None, limits=limits)
    config = uvicorn.Config(app, log_level="critical", access_log=False, backlog=_BACKLOG)
    uvicorn.Server(config).run([socket.socket(fileno=listening)])


async def follow(port: int, run_id: str, seen: list[tuple[int, float]], connected: asyncio.Event) -> None:
    """Read the events of a run to its end, from the last one on wherever the connection is cut."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(_AGAIN_S)
            continue
        last = seen[-1][0] if seen else 0
        writer.write(f"GET /runs/{run_id}/events HTTP/1.1\r\nhost: x\r\nlast-event-id: {last}\r\n\r\n".encode())
        with suppress(OSError, asyncio.IncompleteReadError):
            if b" 204 " in await reader.readline():
                writer.close()
                return
            while line := await reader.readline():
                if line.startswith(b"retry: "):
                    connected.set()
                elif line.startswith(b"id: "):
                    seen.append((int(line[4:]), time.monotonic()))
                elif line == b"0\r\n":  # the last chunk
                    break
        writer.close()


async def clients(port: int, streams: int, runs: int) -> None:
    """Follow all runs; print when all are connected, and what was seen once all have ended."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    connected = [asyncio.Event() for _ in range(streams)]
    seen: list[list[tuple[int, float]]] = [[] for _ in range(streams)]
    following: list[asyncio.Task[None]] = []
    for number in range(streams):
        following.append(asyncio.create_task(follow(port, f"run-{number % runs}", seen[number], connected[number])))
        if number % 50 == 49:
            await asyncio.gather(*[one.wait() for one in connected[: number + 1]])
    await asyncio.gather(*[one.wait() for one in connected])
    print("connected", flush=True)
    await asyncio.gather(*following)
    print(json.dumps(seen), flush=True)


async def start(*arguments: str, keeps: Sequence[int] = ()) -> Process:
    """This module as a process, which has the files that it `keeps`."""
    command = (sys.executable, "-m", "benchmarks.web", *arguments)
    return await asyncio.create_subprocess_exec(
        *command, cwd=REPO, env=environment(), stdout=PIPE, limit=2**28, pass_fds=tuple(keeps)
    )


async def until(store: SQLiteRunStore, run_id: str, status: str) -> None:
    """Return when the run has the status."""
    while (summary := await store.summary(run_id)) is None or summary.status != status:
        await store.wait(run_id, 0 if summary is None else summary.rev, 1)


async def approve(store: SQLiteRunStore, run_id: str) -> None:
    """Let the run's call run."""
    config = RunConfig(store=store)
    state = await Runner.load(run_id, run_config=config)
    (item,) = state.interruptions
    _ = await Runner.decide(run_id, Decision(item.call_id, "approve"), run_config=config)


async def outcome(
    store: TimedStore, of: Sequence[str], seen: list[list[tuple[int, float]]], live: float
) -> tuple[list[float], int, int, int]:
    """The lags in seconds of what was recorded after `live`; how many events were missed, had twice, and recorded in all."""
    lags: list[float] = []
    missed = twice = 0
    for run_id, events in zip(of, seen, strict=True):
        times = [(store.recorded[run_id, revision], at) for revision, at in events]
        lags += [at - recorded for recorded, at in times if recorded > live]
        summary = await store.summary(run_id)
        assert summary is not None
        revisions = [revision for revision, _ in events]
        missed += len(set(range(1, summary.rev + 1)) - set(revisions))
        twice += len(revisions) - len(set(revisions))
    return lags, missed, twice, len(store.recorded)


async def measure(folder: Path, streams: int, runs: int, rate: float, kill: bool) -> tuple[list[float], int, int, int]:
    """The same, of runs that are approved at this `rate` a second."""
    path = str(folder / "runs.db")
    store = TimedStore(path)
    store.recorded = {}
    worker = Worker(store, agents=[clerk], config=RunConfig(tracing_disabled=True))
    working = asyncio.create_task(worker.run())
    ids = [f"run-{number}" for number in range(runs)]
    for run_id in ids:
        await Runner.submit(clerk, "Pay.", run_id=run_id, run_config=RunConfig(store=store))
    for run_id in ids:
        await until(store, run_id, "waiting")
    listening = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)  # kept, so that nobody else gets its port meanwhile

    async def serving() -> Process:
        return await start("--serve", path, "--listening", str(listening.fileno()), keeps=[listening.fileno()])

    processes = [await serving()]
    try:
        port = str(listening.getsockname()[1])
        reading = await start("--clients", str(streams), "--runs", str(runs), "--port", port)
        processes.append(reading)
        assert reading.stdout is not None
        assert await reading.stdout.readline() == b"connected\n"
        live = time.monotonic()
        for number, run_id in enumerate(ids):
            await approve(store, run_id)
            if kill and number == runs // 2:
                processes[0].kill()
                await processes[0].wait()
                processes[0] = await serving()
            await asyncio.sleep(max(0.0, live + number / rate - time.monotonic()))
        seen: list[list[tuple[int, float]]] = json.loads(await reading.stdout.readline())
        of = [ids[number % runs] for number in range(streams)]
        return await outcome(store, of, seen, live)
    finally:
        worker.stop()
        await working
        for process in processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        listening.close()
        await store.aclose()


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--runs", type=int, help="as many as streams, where it is not said")
    parser.add_argument("--rate", type=float, default=RATE, help="runs approved a second")
    parser.add_argument("--kill", action="store_true", help="kill the service in the middle")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--listening", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    if given.serve:
        serve(given.serve, given.listening)
        return 0
    if given.clients:
        asyncio.run(clients(given.port, given.clients, given.runs))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        lags, missed, twice, recorded = asyncio.run(
            measure(Path(folder), given.streams, given.runs or given.streams, given.rate, given.kill)
        )
    p50, p99 = (statistics.quantiles(lags, n=100)[place] * 1000 for place in (49, 98))
    head = ("streams", "runs", "events", "missed", "twice", "lag p50, ms", "p99", "most")
    row = (
        given.streams,
        given.runs or given.streams,
        recorded,
        missed,
        twice,
        f"{p50:.1f}",
        f"{p99:.1f}",
        f"{max(lags) * 1000:.0f}",
    )
    print(rows_table([head, row]))
    return int(bool(missed or twice) or (not given.kill and p99 > BOUND_MS))


if __name__ == "__main__":
    sys.exit(main())
