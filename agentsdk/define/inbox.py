"""`Inbox`: input for a running run: messages of a user, events of a system, timers."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from itertools import count

from agentsdk.types.declared import SYNC, Fields, is_real, number, shown, whole
from agentsdk.types.errors import CallbackError
from agentsdk.types.items import InputItem, Message, messages_from_input

_FIELDS = Fields("Inbox", clock=SYNC, priority=whole("a whole number"), delay=number("finite seconds, 0 or more", least=0))


class Inbox:
    """Messages that enter a run at its next turn: `RunConfig(inbox=inbox)`, and `inbox.put(...)` from any task or thread.

    A run does not end while a message that is due waits: it takes another turn. What is not due by its end stays. The run's
    input guardrails check a message before it enters. One inbox serves one run at a time. `clock` gives the seconds that delays
    are measured by. Raises `UserError` for what is no clock.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        _FIELDS.check_given(clock=clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._order = count()
        self._ready: list[tuple[int, int, Message]] = []
        self._later: list[tuple[float, int, int, Message]] = []

    def __len__(self) -> int:
        return len(self._ready) + len(self._later)

    def __repr__(self) -> str:
        return f"Inbox({len(self)} waiting)"

    def put(self, message: str | InputItem, *, priority: int = 0, delay: float = 0.0) -> None:
        """Add a message: a user's text, or a `Message` of any role but the assistant's.

        Of those that are due those of the highest `priority` come first, then the earliest. A message is due after `delay`
        seconds: a timer. Raises `UserError` for what is no message, for a negative delay and for a priority that is no int.
        """
        _FIELDS.check_given(priority=priority, delay=delay)
        (given,) = messages_from_input(message if isinstance(message, str) else [message], "an inbox")
        with self._lock:
            number = next(self._order)
            if delay:
                heapq.heappush(self._later, (self._now() + delay, -priority, number, given))
            else:
                heapq.heappush(self._ready, (-priority, number, given))

    def due(self) -> tuple[Message, ...]:
        """What is due now, in the order in which it enters; it stays until it is `taken`."""
        with self._lock:
            self._ripen()
            return tuple(message for _, _, message in sorted(self._ready, key=lambda entry: entry[:2]))

    def taken(self, messages: tuple[Message, ...]) -> None:
        """These have entered the run."""
        gone = set(map(id, messages))
        with self._lock:
            self._ready = [entry for entry in self._ready if id(entry[2]) not in gone]
            heapq.heapify(self._ready)

    def _ripen(self) -> None:
        now = self._now()
        while self._later and self._later[0][0] <= now:
            _, priority, number, message = heapq.heappop(self._later)
            heapq.heappush(self._ready, (priority, number, message))

    def _now(self) -> float:
        try:
            now = self._clock()
        except Exception as error:
            raise CallbackError(f"the clock of an Inbox raised {type(error).__name__}, expected seconds; fix it") from error
        if not is_real(now):
            raise CallbackError(f"the clock of an Inbox gave {shown(now)}, expected seconds; give it time.monotonic, say")
        return now
