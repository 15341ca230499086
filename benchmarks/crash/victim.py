"""The processes that are killed: `python -m benchmarks.crash.victim CONTESTANT [MODULE ...]`, by that contestant's Python.

It imports the contestant once and then forks a process for each order, a line of JSON, so that a kill costs milliseconds and
not the import. What was forked reports in lines: `pid`, `found`, `waiting`, `done`, `failed`. When it is gone this process
says `ended` and its exit code.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import traceback
from typing import Any, NamedTuple

from benchmarks.crash.world import Kill, World


class Order(NamedTuple):
    """What a forked process is to do with the run `run_id`: begin it, or go on with it, and die at `kill`."""

    folder: str
    steps: int
    run_id: str
    store: tuple[str, str]
    resume: bool
    kill: Kill | None
    durability: str

    @property
    def world(self) -> World:
        """The outside of the run."""
        return World(self.folder, self.steps, None if self.kill is None else Kill(*self.kill))


def next_line() -> bytes:
    """A line of standard input, and nothing beyond it: the forked processes read there too."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def report(word: str, rest: object = "") -> None:
    """One line, whole."""
    os.write(1, f"{word} {json.dumps(rest)}\n".encode())


def found(replies: int, results: list[str]) -> None:
    """Say what is recorded of the run before going on with it."""
    report("found", {"replies": replies, "results": results})


def wait_for_person() -> None:
    """Say that calls wait for a person, and wait until they are decided."""
    report("waiting")
    next_line()


def finished(world: World, outcome: dict[str, Any]) -> None:
    """Say how the run ended: in a file, as a pipe would take so much in pieces."""
    (world.folder / "outcome").write_text(json.dumps(outcome))
    report("done")


def main() -> None:
    """Fork one process after another until standard input ends."""
    contestant, *needed = sys.argv[1:]
    live = importlib.import_module(f"benchmarks.crash.{contestant}").live
    for module in needed:
        importlib.import_module(module)
    report("ready")
    while line := next_line():
        if not line.startswith(b"{"):
            continue  # meant for a process that was dead by then
        pid = os.fork()
        if pid == 0:
            _live(live, Order(**json.loads(line)))
        _, status = os.waitpid(pid, 0)
        report("ended", os.waitstatus_to_exitcode(status))


def _live(live: Any, order: Order) -> None:
    code = 1
    try:
        report("pid", os.getpid())
        asyncio.run(live(order))
        code = 0
    except BaseException as error:
        traceback.print_exc()
        report("failed", f"{type(error).__name__}: {error}"[:500])
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
