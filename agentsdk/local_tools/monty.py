"""`MontyInterpreter`: runs programs in `pydantic-monty`, a Python in a process of its own that reaches nothing but its calls.

Each step has a worker of its own, which takes a few milliseconds, and none is held while the program's calls run: so a step
that another process takes is the same as any other. The package's sync API is used, on threads: its async one aborts now and
then when the process ends (1.4.0).
"""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import threading
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, cast

import msgspec

from agentsdk.core.overflow import output_text
from agentsdk.define.threads import run_in_thread, wait_bounded
from agentsdk.define.tool_output import to_output
from agentsdk.ports.interpreter import ProgramFunction, ProgramStep
from agentsdk.sandboxes.output import HeadTail
from agentsdk.types.errors import StateCorruptError, StateMismatchError, ToolError
from agentsdk.types.items import FunctionCall, FunctionCallOutput

if TYPE_CHECKING:
    from pydantic_monty import (
        ExternalResult,
        ExternalSettledResult,
        FunctionSnapshot,
        FutureSnapshot,
        MontyComplete,
        MontySession,
        SyncSnapshot,
    )

PACKAGE = "pydantic-monty"

_MAX_PRINTED = 200_000
"""Bytes of what one step prints that are kept."""

_GRACE = 2.0
"""Seconds after which a worker that does not keep its limits is killed; and that one has to end when it is killed."""

_NOTHING = "(nothing was printed)"
_COROUTINE = "<coroutine object "
_NO_CALLS: Mapping[str, str] = {}

_Print = Callable[[Literal["stdout", "stderr"], str], None]
_Start = Callable[["MontySession", _Print], "SyncSnapshot"]


_ABOUT = """\
Run a Python program that calls the functions below. One program that loops, filters and adds up takes the place of many calls.
Only what it prints and the value of its last line come back: print what you need, no more.
Await each call; await asyncio.gather(f(1), f(2)) runs calls side by side. A call that fails raises RuntimeError.
No files, network, packages, yield or gather(return_exceptions=...). asyncio, json, re, math, datetime are there."""


class ProgramLimits(msgspec.Struct, frozen=True):
    """What a program may take: `seconds` from one call to the next, `memory` in bytes, `calls` in all, and characters of a
    snapshot."""

    seconds: float
    memory: int
    calls: int
    snapshot: int


class _Snapshot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A snapshot as it is recorded: who wrote it, the interpreter's bytes, and the functions of the calls that it waits for."""

    by: str
    dump: str = ""
    calls: dict[str, str] = {}


class MontyInterpreter:
    """An `Interpreter`: programs are run by the package `pydantic-monty`."""

    about = _ABOUT

    def __init__(self, limits: ProgramLimits) -> None:
        self._limits = limits

    async def begin(self, code: str, functions: Mapping[str, ProgramFunction]) -> ProgramStep:
        """Run a program up to its first calls. Raises `ToolError` where no worker can be started."""
        return await self._run(functions, lambda session, show: session.feed_start(code, print_callback=show))

    async def go_on(
        self, snapshot: str, results: Sequence[FunctionCallOutput], functions: Mapping[str, ProgramFunction]
    ) -> ProgramStep:
        """Run a program on from the snapshot of a step, with the result of each of its calls.

        Raises `StateMismatchError` for a snapshot of another version, `StateCorruptError` for a damaged one, and `ToolError` as
        `begin` does.
        """
        saved, dump = _read(snapshot)
        called = {one.call_id: functions.get(saved.calls.get(one.call_id, "")) for one in results}
        answers = {_number(one.call_id): _answer(one, called[one.call_id]) for one in results}

        def start(session: MontySession, show: _Print) -> SyncSnapshot:
            from pydantic_monty import FutureSnapshot, MontyRuntimeError

            try:
                waiting = session.load_snapshot(dump, print_callback=show)
            except (MontyRuntimeError, RuntimeError) as error:
                raise _corrupt() from error
            if not isinstance(waiting, FutureSnapshot):
                raise _corrupt()
            return waiting.resume(answers)

        return await self._run(functions, start)

    async def _run(self, functions: Mapping[str, ProgramFunction], start: _Start) -> ProgramStep:
        """Take a step on a thread. A cancelled one ends at once: its worker is killed, and nothing of it is known outside."""
        worker = _Worker()
        taken = asyncio.ensure_future(run_in_thread("program", partial(_taken, functions, self._limits, start, worker)))
        try:
            return cast(ProgramStep, await asyncio.shield(taken))
        except asyncio.CancelledError:
            worker.kill()
            await wait_bounded(taken, _GRACE)
            if not taken.cancel() and not taken.cancelled():
                taken.exception()  # of the worker that was killed
            raise


class _Worker:
    """The process that takes a step, to be killed from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid: int | None = None
        self.is_killed = False

    @contextmanager
    def running(self, pid: int | None) -> Generator[None]:
        """The process lives during the `with`. Raises `ToolError` where it has been killed before."""
        with self._lock:
            if self.is_killed:
                raise ToolError("the program was cancelled before it began; run it again")
            self._pid = pid
        try:
            yield
        finally:
            with self._lock:
                self._pid = None

    def kill(self) -> None:
        """End it, also one that has yet to begin."""
        with self._lock:
            self.is_killed = True
            if self._pid is not None:
                os.kill(self._pid, signal.SIGTERM)


def _taken(functions: Mapping[str, ProgramFunction], limits: ProgramLimits, start: _Start, worker: _Worker) -> ProgramStep:
    """A step, on a thread. One whose worker died is taken again, once: nothing of it is known outside."""
    from pydantic_monty import MontyCrashedError, MontyError

    try:
        try:
            return _Step(functions, limits).take(start, worker)
        except MontyCrashedError as error:
            if error.timed_out or worker.is_killed:
                return _stopped(error)
        try:
            return _Step(functions, limits).take(start, worker)
        except MontyCrashedError as error:
            return _stopped(error)
    except (MontyError, OSError, RuntimeError) as error:
        raise ToolError(f"the program could not be run: {error}; see that a worker of {PACKAGE} can be started") from error


def _stopped(error: Exception) -> ProgramStep:
    return ProgramStep(_written(), text=f"The program was stopped: {error}", is_error=True)


class _Step:
    """One step of a program."""

    def __init__(self, functions: Mapping[str, ProgramFunction], limits: ProgramLimits) -> None:
        self._functions = functions
        self._limits = limits
        self._printed = HeadTail(_MAX_PRINTED)
        self._asked: dict[int, tuple[str, FunctionCall]] = {}
        """The calls since the step before, and the names by which the program made them."""

    def take(self, start: _Start, worker: _Worker) -> ProgramStep:
        """Run the program on. Blocks; raises as `MontyInterpreter.go_on` does, and what the package raises of its workers."""
        from pydantic_monty import FutureSnapshot, Monty, MontyRuntimeError, MontySyntaxError

        limits = self._limits
        with (
            Monty(min_processes=1, max_processes=1, turn_duration_limit_grace=_GRACE) as pool,
            pool.checkout(
                script_name="program.py",
                limits={"max_turn_duration_secs": limits.seconds, "max_memory": limits.memory},
                os_policy={"sleep": "zero"},
            ) as session,
            worker.running(session.worker_pid),
        ):
            try:
                snapshot = self._driven(start(session, self._show))
                if isinstance(snapshot, FutureSnapshot):
                    return self._pause(snapshot.pending_call_ids, snapshot.dump())
                return self._end(snapshot.output)
            except (MontyRuntimeError, MontySyntaxError) as error:
                return self._fail(error.display().replace("<python-input-0>", "program.py"))

    def _driven(self, snapshot: SyncSnapshot) -> FutureSnapshot | MontyComplete:
        """Answer what the program asks for, up to where it waits for its calls or is over."""
        from pydantic_monty import FunctionSnapshot, NameLookupSnapshot

        while isinstance(snapshot, FunctionSnapshot | NameLookupSnapshot):
            if isinstance(snapshot, NameLookupSnapshot):
                name = snapshot.variable_name
                snapshot = snapshot.resume(value=_function(name)) if name in self._functions else snapshot.resume()
            elif snapshot.is_os_function:
                snapshot = snapshot.resume_not_handled()
            else:
                snapshot = snapshot.resume(self._called(snapshot))
        return snapshot

    def _called(self, snapshot: FunctionSnapshot) -> ExternalResult:
        """What a call gives the program at once: something to await, or what is wrong with it."""
        name, number = snapshot.function_name, snapshot.call_id
        function = self._functions.get(name)
        if function is None:
            return {"exc_type": "NameError", "message": f"name {name!r} is not defined"}
        if number >= self._limits.calls:
            return {"exc_type": "RuntimeError", "message": f"a program may make {self._limits.calls} calls"}
        try:
            arguments = function.arguments(snapshot.args, snapshot.kwargs)
        except TypeError as error:
            return {"exc_type": "TypeError", "message": str(error)}
        self._asked[number] = (name, FunctionCall(f"call_{number + 1}", function.tool, arguments))
        return {"future": ...}

    def _show(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        self._printed.feed(text.encode("utf-8", "replace"))

    def _pause(self, numbers: Sequence[int], dump: bytes) -> ProgramStep:
        """The program waits for its calls, in the order in which it made them."""
        asked = [self._asked[number] for number in sorted(numbers)]
        encoded = base64.b64encode(zlib.compress(dump, 1)).decode()
        if len(encoded) > self._limits.snapshot:
            size = f"{len(encoded)} characters, at most {self._limits.snapshot}"
            return self._fail(f"MemoryError: what the program holds at this call takes {size}; hold less, or call before")
        calls = {call.call_id: name for name, call in asked}
        return ProgramStep(_written(encoded, calls), tuple([call for _, call in asked]), self._printed.text())

    def _end(self, value: object) -> ProgramStep:
        if self._asked:
            name = next(iter(self._asked.values()))[0]
            return self._fail(f"RuntimeError: {name}() was called without await, so it did not run; write await {name}(...)")
        if isinstance(value, str) and value.startswith(_COROUTINE):  # which is all that is known of one here
            return self._fail(f"RuntimeError: the program ends with {value}, which did not run; write await before the call")
        printed = self._printed.text()
        if value is None:
            return ProgramStep(_written(), text=printed or _NOTHING)
        shown = output_text(to_output(value))
        return ProgramStep(_written(), text=f"{printed}{shown}")

    def _fail(self, error: str) -> ProgramStep:
        return ProgramStep(_written(), text=f"{self._printed.text()}{error}", is_error=True)


def _written(dump: str = "", calls: Mapping[str, str] = _NO_CALLS) -> str:
    return msgspec.json.encode(_Snapshot(_package(), dump, dict(calls))).decode()


def _read(snapshot: str) -> tuple[_Snapshot, bytes]:
    try:
        saved = msgspec.json.decode(snapshot, type=_Snapshot)
        dump = zlib.decompress(base64.b64decode(saved.dump, validate=True))
    except (msgspec.DecodeError, ValueError, zlib.error) as error:
        raise _corrupt() from error
    if saved.by != _package():
        raise StateMismatchError(
            f"a program of this run stands in a snapshot of {saved.by}, expected one of {_package()}; none of its calls "
            "is repeated: go on with the version that wrote it"
        )
    return saved, dump


def _corrupt() -> StateCorruptError:
    return StateCorruptError(
        "the snapshot of a program of this run cannot be read, expected it as it was recorded; no call of it is repeated: "
        "restore the run from a backup"
    )


def _answer(result: FunctionCallOutput, function: ProgramFunction | None) -> ExternalSettledResult:
    text = output_text(result.output)
    if result.is_error:
        return {"exc_type": "RuntimeError", "message": text}
    return {"return_value": text if function is None else function.result(text)}


def _number(call_id: str) -> int:
    return int(call_id.removeprefix("call_")) - 1


def _function(name: str) -> Callable[[], None]:
    """What stands for a function that the program does not call but hands on."""

    def stand_in() -> None: ...

    stand_in.__name__ = stand_in.__qualname__ = name
    return stand_in


@cache
def _package() -> str:
    return f"{PACKAGE} {version(PACKAGE)}"
