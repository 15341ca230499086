"""`Results`: the order in which a program gets the results of its steps: that in which they were recorded.

It gets them one at a time, each only once all the steps have been called that had begun before it came, and once the program
has come to rest after the one before. So a program that is run again over its record sees the same race won by the same task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from agentsdk.core.state import State
from agentsdk.types.events import InputReplaced, StepBegan, ToolFinished

_PACE = 8
"""Passes of the event loop between two results: what a task does with one has reached the tasks that wait for it by then."""


class Results:
    """The recorded results of a program's steps that it has not had yet.

    `begun` are the steps that have begun, by their keys. `is_alone` says whether no other call is
    open than the one that takes a result.
    """

    def __init__(self, is_alone: Callable[[], bool]) -> None:
        self.begun: dict[str, StepBegan] = {}
        self.results: dict[str, ToolFinished] = {}
        self._is_alone = is_alone
        self._read = 0
        self._due: deque[tuple[str, int]] = deque()
        self._called = 0
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._dropped: set[str] = set()
        self._caught_up: list[asyncio.Future[None]] = []
        self._pace: asyncio.Handle | None = None

    def read(self, state: State) -> None:
        """Take in what was added to the log since."""
        log = state.log
        for event in log.since(self._read):
            kind = type(event)
            if kind is StepBegan:
                assert isinstance(event, StepBegan)
                self.begun[event.call_id] = event
            elif kind is ToolFinished:
                assert isinstance(event, ToolFinished)
                self.results[event.call_id] = event
                self._due.append((event.call_id, len(self.begun)))
            elif kind is InputReplaced:
                self.begun, self.results, self._due = {}, {}, deque()
        self._read = len(log)
        self._go_on()

    def called(self) -> None:
        """One more step that has begun is called."""
        self._called += 1
        self._go_on()

    @property
    def are_due(self) -> bool:
        """Whether there are some that the program has not had."""
        return bool(self._due)

    @property
    def is_moving(self) -> bool:
        """Whether it will have the next one without more ado."""
        return self._pace is not None or any(future.done() for future in (*self._waiting.values(), *self._caught_up))

    def is_next(self, key: str) -> bool:
        """Whether the program may have the result of a step now."""
        return self._pace is None and bool(self._due) and self._due[0][0] == key and self._due[0][1] <= self._called

    def wait_for(self, key: str) -> asyncio.Future[None]:
        """What is done once it may."""
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        return future

    def wait_for_all(self) -> asyncio.Future[None]:
        """What is done once the program has had all."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._caught_up.append(future)
        return future

    def take(self, key: str) -> ToolFinished:
        """The result of a step, which is the next."""
        self._waiting.pop(key, None)
        self._due.popleft()
        if self._is_alone():
            self._go_on()
        else:
            self._hop(_PACE)
        return self.results.pop(key)

    def drop(self, key: str) -> None:
        """The call was cancelled by the program: it does not get the result."""
        self._waiting.pop(key, None)
        self._dropped.add(key)
        self._go_on()

    def missing(self) -> str:
        """The recorded step that the program does not call although it is due: the first one, as far as is known."""
        return self._due[0][0]

    def close(self) -> None:
        """Nobody gets any more."""
        if self._pace is not None:
            self._pace.cancel()

    def _hop(self, left: int) -> None:
        if left:
            self._pace = asyncio.get_running_loop().call_soon(self._hop, left - 1)
        else:
            self._pace = None
            self._go_on()

    def _go_on(self) -> None:
        if self._pace is not None:
            return
        due = self._due
        while due and due[0][0] in self._dropped:
            key, _ = due.popleft()
            self._dropped.discard(key)
            del self.results[key]
        if due:
            key, needs = due[0]
            future = self._waiting.get(key)
            if future is not None and not future.done() and needs <= self._called:
                future.set_result(None)
        else:
            waiting, self._caught_up = self._caught_up, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)
