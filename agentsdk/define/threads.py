"""Threads for the bodies of sync tools: bounded, daemonic, and able to lose one that never returns.

A thread cannot be stopped. When its caller stops waiting (timeout, cancellation) the thread is *abandoned*: it no longer counts
against `MAX_THREADS`, so that it cannot keep others from running, and is counted by tool name until it returns. Past
`MAX_ABANDONED` no further sync tool is started.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from agentsdk.types.errors import ToolError

logger = logging.getLogger("agentsdk")

MAX_THREADS = 32
"""How many sync tools run at once in a process; further ones wait."""

MAX_ABANDONED = 128
"""How many abandoned threads a process may carry before a sync tool is refused."""


class LeftRunning(asyncio.CancelledError):
    """The caller of a sync tool was cancelled, and its thread runs on. `name` is the tool's."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class _Job:
    """A body to be run. `over` is done once its `outcome` is known to the loop."""

    __slots__ = ("abandoned", "begun", "call", "context", "loop", "name", "outcome", "over", "running")

    def __init__(self, name: str, call: Callable[[], object], over: asyncio.Future[None]) -> None:
        self.name = name
        self.call = call
        self.over = over
        self.loop = over.get_loop()
        self.context = contextvars.copy_context()
        self.outcome: tuple[object, BaseException | None] | None = None
        self.begun = False
        self.running = False
        self.abandoned = False


class _Worker:
    """One thread; `wake` is released when `job` is set."""

    __slots__ = ("job", "wake")

    def __init__(self, job: _Job) -> None:
        self.job: _Job | None = job
        self.wake = threading.Lock()
        self.wake.acquire()


class _Pool:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[_Worker] = []
        self.waiting: deque[_Job] = deque()
        self.busy = 0
        self.abandoned: Counter[str] = Counter()

    def submit(self, job: _Job) -> None:
        with self.lock:
            if self.abandoned.total() >= MAX_ABANDONED:
                names = ", ".join(sorted(set(self.abandoned.elements())))
                raise ToolError(
                    f"tool {job.name!r} was not started: {MAX_ABANDONED} threads of earlier sync tools never returned "
                    f"({names}); give what these wait for a deadline of its own, or make them async"
                )
            if self.busy >= MAX_THREADS:
                self.waiting.append(job)
            else:
                self._start(job)

    def give_up(self, job: _Job) -> bool:
        """Stop waiting for a job: if it has not begun, it never will; if it runs, its thread counts as abandoned.

        Whether it runs.
        """
        with self.lock:
            job.abandoned = True
            if not job.running:
                return False
            self.abandoned[job.name] += 1
            self.busy -= 1
            self._start_next()
        logger.warning("sync tool %r was given up while it runs; its thread cannot be stopped", job.name)
        return True

    def _start(self, job: _Job) -> None:
        job.begun = job.running = True
        if self.idle:
            worker = self.idle.pop()
            worker.job = job
            worker.wake.release()
        else:
            threading.Thread(target=self._work, args=(_Worker(job),), name="agentsdk-tool", daemon=True).start()
        self.busy += 1

    def _start_next(self) -> None:
        while self.waiting and self.busy < MAX_THREADS:
            job = self.waiting.popleft()
            if not job.abandoned:
                self._start(job)

    def _work(self, worker: _Worker) -> None:
        while (job := worker.job) is not None:
            deliver = _run(job)
            worker.job = None
            # Idle before the result is out: whoever waits for it finds this thread free.
            with self.lock:
                stays = len(self.idle) < MAX_THREADS
                if stays:
                    self.idle.append(worker)
                job.running = False
                if job.abandoned:
                    self.abandoned[job.name] -= 1
                else:
                    self.busy -= 1
                    self._start_next()
            deliver()
            del job, deliver
            if stays:
                worker.wake.acquire()


def _run(job: _Job) -> Callable[[], None]:
    """Run the body; what is returned hands its outcome to the loop."""
    error: BaseException | None = None
    result: object = None
    try:
        result = job.context.run(job.call)
    except StopIteration as stop:
        # A future cannot carry it, nor could a coroutine raise it.
        error = RuntimeError("the tool raised StopIteration")
        error.__cause__ = stop
    except BaseException as raised:
        error = raised
    try:
        return functools.partial(_deliver, job, result, error)
    finally:
        error = None  # its traceback holds this frame


def _deliver(job: _Job, result: object, error: BaseException | None) -> None:
    try:
        job.loop.call_soon_threadsafe(_settle, job, result, error)
    except RuntimeError:
        pass  # the loop is closed: nobody waits any more


def _settle(job: _Job, result: object, error: BaseException | None) -> None:
    job.outcome = result, error
    if not job.over.done():
        job.over.set_result(None)


def _outcome(job: _Job) -> object:
    assert job.outcome is not None
    (result, error), job.outcome = job.outcome, None
    if error is None:
        return result
    try:
        raise error
    finally:
        del error  # its traceback holds this frame


_pool = _Pool()


def _after_fork() -> None:
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


async def run_in_thread(name: str, call: Callable[[], object], patience: Callable[[], float] | None = None) -> object:
    """The result of `call()`, run on a thread in a copy of the caller's context variables.

    A cancellation is raised at once; with `patience` the caller gets the result all the same, if it comes within as many
    seconds of the cancellation. It is raised as `LeftRunning`, the thread left behind as abandoned, where the body runs on; one
    that has not begun never will. Raises `ToolError` when too many threads are abandoned.
    """
    pool, loop = _pool, asyncio.get_running_loop()
    job = _Job(name, call, loop.create_future())
    pool.submit(job)
    try:
        await job.over
    except asyncio.CancelledError:
        if patience is not None and job.begun:
            if job.outcome is None:
                job.over = loop.create_future()
                await wait_bounded(job.over, patience())
            if job.outcome is not None:
                return _outcome(job)
        if pool.give_up(job):
            raise LeftRunning(name) from None
        raise
    return _outcome(job)


async def wait_bounded(future: asyncio.Future[Any], seconds: float) -> None:
    """Wait at most so long, also when the waiting one is cancelled again."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while not future.done() and (left := ends - loop.time()) > 0:
        try:
            await asyncio.wait({future}, timeout=left)
        except asyncio.CancelledError:
            pass


def abandoned_tools() -> tuple[str, ...]:
    """The names of the tools whose threads run on although nobody waits for them, one name per thread."""
    with _pool.lock:
        return tuple(_pool.abandoned.elements())
