"""`RunningProgram`: the program of a workflow in motion, from its start, over what is recorded of it.

A call takes these steps. It is found in the record, which must agree. If it has a result there, that is what it gives. If not,
it waits until the program has had all recorded results, is recorded, and its body runs; its result is recorded, and then given.

What goes wrong here, and not in a body, never reaches the program's own code: it ends the run. So does a wait for a person:
once nothing of the program can go on, its tasks are cancelled, and the next process runs it again from its start.

One module, as the calls, what they wait for, and when all of them rest are one state machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Literal

from agentsdk.core.next_step import pending_calls
from agentsdk.core.state import OpenTurn
from agentsdk.core.steps import CANCEL
from agentsdk.engine.concurrency import end_tasks
from agentsdk.engine.run import Run
from agentsdk.engine.signals import take_signals
from agentsdk.ports.clock import sleep
from agentsdk.types.errors import StateMismatchError, StepFailedError, UserError
from agentsdk.types.events import CallsInDoubt, ProgramWaits, RunEvent, ToolsIntended
from agentsdk.workflow.call import REHEARSAL, Call, failure, failure_of
from agentsdk.workflow.changed import called_otherwise, not_called
from agentsdk.workflow.rest import Rest
from agentsdk.workflow.results import Results
from agentsdk.workflow.scope import PLACE, Scope
from agentsdk.workflow.timeouts import Timeouts

_PATIENCE = 1.0
"""Seconds up to which a stored run waits for a time by itself; for longer it is left, to be taken up then."""

CANCELLED = "CancelledError"

Ending = Literal["", "over", "waits", "cancelled", "failed"]


class RunningProgram:
    """The program of one run in motion. `news` counts how often something was decided while it ran.

    `tasks` are those of the program, as far as they have made a call, and whether they have waited since they began: before, an
    eager one runs within the task that begins it, which has more to do. `undoable` are the finished steps that can be undone,
    with their results, in the order in which these were recorded. `is_closing`: what calls a step now is cancelled.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.loop = asyncio.get_running_loop()
        self.news = 0
        self._root = run.root
        self.tasks: dict[asyncio.Task[Any], bool] = {}
        self.undoable: list[tuple[Call, Any]] = []
        self.is_closing = False
        self._failure: BaseException | None = None
        self._ending: Ending = ""
        self._over: asyncio.Future[None] | None = None
        self._open = 0
        self._blocked: set[asyncio.Future[None]] = set()
        self._left = 0
        self._activity = 0
        self._seen = 0
        self._rest = Rest(self._look)
        self._waiting: list[asyncio.Future[None]] = []
        self._timers: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._taking: asyncio.Task[None] | None = None
        self._rehearsal = REHEARSAL.get()
        self.timeouts = Timeouts(self.fail)
        self.results = Results()
        self.results.read(run.state)

    # What the steps of the program call.

    async def perform(self, call: Call) -> Any:
        """The value of a step's result. Raises `StepFailedError` where it has failed for good."""
        task = asyncio.current_task(self.loop)
        assert task is not None, "steps are awaited in tasks"
        self.adopt(task)
        if self.is_closing:
            await asyncio.sleep(0)  # a program that will not end does not keep the others from going on
            raise asyncio.CancelledError
        self._open += 1
        self._activity += 1
        try:
            self._find(call)
            if call.key not in self.results.results:
                await self._come_to_result(call)
            if self._over is None:
                raise asyncio.CancelledError  # it was left behind
            if not (self.tasks.get(task) and self.results.may_take(call.key)):
                await self._block(self.results.wait_for(call.key))
                self.tasks[task] = True
            result = self.results.take(call.key)
            value = None if result.is_error else self._value(call, result)
        except asyncio.CancelledError:
            if not self.is_closing:
                self.run.deps.grace.reset()  # what it was at may have taken its own cancellation for the run's
                await self._give_up(call)
            raise
        except Exception as error:
            self.fail(error)
            if self._over is None:
                raise asyncio.CancelledError from None  # the program is cancelled already
            return await asyncio.get_running_loop().create_future()  # until it is cancelled
        finally:
            self._open -= 1
            self._activity += 1
            self._may_rest()
        if result.is_error:
            failed = failure_of(result)
            raise StepFailedError(
                f"step {call.key!r} failed with {failed.error}, expected a result; catch StepFailedError where the program "
                "can go on without it",
                step=call.key,
                error_type=failed.error,
                detail=failed.detail,
            )
        return value

    async def record(self, *events: RunEvent) -> None:
        """Make `events` the run's next ones. A cancellation waits until they are."""
        try:
            await self.run.record(*events)
        finally:
            self.results.read(self.run.state)

    def wake_at(self, key: str, at: float) -> None:
        """Look again at a call that waits once it is `at`, a Unix timestamp, if this process still has the run then."""
        if key in self._timers:
            return

        async def wait() -> None:
            clock, seconds = self.run.deps.config.clock, max(0.0, at - self.run.deps.now())
            await (asyncio.sleep(seconds) if clock is None else sleep(clock, seconds))

        timer = asyncio.create_task(wait(), name="agentsdk timer")
        self._timers[key] = at, timer
        timer.add_done_callback(partial(self._woken, key))

    def adopt(self, task: asyncio.Task[Any] | None) -> None:
        """Take a task for one of the program's: it ends with that."""
        if task is not None and task not in self.tasks:
            self.tasks[task] = False
            task.add_done_callback(lambda done: self.tasks.pop(done, None))

    def fail(self, error: BaseException) -> None:
        """End the run with `error`."""
        if self._failure is None:
            self._failure = error
            self._end("failed")

    # What the run does with it.

    async def play(self, main: Callable[[], Coroutine[object, object, Any]], path: str = "") -> asyncio.Task[Any] | None:
        """Run a part of the program, whose keys begin with `path`, to its end: its task, which is done. None where it waits.

        Raises what ended the run. Calls that are at work when the part fails come to their results first.
        """

        async def begin() -> Any:
            PLACE.set(Scope(self, path, asyncio.current_task()))
            return await main()

        self.is_closing, self._ending = False, ""
        self._over = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(begin(), name="agentsdk program")
        self.adopt(task)
        task.add_done_callback(self._ended)
        closed: asyncio.CancelledError | None = None
        try:
            await self._over
            if self._ends("over"):
                await asyncio.sleep(0)  # a task that it has begun just now is begun
                self._left = self._open
        except asyncio.CancelledError:
            self.run.deps.grace.begin()
            raise
        finally:
            self.is_closing = True
            closed = await self._close()
        if closed is not None:
            raise closed
        if self._failure is not None:
            raise self._failure
        return task if self._ends("over") else None

    def require_complete(self) -> None:
        """Raises where the program has ended, and not all that it began, or that is recorded, has."""
        if self._left:
            raise UserError(
                f"workflow {self.run.agent.name!r} ended while {self._left} of its steps were at work, expected each to be "
                "awaited; await the tasks that it begins, and resume"
            )
        if self.results.are_due:
            raise not_called(self.run.agent.name, self.results.next)

    def _ends(self, ending: Ending) -> bool:
        return self._ending == ending

    async def rest(self) -> None:
        """Record what the program waits for, unless it was only kept from going on."""
        turn = self.run.state.turn
        if turn is not None and turn.program is not None and not self._is_held():
            await self.run.record(ProgramWaits(len(pending_calls(self.run.state))))

    # A call, step by step.

    def _find(self, call: Call) -> None:
        """Find a call in the record. Raises `WorkflowChangedError` where another one stands in its place."""
        recorded = self.results.begun.get(call.key)
        if recorded is None:
            return
        if why := call.differs_from(recorded):
            raise called_otherwise(self.run.agent.name, call.key, why)

    async def _come_to_result(self, call: Call) -> None:
        """Have the result of a call recorded."""
        key, results, rehearsal, is_begun = call.key, self.results, self._rehearsal, False
        if results.are_due:
            await self._wait_for_all()
        while key not in results.results:
            if self.run.parent is None and self.run.has_signals:
                await self._take_signals()
                continue
            news = self.news
            if not self._is_held():
                if key not in results.begun and rehearsal is None and (refused := await call.refusal(self)) is not None:
                    await self.record(call.began(self.run.deps.stamp()), refused)
                    return
                is_begun = await self._begin(call) or is_begun
                turn = self._turn()
                if key not in turn.in_doubt and (is_begun or call.effect != "once"):
                    result = await (call.come_to_result(self) if rehearsal is None else rehearsal(self, call))
                    if result is not None:
                        await self.record(result)
                        return
                    is_begun = call.effect != "once"
                elif key not in turn.in_doubt:
                    await self.record(CallsInDoubt((key,)))
            if news == self.news and key not in results.results:
                await self._block(self._next_news())

    async def _wait_for_all(self) -> None:
        """Wait until the program has had all results: of many calls one after another, as each may have a result at once."""
        results, again = self.results, False
        try:
            while results.are_due:
                await self._block(results.wait_for_all(again=again))
                again = True
        finally:
            results.wake_next()

    async def _begin(self, call: Call) -> bool:
        """Record that a step begins; False where it had begun before."""
        run = self.run
        if call.key not in self.results.begun:
            await self.record(call.began(run.deps.stamp()))
        elif (program := self._turn().program) is not None and call.key in program.retried:
            await self.record(ToolsIntended((call.key,), run.deps.stamp()))
        else:
            return False
        recorder = self._root.recorder
        if recorder is not None:
            await recorder.before_calls(have_effect=call.effect != "none")
        return True

    def _value(self, call: Call, result: Any) -> object:
        try:
            value = call.read(result)
        except ValueError as error:
            raise StateMismatchError(
                f"the recorded result of step {call.key!r} does not fit what the step returns now, expected the type that it "
                "was recorded as; give the step its type again, or fork the run before that result"
            ) from error
        if call.undo is not None:
            self.undoable.append((call, value))
        return value

    async def _give_up(self, call: Call) -> None:
        """The program has cancelled the call: that is its result, where it has none."""
        results, key = self.results, call.key
        if key in self._timers:
            self._timers[key][1].cancel()  # the run may be left without it
        if key in results.begun and key not in results.results:
            try:
                await self.record(failure(key, CANCELLED, at=self.run.deps.stamp()))
            except Exception as error:
                self.fail(error)
        result = results.results.get(key)
        if result is not None:
            if not result.is_error:
                self._value(call, result)
            results.drop(key)

    def _turn(self) -> OpenTurn:
        turn = self.run.state.turn
        assert turn is not None, "a step that has begun is of an open turn"
        return turn

    def _is_held(self) -> bool:
        """Whether nothing new is to begin: the run is paused, or to stop."""
        return self._root.stop_requested or self._root.state.paused is not None

    async def _take_signals(self) -> None:
        """Take what waits in the mailbox, once for all calls that come here meanwhile."""
        taking = self._taking
        if taking is None:
            taking = self._taking = asyncio.create_task(take_signals(self.run), name="agentsdk signals of a program")
        try:
            await asyncio.wait({taking})
            if self._taking is taking:
                self._taking = None
            taking.result()
        finally:
            self.results.read(self.run.state)
            self._tell()
            if self.results.is_cut:
                self._end("cancelled")

    # Waiting, and coming to rest.

    async def _block(self, future: asyncio.Future[None]) -> None:
        """Wait for what only other calls, or somebody else, can bring."""
        self._blocked.add(future)
        self._may_rest()
        try:
            await future
        finally:
            self._blocked.discard(future)
            self._activity += 1

    def _next_news(self) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def _tell(self) -> None:
        """Something was decided, or it is later: who waits looks again."""
        self.news += 1
        self._activity += 1
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _woken(self, key: str, timer: asyncio.Task[None]) -> None:
        del self._timers[key]
        error = None if timer.cancelled() else timer.exception()
        if error is not None:
            self.fail(error)
        self._tell()

    def _may_rest(self) -> None:
        """Look whether the program comes to rest, now that all its calls wait."""
        if len(self._blocked) >= self._open and (self._blocked or self._ending) and not self._rest.is_coming:
            self._seen = self._activity + self.results.woken
            self._rest.begin()

    def _look(self) -> None:
        if len(self._blocked) < self._open or self._over is None or self._over.done():
            return
        if self.results.is_coming or self._seen != self._activity + self.results.woken:
            self._may_rest()
        else:
            self._at_rest()

    def _at_rest(self) -> None:
        run = self.run
        if self._ending == "over":
            self._finish()
        elif self.results.are_due:
            if self.results.next == CANCEL:
                self._end("cancelled")
            else:
                self.fail(not_called(run.agent.name, self.results.next))
        elif run.parent is None and run.has_signals:
            self._tell()
        elif not any(self._waits_here(at) for at, _ in self._timers.values()):
            self._end("waits")

    def _waits_here(self, at: float) -> bool:
        """Whether the process waits until then, and does not leave the run to whoever takes it up."""
        deps = self.run.deps
        return deps.config.store is None or at - deps.now() <= _PATIENCE

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """The part's own task is done. Where it failed, calls that are at work come to their results first."""
        if self._ending:
            return
        self._ending = "over"
        if self._open and not task.cancelled() and task.exception() is not None:
            self.is_closing = True
            self._may_rest()
        else:
            self._finish()

    def _end(self, ending: Ending) -> None:
        self._ending = ending
        self._finish()

    def _finish(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    async def _close(self) -> asyncio.CancelledError | None:
        """End all tasks of the program; the cancellation that reached the run meanwhile, if any."""
        self._over = None
        self._rest.stop()
        self.results.close()
        self.timeouts.close()
        timers = [timer for _, timer in self._timers.values()]
        taking, tasks, self.tasks = [] if self._taking is None else [self._taking], self.tasks, {}
        why = self._failure or asyncio.CancelledError()
        return await end_tasks([*tasks, *timers, *taking], self.run.deps.grace, why)
