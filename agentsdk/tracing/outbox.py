"""Ends spans on a thread of its own: ending one may run a user's exporter, which may hang or raise."""

from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import weakref
from collections.abc import Callable

logger = logging.getLogger("agentsdk.tracing")


class Outbox:
    """Work done in order on a daemon thread. Nothing here raises, and nobody waits for longer than a stated time.

    More than `limit` waiting jobs mean that an exporter hangs: further ones are dropped. The first trouble is logged, once.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._limit = limit
        self._warned = False
        self._pid = 0
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        atexit.register(_drain_at_exit, weakref.ref(self))

    def put(self, job: Callable[[], object]) -> None:
        """Have `job` done soon."""
        if self._jobs.qsize() >= self._limit:
            self.warn("spans are dropped: an exporter hangs; export in batches, with a time limit")
            return
        if self._pid != os.getpid():  # a fork keeps the queue and loses the thread
            self._start()
        self._jobs.put(job)

    def drain(self, seconds: float) -> bool:
        """Wait until all that was put before is done, for at most `seconds`. Whether it is."""
        if self._pid != os.getpid():
            return True
        done = threading.Event()
        self._jobs.put(done.set)
        return done.wait(seconds)

    def warn(self, message: str) -> None:
        """Log `message`, with the exception at hand, if it is the first."""
        if not self._warned:
            self._warned = True
            logger.warning("%s. Runs are not affected; further trouble of this tracer is not logged.", message, exc_info=True)

    def _start(self) -> None:
        self._pid = os.getpid()
        self._jobs = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(self._jobs, weakref.ref(self)), name="agentsdk tracing", daemon=True).start()
        weakref.finalize(self, self._jobs.put, None).atexit = False


def _serve(jobs: queue.SimpleQueue[Callable[[], object] | None], owner: weakref.ref[Outbox]) -> None:
    while (job := jobs.get()) is not None:
        try:
            job()
        except BaseException:
            if (outbox := owner()) is not None:
                outbox.warn("a span could not be exported")
                del outbox
        del job


def _drain_at_exit(owner: weakref.ref[Outbox]) -> None:
    if (outbox := owner()) is not None:
        outbox.drain(1.0)
