"""The processes of a run: one worker per contestant, one server, and the fresh interpreters that time an import."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

from benchmarks.contestants import IMPORTS
from benchmarks.envs import HERE, REPO, Env

RESULTS = HERE / "results"
TIMEOUT_S = 300

IMPORT_PROBE = """
import json, os, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
def mib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
before, started = mib(), time.process_time()
{statement}
print(json.dumps({{"ms": (time.process_time() - started) * 1000, "mib": mib() - before}}))
"""


def environment() -> dict[str, str]:
    """The environment of every process: this repository importable, no exporter, no settings of the user's own Python."""
    dropped = ("PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy")
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    return {**kept, "PYTHONPATH": str(REPO), "OTEL_SDK_DISABLED": "true", "NO_PROXY": "127.0.0.1"}


def log_of(name: str) -> Path:
    """Where a contestant's standard error goes."""
    RESULTS.mkdir(exist_ok=True)
    return RESULTS / f"{name}.log"


class WorkerError(Exception):
    """A worker did not start; the message is the reason."""


class Worker:
    """A process that measures one contestant."""

    def __init__(self, name: str, process: Process) -> None:
        self.name = name
        self.process = process

    @classmethod
    async def start(cls, env: Env) -> Worker:
        """Start the process and wait until it has imported its package; raises `WorkerError`."""
        command = (str(env.python), "-m", "benchmarks.worker", env.name)
        with log_of(env.name).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=log, cwd=REPO, env=environment()
            )
        worker = cls(env.name, process)
        if "error" in (answer := await worker._answer()):
            raise WorkerError(answer["error"])
        return worker

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.returncode is None

    async def ask(self, scenario: str, *, url: str | None, budget_ms: float, at_once: int) -> dict[str, Any]:
        """Run one scenario; the worker's answer, or an error in the same form."""
        assert self.process.stdin is not None
        request = {"scenario": scenario, "url": url, "budget_ms": budget_ms, "at_once": at_once}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return await self._answer()

    async def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(self.process.stdout.readline(), TIMEOUT_S)
        except TimeoutError:
            await self.stop()
            return {"error": f"no answer for {TIMEOUT_S} s"}
        if not line:
            await self.stop()
            last = log_of(self.name).read_text(errors="replace").strip().rpartition("\n")[2]
            return {"error": f"the process died: {last}"}
        return json.loads(line)

    async def stop(self) -> None:
        """End the process."""
        await _kill(self.process)


class Server:
    """The fake chat-completions server."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self.url = url

    @classmethod
    async def start(cls, env: Env) -> Server:
        """Start the process and wait for its URL."""
        command = (str(env.python), "-m", "benchmarks.server")
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=REPO, env=environment())
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), TIMEOUT_S)).decode().strip()
        return cls(process, url)

    async def stop(self) -> None:
        """End the process."""
        await _kill(self.process)


async def measure_import(env: Env) -> dict[str, Any]:
    """S7 in a fresh interpreter: CPU time and resident memory that the import adds, and the distributions it needed."""
    code = IMPORT_PROBE.format(statement=IMPORTS[env.name])
    process = await asyncio.create_subprocess_exec(
        str(env.python), "-c", code, stdout=PIPE, stderr=PIPE, cwd=REPO, env=environment()
    )
    out, err = await process.communicate()
    if process.returncode:
        return {"error": (err.decode().strip().splitlines() or ["import failed"])[-1]}
    return {"figures": {**json.loads(out), "distributions": env.distributions}}


async def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
