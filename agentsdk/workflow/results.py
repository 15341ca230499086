"""`Results`: the order in which a program gets the results of its steps: that in which they were recorded.

It gets them one at a time, each only when it has come to rest. So what a program does follows from that order alone: when it is
run again over its record, the same task wins the same race.
"""

from __future__ import annotations

import asyncio
from collections import deque

from agentsdk.core.state import State
from agentsdk.core.steps import CANCEL
from agentsdk.types.events import InputReplaced, StepBegan, ToolFinished
from agentsdk.workflow.rest import Rest, is_idle


class Results:
    """The recorded results of a program's steps that it has not had yet.

    `begun` are the steps that have begun, by their keys. `results` are those that are due, by the keys of their steps.
    `woken` counts the calls that were let go on. `cancelled` says that the run was cancelled, and is to be undone; `is_cut`
    whether that came while the program ran.
    """

    def __init__(self) -> None:
        self.begun: dict[str, StepBegan] = {}
        self.results: dict[str, ToolFinished] = {}
        self.woken = 0
        self.cancelled: StepBegan | None = None
        self.is_cut = False
        self._read = 0
        self._due: deque[str] = deque()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._dropped: set[str] = set()
        self._caught_up: deque[asyncio.Future[None]] = deque()
        self._rest = Rest(self._at_rest)
        self._loop = asyncio.get_running_loop()

    def read(self, state: State) -> None:
        """Take in what was added to the log since."""
        log = state.log
        for event in log.since(self._read):
            kind = type(event)
            if kind is StepBegan:
                assert isinstance(event, StepBegan)
                self.begun[event.call_id] = event
                if event.call_id == CANCEL:
                    self._due.append(CANCEL)
                    self.cancelled, self.is_cut = event, self._read > 0
            elif kind is ToolFinished:
                assert isinstance(event, ToolFinished)
                self.results[event.call_id] = event
                self._due.append(event.call_id)
            elif kind is InputReplaced:
                self.begun, self.results, self._due = {}, {}, deque()
        self._read = len(log)
        self._go_on()

    @property
    def are_due(self) -> bool:
        """Whether there are some that the program has not had."""
        return bool(self._due)

    @property
    def is_coming(self) -> bool:
        """Whether it will have the next one without more ado."""
        return self._rest.is_coming

    @property
    def next(self) -> str:
        """The step whose result is due."""
        return self._due[0]

    def may_take(self, key: str) -> bool:
        """Whether the program, which calls this step just now, may have its result at once: all else of it is at rest."""
        return self._due[0] == key and not self._rest.is_coming and is_idle(self._loop)

    def wait_for(self, key: str) -> asyncio.Future[None]:
        """What is done once it may."""
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._go_on()
        return future

    def wait_for_all(self, *, again: bool) -> asyncio.Future[None]:
        """What is done once the program has had all; who waits `again` is first. One is woken at a time: see `wake_next`."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if again:
            self._caught_up.appendleft(future)
        else:
            self._caught_up.append(future)
        return future

    def forget_cancel(self) -> None:
        """What comes behind the cancel is due now."""
        self._due = deque([key for key in self._due if key != CANCEL])

    def wake_next(self) -> None:
        """Wake the next one that waits for all, unless there are some again. Who was woken does that."""
        waiting = self._caught_up
        while waiting and not self._due and not self._wake(waiting.popleft()):
            pass  # that one was cancelled

    def take(self, key: str) -> ToolFinished:
        """The result of a step, which is the next."""
        self._waiting.pop(key, None)
        self._due.popleft()
        result = self.results.pop(key)
        self._go_on()
        return result

    def drop(self, key: str) -> None:
        """The call was cancelled by the program: it does not get the result."""
        self._waiting.pop(key, None)
        self._dropped.add(key)
        self._go_on()

    def close(self) -> None:
        """Nobody gets any more for now."""
        self._rest.stop()

    def _go_on(self) -> None:
        """Somebody may wait for what is due now: it comes when the program is at rest."""
        due = self._due
        while due and due[0] in self._dropped:
            key = due.popleft()
            self._dropped.discard(key)
            del self.results[key]
        if not self._rest.is_coming and (due[0] in self._waiting if due else self._caught_up):
            self._rest.begin()

    def _at_rest(self) -> None:
        if not self._due:
            self.wake_next()
            return
        future = self._waiting.get(self._due[0])
        if future is not None:
            self._wake(future)

    def _wake(self, future: asyncio.Future[None]) -> bool:
        if future.done():
            return False
        self.woken += 1
        future.set_result(None)
        return True
