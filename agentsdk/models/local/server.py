"""`LocalServer`: llama.cpp's HTTP server as a child process on loopback, with a key of its own.

One server serves every `LocalModel` of a process that has the same weights and sizes. It stops with the last model's
`aclose()`, at exit, and with the process however that dies. Everything here is blocking and thread-safe: models of several
event loops share it.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO

from msgspec import Struct, structs

from agentsdk.types.errors import UserError

Progress = Callable[[str], object]

_ALLOWED = frozenset(
    {"PATH", "HOME", "USERPROFILE", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR", "VIRTUAL_ENV"}
    | {"PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"}
    | {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"}
)
_FAMILIES = ("LC_", "GGML_", "OMP_")
_CHILD = Path(__file__).with_name("child.py")


class ServerOptions(Struct, frozen=True):
    """What one server is started with. Models with equal options share a server.

    `context` is in tokens and for one request; `parallel` requests are served at a time; `threads` decode them all.
    `pooling`, where it is not `""`, makes it a server of embeddings: `"mean"`, `"cls"`, `"last"`, or `"model"` for its own.
    """

    weights: str
    context: int
    parallel: int
    threads: int
    pooling: str = ""


class Address(Struct, frozen=True):
    """Where a server listens, and the key it asks for."""

    base_url: str
    key: str

    def __repr__(self) -> str:
        return f"Address({self.base_url!r})"


class LocalServer:
    """A server that is started when first needed, and again after it was stopped or has died."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.users: weakref.WeakSet[object] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address: Address | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def address(self) -> Address | None:
        """Where it listens; None while it does not."""
        return self._address if self.pid is not None else None

    def start(self, timeout: float, say: Progress) -> Address:
        """Wait until the server listens; its address. At most `timeout` seconds.

        Raises `UserError` with the last lines of llama.cpp's log when it cannot load the weights or does not listen in time.
        """
        with self._lock:
            if (address := self.address) is not None:
                return address
            self._reap()
            weights = Path(self.options.weights)
            say(f"loading {weights.name} ({weights.stat().st_size / 1e6:.0f} MB) ...")
            began = time.monotonic()
            self._address = self._launch(timeout)
            say(f"loaded in {time.monotonic() - began:.1f} s")
            return self._address

    def stop(self) -> None:
        """End the child and wait for it, also while it loads; nothing when there is none."""
        process = self._process
        if process is not None and self._address is None:
            process.kill()
        with self._lock:
            self._reap()

    def _launch(self, timeout: float) -> Address:
        key = secrets.token_urlsafe(32)
        with tempfile.TemporaryFile() as log:
            process = self._process = subprocess.Popen(
                # -P: the script's folder is not a place to import from.
                [sys.executable, "-P", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                # A Ctrl-C in the terminal is for the program, which may still have a request to finish.
                start_new_session=True,
            )
            assert process.stdin is not None and process.stdout is not None
            began = time.monotonic()
            too_late = threading.Timer(timeout, process.kill)
            too_late.daemon = True
            too_late.start()
            try:
                process.stdin.write(json.dumps({**structs.asdict(self.options), "key": key}).encode() + b"\n")
                process.stdin.flush()
                listening = process.stdout.readline().decode().strip()
            except BrokenPipeError:
                listening = ""
            except BaseException:
                process.kill()
                self._reap()
                raise
            finally:
                too_late.cancel()
            if listening:
                return Address(base_url=listening, key=key)
            status = process.wait()
            self._reap()
            words = _last_words(log)
            if (reason := words.strip().rpartition("\n")[2]).startswith("ImportError: "):
                raise UserError(
                    f"llama.cpp cannot start: {reason.removeprefix('ImportError: ')}; install what it lacks "
                    "(libgomp.so.1 is in Debian's and Ubuntu's package libgomp1: apt install libgomp1)"
                )
            failed = f"could not load {self.options.weights!r} (exit status {status})"
            if time.monotonic() - began >= timeout:
                failed = f"did not load {self.options.weights!r} within start_timeout={timeout!r} seconds"
            raise UserError(
                f"llama.cpp {failed}; expected a whole GGUF file that fits into memory with context={self.options.context!r}; "
                f"fetch it again or choose another. Its last words:\n{words}"
            )

    def _reap(self) -> None:
        process, self._process, self._address = self._process, None, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:
                pass
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """In a fork of the owning process: the server is the parent's, so it is released, not stopped."""
        process, self._process, self._address, self._lock = self._process, None, None, threading.Lock()
        if process is not None:
            process.returncode = 0
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _environment() -> dict[str, str]:
    """What llama.cpp needs of the environment: where things are, and the devices it may use. No key, no password."""
    return {name: value for name, value in os.environ.items() if name.upper() in _ALLOWED or name.upper().startswith(_FAMILIES)}


_servers: dict[ServerOptions, LocalServer] = {}


def shared_server(options: ServerOptions) -> LocalServer:
    """The process's one server with these options, not yet started."""
    return _servers.setdefault(options, LocalServer(options))


def _stop_all() -> None:
    for server in _servers.values():
        server.stop()


def _forget_all() -> None:
    for server in _servers.values():
        server.forget()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _last_words(log: IO[bytes], lines: int = 6) -> str:
    log.seek(0)
    logged = log.read().decode(errors="replace").strip().splitlines()
    # llama.cpp begins a line with the time and a level.
    return "\n".join(line.partition(" E ")[2] or line for line in logged[-lines:]) or "(nothing)"
