"""The outbox of spans: ends them on a thread of its own.

Ending a span may run a user's exporter, which may block, hang or raise, and on the event loop that would stop every run. So
spans are ended, in order, on one daemon thread. It lives only while somebody may have work for it, its queue is bounded, and
nobody waits for it longer than a stated time, the end of the process included.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable

from msgspec import Struct

logger = logging.getLogger("agentsdk.tracing")


class _Mark(Struct, frozen=True):
    """A mark between jobs: `reached` is called, and does not wait, once those before it are done."""

    reached: Callable[[], object]


class Outbox:
    """Work done in order on a daemon thread. Nothing here raises, and nobody waits for longer than a stated time.

    The thread is there while there is something to do, or somebody to do it for: between `begin` and `finish`. More than
    `limit` waiting jobs mean that an exporter hangs: further ones are dropped. The first trouble is logged, once.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._warned = False
        self._users = 0
        self._thread: threading.Thread | None
        self._last: threading.Thread | None
        self._reset()
        atexit.register(_drain_at_exit, weakref.ref(self))

    def begin(self) -> None:
        """Somebody will have work to do, until `finish`."""
        self._of_this_process()
        with self._changed:
            self._users += 1

    def finish(self) -> None:
        """Who began is through. The last one ends the thread, once it has done its work."""
        self._of_this_process()
        with self._changed:
            self._users = max(0, self._users - 1)  # a fork forgets who began
            self._changed.notify()

    def put(self, job: Callable[[], object]) -> None:
        """Have `job` done soon."""
        self._of_this_process()
        if len(self._jobs) >= self._limit:
            self.warn("spans are dropped: an exporter hangs; export in batches, with a time limit")
            return
        with self._changed:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = self._last = threading.Thread(target=self._serve, name="agentsdk tracing", daemon=True)
                self._thread.start()
            else:
                self._changed.notify()

    def call_when_done(self, reached: Callable[[], object]) -> None:
        """Have `reached`, which must not wait, called once all that was put before is done: on the thread, or here at once."""
        self._of_this_process()
        with self._changed:
            if self._thread is None:
                reached()
            else:
                self._jobs.append(_Mark(reached))
                self._changed.notify()

    def drain(self, seconds: float) -> bool:
        """Wait until all that was put before is done, for at most `seconds`. Whether it is."""
        done = threading.Event()
        self.call_when_done(done.set)
        if not done.wait(seconds):
            return False
        self.retire()
        return True

    def retire(self) -> None:
        """See the thread out, where nobody needs it any more. Never waits for a job."""
        with self._changed:
            if self._users or self._jobs or self._is_busy:
                return
            self._thread = None
            self._changed.notify()
        if self._last is not None and self._last is not threading.current_thread():
            self._last.join()

    def warn(self, message: str) -> None:
        """Log `message`, with the exception at hand, if it is the first."""
        if not self._warned:
            self._warned = True
            logger.warning("%s. Runs are not affected; further trouble of this tracer is not logged.", message, exc_info=True)

    def _of_this_process(self) -> None:
        if self._pid != os.getpid():  # a fork keeps the jobs, which the parent does, and loses the thread
            self._users = 0
            self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._jobs: deque[Callable[[], object] | _Mark] = deque()
        self._thread = self._last = None
        self._is_busy = False

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException:
                self.warn("a span could not be exported")
            del job

    def _next(self) -> Callable[[], object] | None:
        """The next job; None when this thread is to end."""
        me = threading.current_thread()
        with self._changed:
            self._is_busy = False
            while self._thread is me:
                while self._jobs:
                    job = self._jobs.popleft()
                    if not isinstance(job, _Mark):
                        self._is_busy = True
                        return job
                    job.reached()
                if not self._users:
                    self._thread = None
                    break
                self._changed.wait()
        return None


def _drain_at_exit(owner: weakref.ref[Outbox]) -> None:
    if (outbox := owner()) is not None:
        outbox.drain(1.0)
