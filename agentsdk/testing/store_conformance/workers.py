"""Processes that work on a store concurrently with this one, each on a handle of its own.

A worker runs a job, an async generator: each line it yields is a report, `order()` waits for the next line it is sent.
"""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
import sys
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from agentsdk.ports.run_store import RunStore
from agentsdk.testing.store_conformance.check import Factory
from agentsdk.types.errors import UserError

Job = Callable[..., AsyncIterator[str]]

_MAIN = "import json, sys; sys.path[:] = json.loads(sys.stdin.readline()); from {} import work; work()"
_FAILED = "failed "


class Worker:
    """A process at work."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._orders = process.stdin
        self._reports = process.stdout

    async def tell(self, order: str) -> None:
        """Send it an order; one that has ended says so when it is heard."""
        self._orders.write(f"{order}\n".encode())
        with suppress(ConnectionError):
            await self._orders.drain()

    async def hear(self) -> str:
        """Its next report. Raises `AssertionError` if it has failed."""
        report = await self._read()
        if not report:
            raise AssertionError(
                f"a process of its own: saw it end ({await self._process.wait()}), expected a report; see its stderr"
            )
        return report

    async def kill(self) -> list[str]:
        """End it at once; the reports that were not heard yet."""
        self.stop()
        unheard: list[str] = []
        while report := await self._read():
            unheard.append(report)
        await self._process.wait()
        return unheard

    async def end(self) -> None:
        """Let it end: it gets no more orders. Raises `AssertionError` if it fails."""
        self._orders.close()
        report, code = await self._read(), await self._process.wait()
        if report or code != 0:
            raise AssertionError(
                f"a process of its own: saw {report!r} and exit code {code}, expected it to end; see its stderr"
            )

    async def _read(self) -> str:
        line = (await self._reports.readline()).decode(errors="replace")
        if line.startswith(_FAILED):
            raise AssertionError(f"a process of its own: saw {line.removeprefix(_FAILED).strip()}, expected no error")
        return line.strip() if line.endswith("\n") else ""

    def stop(self) -> None:
        """Kill it if it still runs."""
        if self._process.returncode is None:
            self._process.kill()

    async def stopped(self) -> None:
        """Wait until nothing is left of it."""
        await self._process.communicate()


@asynccontextmanager
async def workers(factory: Factory, job: Job, each: Sequence[tuple[object, ...]]) -> AsyncGenerator[list[Worker]]:
    """Processes that run `job(store, *args)`, one for each args, on stores of `factory`; none outlives the block."""
    tasks = [_pickled(factory, job, args) for args in each]
    command = [sys.executable, "-X", "utf8", "-c", _MAIN.format(__name__)]
    at_work: list[Worker] = []
    try:
        for task in tasks:
            one = Worker(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE))
            at_work.append(one)
            await one.tell(json.dumps(sys.path))
            await one.tell(base64.b64encode(task).decode())
        yield at_work
    finally:
        for one in at_work:
            one.stop()
        for one in at_work:
            await one.stopped()


def _pickled(factory: Factory, job: Job, args: tuple[object, ...]) -> bytes:
    try:
        pickled = pickle.dumps(factory)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UserError(
            f"{factory!r} cannot be pickled, expected a factory that other processes can call; use a function of a module, "
            "or functools.partial of one"
        ) from error
    if b"__main__" in pickled:
        raise UserError(
            f"{factory!r} is in the main script, expected a factory that other processes can import; move it into a module"
        )
    return pickle.dumps((factory, job, args))


async def order() -> str:
    """In a worker: the next order; empty when there will be none."""
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


def work() -> None:
    """In a worker: run the job that comes on stdin. What a store prints goes to stderr."""
    reports, sys.stdout = sys.stdout, sys.stderr

    async def run(store: RunStore, job: Job, args: tuple[object, ...]) -> None:
        try:
            async for report in job(store, *args):
                print(report, file=reports, flush=True)
        finally:
            await store.aclose()

    try:
        factory, job, args = pickle.loads(base64.b64decode(sys.stdin.readline()))
        asyncio.run(run(factory(), job, args))
    except Exception as error:
        traceback.print_exc()  # first: the parent may end this process when it reads the report
        print(f"{_FAILED}{type(error).__name__}: {error}".replace("\n", " "), file=reports, flush=True)
        sys.exit(1)
