"""`Results`: the order in which a program gets the results of its steps: that in which they were recorded.

It gets them one at a time, each only when it has come to rest. So what a program does follows from that order alone: when it is
run again over its record, the same task wins the same race.
"""

from __future__ import annotations

import asyncio
from collections import deque

from agentsdk.core.state import State
from agentsdk.types.events import InputReplaced, StepBegan, ToolFinished
from agentsdk.workflow.rest import Rest, is_idle


class Results:
    """The recorded results of a program's steps that it has not had yet.

    `begun` are the steps that have begun, by their keys. `results` are those that are due, by the keys of their steps.
    """

    def __init__(self) -> None:
        self.begun: dict[str, StepBegan] = {}
        self.results: dict[str, ToolFinished] = {}
        self._read = 0
        self._due: deque[str] = deque()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._dropped: set[str] = set()
        self._caught_up: list[asyncio.Future[None]] = []
        self._rest = Rest(self._at_rest)

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
        return self._due[0] == key and not self._rest.is_coming and is_idle(asyncio.get_running_loop())

    def wait_for(self, key: str) -> asyncio.Future[None]:
        """What is done once it may."""
        future = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._go_on()
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
        if self._due:
            next_one = self._waiting.get(self._due[0])
            waiting = [] if next_one is None else [next_one]
        else:
            waiting, self._caught_up = self._caught_up, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
