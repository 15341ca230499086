"""The lifecycle matrix: who opens a server, who closes it, and what happens in between. Any `Contestant` plays it."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.mcp.misbehaving.play import PROGRAM, Contestant, Script, Target, alive
from tests.mcp.misbehaving.servers.base import HANDSHAKE, MODERN

Row = Callable[["Place"], Awaitable[None]]
ROWS: dict[str, Row] = {}
ROOT = Path(PROGRAM.partition("/tests/mcp/")[0])


def row(test: Row) -> Row:
    """Registers a row by its name."""
    ROWS[test.__name__] = test
    return test


class Place:
    """A contestant, and the servers that it is given: each has a journal of its own."""

    def __init__(self, contestant: Contestant, era: str, folder: str) -> None:
        self.contestant, self.era, self.folder = contestant, era, folder
        self.journals: list[str] = []

    def target(self, case: str = "healthy", timeout: float = 10) -> Target:
        """Where a new server is."""
        journal = os.path.join(self.folder, f"journal-{len(self.journals)}")
        self.journals.append(journal)
        os.mkfifo(journal + ".bell")
        return Target(sys.executable, ("-S", "-E", PROGRAM, case, self.era, journal), timeout=timeout)

    def server(self, case: str = "healthy", timeout: float = 10) -> Any:
        """A new server, not opened."""
        return self.contestant.server(self.target(case, timeout))

    async def run(self, server: Any, expected: str = "ok") -> None:
        """A run that calls the server's tool, and what must come of it."""
        script = Script([("ping", {}), ("plain", {})])
        await self.contestant.run(server, script)
        assert script.outcomes == [expected, "ok"], f"expected {expected}, got {script.outcomes}: {script.outputs}"

    async def opened(self, case: str = "healthy", timeout: float = 10) -> Any:
        """A server that is open: a run without a call of it."""
        server = self.server(case, timeout)
        await self.contestant.run(server, Script([("plain", {})]))
        return server

    @asynccontextmanager
    async def in_a_call(self, server: Any, expected: str = "ok") -> AsyncIterator[asyncio.Task[None]]:
        """A run whose call has reached the server opened last, which does not answer it, and what must come of the run."""
        task = asyncio.create_task(self.run(server, expected))
        try:
            await self.until(lambda: self.count("call") > 0)
            yield task
        finally:
            if not task.done():
                task.cancel()
            await asyncio.wait([task])

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits until the journal of the server made last fulfils a condition."""
        pipe = os.open(self.journals[-1] + ".bell", os.O_RDWR | os.O_NONBLOCK)  # for writing too: it does not end
        rings = asyncio.Event()
        loop = asyncio.get_running_loop()

        def rung() -> None:
            with suppress(BlockingIOError):  # another reader of the same pipe was quicker
                os.read(pipe, 4096)
            rings.set()

        loop.add_reader(pipe, rung)
        try:
            async with asyncio.timeout(60):
                while not condition():
                    await rings.wait()
                    rings.clear()
        finally:
            loop.remove_reader(pipe)
            os.close(pipe)

    def lines(self) -> list[str]:
        """All lines of the journals."""
        return [line for name in self.journals if os.path.exists(name) for line in Path(name).read_text().splitlines()]

    def count(self, word: str) -> int:
        """How many lines begin with a word."""
        return sum(line.split(" ")[0] == word for line in self.lines())


@contextmanager
def place(contestant: Contestant, era: str) -> Iterator[Place]:
    """A place, and the check that no process is left when it is done with."""
    with tempfile.TemporaryDirectory() as folder:
        made = Place(contestant, era, folder)
        try:
            yield made
        finally:
            left = alive(made.lines())
        assert not left, f"left behind: processes {left}"


async def play(name: str, contestant: Contestant, era: str = MODERN) -> None:
    """Plays a row. Raises AssertionError, or what the row raised."""
    before = asyncio.all_tasks()
    with place(contestant, era) as made:
        await ROWS[name](made)
        for _ in range(5):
            await asyncio.sleep(0)
        left = [task.get_name() for task in asyncio.all_tasks() - before]
        assert not left, f"left behind: tasks {left}"


@row
async def closed_from_another_task(here: Place) -> None:
    server = here.server()
    await asyncio.create_task(here.run(server))
    await asyncio.create_task(here.contestant.close(server))


@row
async def first_in_first_out(here: Place) -> None:
    first = await here.opened()
    second = await here.opened()
    await here.contestant.close(first)
    await here.run(second)
    await here.contestant.close(second)


@row
async def opened_in_gather(here: Place) -> None:
    servers = await asyncio.gather(here.opened(), here.opened(), here.opened())
    await asyncio.gather(*[here.run(server) for server in servers])
    await asyncio.gather(*[here.contestant.close(server) for server in servers])


@row
async def closed_twice(here: Place) -> None:
    server = await here.opened()
    await here.contestant.close(server)
    await here.contestant.close(server)


@row
async def never_opened(here: Place) -> None:
    await here.contestant.close(here.server())


@row
async def opened_again(here: Place) -> None:
    server = await here.opened()
    await here.contestant.close(server)
    await here.run(server)
    await here.contestant.close(server)
    assert here.count("start") == 2


@row
async def closed_in_a_call(here: Place) -> None:
    """The run goes on: its call has failed."""
    server = await here.opened("silence/call", 3600)
    async with here.in_a_call(server, expected="told") as run, asyncio.timeout(60):  # not as long as the server may take
        await here.contestant.close(server)
        await run
    await here.contestant.close(server)


@row
async def killed_in_a_call(here: Place) -> None:
    server = await here.opened("silence/first_call", 30)
    async with here.in_a_call(server, expected="told") as run:
        os.kill(next(int(line.split()[1]) for line in here.lines() if line.startswith("start")), signal.SIGKILL)
        await run
    await here.run(server)
    await here.contestant.close(server)
    assert here.count("call") == 2, "a call in doubt was repeated"


@row
async def cancelled_call(here: Place) -> None:
    server = await here.opened("silence/first_call", 30)
    async with here.in_a_call(server) as run:
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        assert run.cancelled()
    await here.run(server)
    await here.contestant.close(server)
    assert here.count("start") == 1, "a cancelled call cost the connection"


@row
async def run_with_a_deadline(here: Place) -> None:
    server = await here.opened("silence/first_call", 30)

    async def ends(deadline: asyncio.Timeout) -> None:
        await here.until(lambda: here.count("call") > 0)
        deadline.reschedule(0)

    try:
        async with asyncio.timeout(30) as deadline, asyncio.TaskGroup() as group:
            group.create_task(ends(deadline))
            await here.run(server)
        raise AssertionError("the deadline did not end the run")
    except TimeoutError:
        pass
    await here.run(server)
    await here.contestant.close(server)


@row
async def cancelled_while_it_opens(here: Place) -> None:
    server = here.server("silence/opening", 30)
    opening = asyncio.create_task(here.run(server))
    await here.until(lambda: here.count("start") > 0 and len(here.lines()) > 1)
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    await here.contestant.close(server)


@row
async def a_hundred_runs(here: Place) -> None:
    server = here.server()
    await asyncio.gather(*[here.run(server) for _ in range(100)])
    await here.contestant.close(server)
    assert here.count("start") == 1, f"{here.count('start')} processes were started"
    assert here.count("call") == 100


@row
async def a_hundred_runs_cancelled(here: Place) -> None:
    server = await here.opened("silence/call", 30)
    runs = [asyncio.create_task(here.run(server)) for _ in range(100)]
    await here.until(lambda: here.count("call") == 100)
    for run in runs:
        run.cancel()
    await asyncio.wait(runs)
    assert all(run.cancelled() for run in runs)
    await here.contestant.close(server)


@row
async def many_servers(here: Place) -> None:
    servers = [here.server() for _ in range(10)]
    await asyncio.gather(*[here.run(server) for server in servers])
    for server in servers:
        await here.contestant.close(server)


@row
async def ten_cycles(here: Place) -> None:
    for _ in range(10):
        server = here.server()
        await here.run(server)
        await here.contestant.close(server)


def _in_a_process(*given: str) -> Row:
    async def test(here: Place) -> None:
        await asyncio.to_thread(ended, here, *given)

    return test


@cache
def _starter(module: str) -> subprocess.Popen[bytes]:
    """The process that programs with the contestant of a module are forked from."""
    command = [sys.executable, "-m", "tests.mcp.misbehaving.ending", module]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment, cwd=ROOT)

    def stop() -> None:
        with child:
            child.kill()

    atexit.register(stop)
    return child


def ended(here: Place, case: str, how: str) -> None:
    """A program that runs an agent and ends in one of the ways of `ending`: soon, quietly."""
    *_, case, era, journal = here.target(case).args
    starter = _starter(type(here.contestant).__module__)
    assert starter.stdin is not None and starter.stdout is not None
    starter.stdin.write(json.dumps([how, case, era, journal]).encode() + b"\n")
    program = int(starter.stdout.readline())
    errors = Path(journal + ".errors")
    ran = starter.stdout.readline()
    assert ran == b"ran\n", f"the program did not run: {errors.read_bytes()[-1_000:]!r}"
    if how == "interrupted":
        os.kill(program, signal.SIGINT)
    if not (is_over := select.select([starter.stdout], [], [], 30)[0]):
        os.kill(program, signal.SIGKILL)
    starter.stdout.readline()
    assert is_over, "the program hangs"
    expected = {"raises": b"ValueError: the user's own", "interrupted": b"KeyboardInterrupt"}.get(how)
    said = errors.read_bytes()
    if expected is None:
        assert not said, f"the program wrote {said[-1_000:]!r}"
    else:
        assert expected in said and b"ExceptionGroup" not in said, f"the program wrote {said[-1_000:]!r}"


for _case, _how in (
    ("healthy", "never_closed"),
    ("lifecycle/leaves_a_grandchild", "never_closed"),
    ("lifecycle/stubborn", "never_closed"),
    ("healthy", "raises"),
    ("healthy", "two_loops"),
    ("silence/call", "interrupted"),
):
    ROWS[f"{_how}_{_case.replace('/', '_')}"] = _in_a_process(_case, _how)

ERAS = (HANDSHAKE, MODERN)
