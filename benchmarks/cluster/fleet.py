"""The workers, each `python -m agentsdk worker` in a process of its own, and what they say of the runs that they begin."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import psutil

from benchmarks.cluster.database import cpu_seconds
from benchmarks.envs import REPO
from benchmarks.processes import environment


@dataclass(frozen=True)
class Claim:
    """A run was claimed: when (a Unix timestamp), by which process, which run."""

    at: float
    pid: int
    run_id: str


class Fleet:
    """Workers of `concurrency` runs each, on the store at `url`; the models take `reply_s` to reply."""

    def __init__(
        self,
        url: str,
        folder: Path,
        workers: int,
        *,
        concurrency: int,
        reply_s: float,
        lease: float,
    ) -> None:
        self._claims = folder / f"claims-{time.monotonic_ns()}"
        self._log = folder / "workers.log"
        self._count = workers
        self._environment = {
            **environment(),
            "CLUSTER_STORE": url,
            "CLUSTER_CONCURRENCY": str(concurrency),
            "CLUSTER_REPLY_S": str(reply_s),
            "CLUSTER_LEASE": str(lease),
            "CLUSTER_CLAIMS": str(self._claims),
        }
        self.processes: list[Process] = []

    async def __aenter__(self) -> Fleet:
        try:
            for _ in range(self._count):
                self.processes.append(await self._start())
            for process in self.processes:
                assert process.stdout is not None
                line = await process.stdout.readline()  # it says that it is at work
                assert line, f"a worker did not start, see {self._log.read_text()[-2000:]}"
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM if error is None else signal.SIGKILL)
        for process in self.processes:
            await process.wait()

    async def _start(self) -> Process:
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "agentsdk", "worker", "benchmarks.cluster.worker:worker"),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=log,
                cwd=REPO,
                env=self._environment,
            )

    async def until_all_work(self) -> None:
        """Return when each has claimed a run, and a moment later."""
        async with asyncio.timeout(60):
            while len({claim.pid for claim in self.claims()}) < self._count:  # noqa: ASYNC110 - other processes
                await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)

    def claims(self) -> list[Claim]:
        """Every claim, in order."""
        if not self._claims.exists():
            return []
        lines = self._claims.read_text().rpartition("\n")[0].splitlines()  # without a line that is being written
        return [Claim(float(at), int(pid), run_id) for at, pid, run_id in map(str.split, lines)]

    def begun(self) -> dict[str, Claim]:
        """The first claim of each run."""
        first: dict[str, Claim] = {}
        for claim in self.claims():
            first.setdefault(claim.run_id, claim)
        return first

    def cpu_s(self) -> float:
        """The processor time that the workers have used."""
        return cpu_seconds([psutil.Process(process.pid) for process in self.processes if process.returncode is None])
