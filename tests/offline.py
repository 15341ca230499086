"""The lock of the test suite: nothing leaves this machine.

An audit hook sees every connection of the process, whichever library makes it. Runs a script under the lock:

    python -m tests.offline examples/hello.py
    python -m tests.offline docs/agents.md       # every ```python block, top to bottom, in one namespace
    python -m tests.offline --serve              # the same for many, each in a fork: what all import is imported once
"""

from __future__ import annotations

import contextlib
import importlib
import io
import ipaddress
import json
import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

attempts: list[str] = []
"""Where something tried to go since the list was last cleared: a library may swallow the error itself."""


class RealNetworkError(AssertionError):
    """A test tried to leave this machine. No `OSError`: the code under test must not take it for a lost connection."""


def install() -> None:
    """Refuse, from now on, what is not loopback. Cannot be undone in this process."""
    if not getattr(sys, "_agentsdk_offline", False):
        sys._agentsdk_offline = True  # type: ignore[attr-defined]
        sys.addaudithook(_audit)


def _audit(event: str, args: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = args[1]
        if isinstance(address, tuple) and not _is_loopback(str(address[0])):
            _refuse(f"{address[0]}:{address[1]}")
    elif event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
        # An address needs no name server: connecting to it is what would be refused.
        if host and not _is_address(str(host)) and str(host) != "localhost":
            _refuse(str(host))


def _refuse(target: str) -> None:
    attempts.append(target)
    raise RealNetworkError(f"{target!r} is not on this machine: tests use loopback only")


def _is_loopback(host: str) -> bool:
    return host in ("", "localhost") or (_is_address(host) and ipaddress.ip_address(host.partition("%")[0]).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\s*^```output\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)


def python_blocks(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Line, code and expected output (an ```output block right after it) of each ```python block."""
    for match in _BLOCK.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match["code"], match["output"]


def run_page(path: Path) -> None:
    """Run a page's blocks in one namespace; a traceback names the page's own lines."""
    namespace: dict[str, object] = {"__name__": "__main__", "__file__": str(path)}
    for line, code, expected in python_blocks(path.read_text(encoding="utf-8")):
        program = compile("\n" * line + code, str(path), "exec", dont_inherit=True)  # as it runs for a reader
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(program, namespace)
        print(printed.getvalue(), end="")
        if expected is not None and printed.getvalue() != expected:
            raise SystemExit(f"{path}:{line}: printed\n{printed.getvalue()}but the page shows\n{expected}")


IMPORTED = (
    "agentsdk",
    "agentsdk.stores",
    "agentsdk.testing",
    "agentsdk.tools",
    "agentsdk.workflow",
    "genai_prices.data",
    "httpcore",
    "httpx",
    "pydantic",
)
"""What most pages and examples import."""


def serve() -> list[str]:
    """Fork a process for each line of standard input: JSON of a path, its arguments, the folder it runs in, files for what it
    prints, and its environment.

    Returns path and arguments in each fork. Here an exit code is written for each, until there are no more.
    """
    for name in IMPORTED:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            getattr(module, public)
    while line := sys.stdin.readline():
        path, arguments, folder, files, environment = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            for number, target in enumerate([os.open(os.devnull, os.O_RDONLY), *[os.open(file, flags) for file in files]]):
                os.dup2(target, number)
                os.close(target)
            return [path, *arguments]
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    raise SystemExit


def main() -> None:
    install()
    if sys.argv[1] == "--serve":
        sys.argv[1:] = serve()
    path = Path(sys.argv[1])
    sys.argv = sys.argv[1:]
    if path.suffix == ".md":
        run_page(path)
    else:
        runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
