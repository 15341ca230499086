"""Plays a row: an agent with a plain tool and a misbehaving server, what was seen, and whether that is what must be.

Of the standard library, and of no SDK: `Contestant` is what an SDK is driven by, so the same rows run against each.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.mcp.misbehaving.clock import PATIENCE, jumps_in_silence
from tests.mcp.misbehaving.servers.base import CASES, HANDSHAKE, MODERN
from tests.mcp.misbehaving.servers.http_front import HANDLER, HTTP_CASES, HttpFront, class_of

STDIO, HTTP = "stdio", "http"
NAME = "misbehaving"
"""How the server is called in the agent."""

SECRET = "s3cr3t-of-the-tests"
PROGRAM = str(Path(__file__).parent / "servers" / "stdio.py")


@dataclass(frozen=True)
class Offered:
    """A tool as the model was shown it."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass
class Script:
    """What the model does in a run: it calls tools by what their descriptions say, and writes down what it is shown.

    A tool that is not offered is not called; the step is `absent`.
    """

    steps: Sequence[tuple[str, Mapping[str, Any]]]
    offered: list[Sequence[Offered]] = field(default_factory=list)
    instructions: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    """The text of each step's result, `""` for one that was not called."""
    error: str = ""
    """What the run raised."""
    is_group: bool = False
    asked: int = 0
    """How often a person was asked for an approval."""
    _next: int = 0
    _is_called: bool = False

    def turn(self, offered: Sequence[Offered], instructions: str, last_output: str) -> tuple[str, str] | None:
        """The model's next call (its name, its arguments as JSON) or None where it is done."""
        self.offered.append(offered)
        self.instructions.append(instructions)
        if self._is_called:
            self.outputs.append(last_output)
            self.outcomes.append("ok" if "pong" in last_output else "told")
            self._is_called = False
            self._next += 1
        while self._next < len(self.steps):
            wanted, arguments = self.steps[self._next]
            found = next((one for one in offered if wanted in one.description or wanted == one.name), None)
            if found is not None:
                self._is_called = True
                return found.name, json.dumps(arguments)
            self.outcomes.append("absent")
            self.outputs.append("")
            self._next += 1
        return None


@dataclass(frozen=True)
class Target:
    """Where a server is, and how a client is to treat it."""

    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    timeout: float = PATIENCE
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    trusted: bool = False
    approval: bool = False


class Contestant(Protocol):
    """An SDK: an agent with a plain tool `plain`, which says `pong`, and one server."""

    def server(self, target: Target) -> Any:
        """A server, not opened."""
        ...

    async def run(self, server: Any, script: Script) -> None:
        """Runs the agent on the script; opens the server first where it has to. Calls that wait for a person are approved."""
        ...

    async def close(self, server: Any) -> None: ...


@dataclass(frozen=True)
class Row:
    """A server, and what must come of runs with it: one word a run, for what the call of the server's tool comes to.

    `ok`: its answer; `told`: the model is told that there is none; `absent`: it is not offered, and the model is told so.
    Always: each run ends with its answer, the plain tool works, no call is repeated, nothing is left.
    """

    case: str
    runs: tuple[str, ...] = ("ok", "ok")
    over: tuple[tuple[str, str], ...] = ((STDIO, HANDSHAKE), (STDIO, MODERN))
    wanted: tuple[str, ...] = ("ping",)
    """What is called in each run, by description."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    check: Callable[[Seen], None] | None = None
    calls: int | None = None
    """How many calls must have reached the server; None: at most one for each that the model made."""
    rounds: int = 1
    """How often a call may be made in all: again each time that the server has asked for more."""
    quiet: bool = False
    """The server is well: there is nothing to be told where its tool is absent."""
    target: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Seen:
    """What was seen of a row."""

    scripts: list[Script]
    journal: list[str]
    left: list[str]
    closing: float
    """Seconds that closing took."""
    longest: float
    """Seconds of the longest run, by the loop's clock: also those that it jumped over."""
    url: str = ""

    def lines(self, word: str) -> list[str]:
        """The journal's lines that begin with a word, without it."""
        return [line.partition(" ")[2] for line in self.journal if line.partition(" ")[0] == word]


async def play(contestant: Contestant, row: Row, over: str, era: str) -> Seen:
    """Runs a row."""
    with tempfile.TemporaryDirectory() as folder:
        journal = os.path.join(folder, "journal")
        front: HttpFront | None = None
        target: dict[str, Any] = dict(row.target)
        if over == HTTP:
            given = HTTP_CASES.get(row.case)
            front = (given or class_of(CASES[row.case]))(era, journal)
            target = {"url": await front.start() + target.pop("path", ""), **target}
            front.location = await _another(front)
        else:
            target |= {"command": sys.executable, "args": ("-S", "-E", PROGRAM, row.case, era, journal)}
        try:
            with jumps_in_silence(journal + ".silence"):
                return await _played(contestant, row, Target(**target), journal)
        finally:
            if front is not None:
                await front.stop()


async def _another(front: HttpFront) -> str:
    """A server at another origin, which writes what it gets to the same journal."""
    other = HttpFront(front.era, front.journal)
    url = await other.start()
    other.inner.note(f"other {url}")
    plain, stop = other.respond, front.stop

    async def respond(request: Any, out: asyncio.StreamWriter) -> None:
        other.inner.note(f"elsewhere {json.dumps(request.headers)}")
        await plain(request, out)

    async def stopped() -> None:
        await other.stop()
        await stop()

    other.respond, front.stop = respond, stopped  # type: ignore[method-assign]
    return other.origin


async def _played(contestant: Contestant, row: Row, target: Target, journal: str) -> Seen:
    tasks, files = asyncio.all_tasks(), len(os.listdir("/proc/self/fd"))
    server = contestant.server(target)
    loop = asyncio.get_running_loop()
    scripts: list[Script] = []
    longest = 0.0
    for _ in row.runs:
        script = Script([*[(wanted, row.arguments) for wanted in row.wanted], ("plain", {})])
        scripts.append(script)
        began = loop.time()
        try:
            await contestant.run(server, script)
        except Exception as error:
            chain = f" from {error.__cause__!r}" if error.__cause__ else ""
            script.error = f"{type(error).__name__}: {str(error)[:300]}{chain[:300]}"
            script.is_group = isinstance(error, BaseExceptionGroup)
        longest = max(longest, loop.time() - began)
        await asyncio.to_thread(alive, _lines(journal), ("leaves",))  # a server that is leaving is not there in the next run
    began = loop.time()
    try:
        await contestant.close(server)
    except Exception as error:
        scripts[-1].error += f" in closing: {type(error).__name__}: {str(error)[:300]}"
    closing = loop.time() - began
    lines = _lines(journal)
    left = [f"process {pid}" for pid in await asyncio.to_thread(alive, lines)]
    for _ in range(5):  # a cancelled task ends in a moment of the loop
        await asyncio.sleep(0)
    left += [f"task {task.get_name()}" for task in asyncio.all_tasks() - tasks if task.get_name() != HANDLER]
    if (more := len(os.listdir("/proc/self/fd")) - files) > 0 and not target.url:
        left.append(f"{more} open files")
    return Seen(scripts, lines, left, closing, longest, target.url)


def _lines(journal: str) -> list[str]:
    return Path(journal).read_text().splitlines() if os.path.exists(journal) else []


def alive(journal: Sequence[str], words: Sequence[str] = ("start", "pid")) -> list[int]:
    """The processes that a journal tells of in these words and that do not end within twenty seconds; they are ended then."""
    deadline, alive = time.monotonic() + 20, []
    for line in journal:
        word, _, pid = line.partition(" ")
        if word not in words:
            continue
        try:
            handle = os.pidfd_open(int(pid))
        except ProcessLookupError:
            continue
        try:
            if not select.select([handle], [], [], max(0, deadline - time.monotonic()))[0]:
                alive.append(int(pid))
                os.kill(int(pid), 9)
        finally:
            os.close(handle)
    return alive


def judge(row: Row, seen: Seen, *, is_told: bool = True) -> None:
    """Raises AssertionError where what was seen is not what must be.

    `is_told`: of a server that is down the model has to be told.
    """
    for number, (script, expected) in enumerate(zip(seen.scripts, row.runs, strict=True), 1):
        where = f"run {number}"
        assert not script.error, f"{where} ended with {script.error}"
        assert script.outcomes[-1] == "ok", f"{where}: the plain tool did not work"
        for outcome, output in zip(script.outcomes[:-1], script.outputs, strict=False):
            assert outcome in expected.split("|"), f"{where}: expected {expected}, got {outcome}: {output[:300]!r}"
        if is_told and "absent" in script.outcomes and not row.quiet:
            assert any(NAME in text for text in script.instructions), f"{where}: the model was not told that the server is down"
        for turn in script.offered:
            _judge_offered(where, turn)
    called = sum(outcome != "absent" for script in seen.scripts for outcome in script.outcomes[:-1])
    reached = len(seen.lines("call"))
    if row.calls is not None:
        assert reached == row.calls, f"{reached} calls reached the server, expected {row.calls}"
    else:
        assert reached <= called * row.rounds, f"{reached} calls reached the server, {called} were made"
    assert not seen.left, f"left behind: {seen.left}"
    assert seen.closing <= 5, f"closing took {seen.closing:.1f} s"
    if row.check is not None:
        row.check(seen)


_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def _judge_offered(where: str, offered: Sequence[Offered]) -> None:
    names = [one.name for one in offered]
    assert len(set(names)) == len(names), f"{where}: two tools of one name are offered"
    for one in offered:
        assert 0 < len(one.name) <= 64 and set(one.name) <= _ALLOWED, f"{where}: no provider takes the name {one.name[:80]!r}"
        assert one.schema.get("type") == "object", f"{where}: no provider takes the schema {str(one.schema)[:80]}"
