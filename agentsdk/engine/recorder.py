"""`Recorder`: the one writer of a stored run. What happens in the run becomes durable here, in order, in group commits.

How much a run waits for that is its durability level. `sync`: an event is durable before the run sees it. `batch`: events are
written behind the run, but an intent, and all before it, is durable before its call begins. `exit`: events are written when the
run comes to rest.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence

from agentsdk.core.codec import encode_event
from agentsdk.core.state import State, apply
from agentsdk.core.summary import summarise
from agentsdk.define.run_config import RunConfig
from agentsdk.ports.run_store import RunStore
from agentsdk.types.errors import (
    AgentsException,
    RunConflict,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from agentsdk.types.events import (
    LimitHit,
    LimitNear,
    Nested,
    RunEnded,
    RunEvent,
    SessionSaved,
    Stopped,
    TimeSpent,
    ToolsIntended,
    TurnEnded,
)

logger = logging.getLogger("agentsdk")

_DERIVED = (TurnEnded, RunEnded, SessionSaved, LimitNear, LimitHit, TimeSpent, Stopped)
"""Events that a run entered again comes to by itself: they need no commit of their own, and go with the next one."""


class Recorder:
    """Appends a run's events to its store and holds the run's lease meanwhile.

    `advance` is called with each state the run comes to. A failed append is the last one: what the store has of it only the
    store can say, so the run ends with that error and is loaded again.
    """

    def __init__(
        self,
        store: RunStore,
        config: RunConfig,
        now: Callable[[], float],
        state: State,
        rev: int,
        advance: Callable[[State], None],
    ) -> None:
        """`state` is where the run begins; the store has the first `rev` events of it."""
        self.owner = os.urandom(8).hex()
        self.failure: AgentsException | None = None
        self.redefined = False
        """Whether the model was last heard by agents of another declaration."""
        self._store = store
        self._level = config.durability
        self._lease = config.lease
        self._grace = config.cancel_grace
        self._now = now
        self._advance = advance
        self._state = state
        self._rev = rev
        self._queue: list[RunEvent] = list(state.log[rev:])
        self._applied = len(self._queue)  # how many of the queue the state holds already
        self._waiting: list[asyncio.Future[None]] = []
        self._writer: asyncio.Task[None] | None = None
        self._heartbeat: asyncio.TimerHandle | None = None
        self._appended_at = 0.0
        self._resting = False
        self._patience: float | None = None

    async def write(self, events: Sequence[RunEvent]) -> None:
        """Record `events`: durable first, where the level asks for it, then applied. Raises `StoreError`."""
        self._require_sound()
        if self._level == "sync" and not (self._writer is None and all(_is(event, _DERIVED) for event in events)):
            self._queue += events
            await self._durable()
            return
        self._queue += events
        self._applied += len(events)
        self._state = _after(self._state, events)
        self._advance(self._state)
        if self._level == "batch":
            if any(_is(event, ToolsIntended) for event in events):
                await self._durable()
            else:
                self._start_writing()

    async def flush(self) -> None:
        """Wait until all that was recorded is durable, whatever the level. Raises `StoreError`."""
        self._require_sound()
        if self._queue or self._writer is not None:
            await self._durable()

    async def attach(self, name: str, text: str) -> None:
        """Keep a text beside the run. Raises `StoreError`; as with an append, the run is over then."""
        self._require_sound()
        run_id, data = self._state.run_id, text.encode()
        try:
            try:
                await self._store.attach(run_id, name, data)
            except StoreUnavailableError:
                await self._store.attach(run_id, name, data)  # twice is as good as once
        except Exception as error:
            self.failure = self._typed(error)
            raise self.failure from self.failure.__cause__

    async def rest(self) -> None:
        """Make everything durable and let go of the run. Raises `StoreError`."""
        self.close()
        if self.failure is None:
            await self._durable()
        elif self._writer is not None:
            await asyncio.wait({self._writer}, timeout=self._grace)  # it was on its way when something else failed
        self._require_sound()

    def hurry(self) -> None:
        """The run is being cancelled: from now on wait for the store no longer than the grace."""
        self._patience = self._grace

    def close(self) -> None:
        """Renew the lease no more."""
        self._resting = True
        if self._heartbeat is not None:
            self._heartbeat.cancel()

    def _require_sound(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def _durable(self) -> None:
        """Wait for what is queued now. A caller who is cancelled goes on when its fate is known, or after the grace."""
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        saved.add_done_callback(_look_at)
        self._waiting.append(saved)
        self._start_writing()
        try:
            await asyncio.wait({saved}, timeout=self._patience)
        except asyncio.CancelledError:
            await asyncio.wait({saved}, timeout=self._grace)
            raise
        finally:
            if not saved.done() and self._writer is not None:
                self._writer.cancel()
        await asyncio.shield(saved)

    def _start_writing(self) -> None:
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all(), name="agentsdk recorder")

    async def _write_all(self) -> None:
        """Append what is queued until nothing is: all that comes in during one append is the next."""
        waiting: list[asyncio.Future[None]] = []
        try:
            while True:
                events, applied, waiting = self._queue, self._applied, self._waiting
                self._queue, self._applied, self._waiting = [], 0, []
                state = _after(self._state, events[applied:])
                try:
                    await self._append(state, events)
                except (StoreBusyError, StoreUnavailableError) as error:
                    if events or waiting:
                        raise
                    logger.warning("the lease of run %r was not renewed: %s", state.run_id, error)
                if applied < len(events):
                    self._state = state
                    self._advance(state)
                for saved in waiting:
                    saved.set_result(None)
                if not (self._queue or self._waiting):
                    return
        except BaseException as error:
            self.failure = failure = self._typed(error)
            for saved in (*waiting, *self._waiting):
                saved.set_exception(failure)
        finally:
            self._writer = None

    async def _append(self, state: State, events: Sequence[RunEvent]) -> None:
        now = self._now()
        summary = summarise(state, now=now, owner=self.owner, held_until=now if self._resting else now + self._lease)
        records = [encode_event(event) for event in events]
        try:
            await self._store.append(state.run_id, self._rev, records, summary)
        except StoreUnavailableError:
            # It may have been done all the same, or be done yet: then the second attempt is refused, and it stands there.
            try:
                await self._store.append(state.run_id, self._rev, records, summary)
            except RunConflict:
                if not records or await self._store.read(state.run_id, self._rev) != records:
                    raise
        self._rev += len(records)
        loop = asyncio.get_running_loop()
        self._appended_at = loop.time()
        if self._heartbeat is None and not self._resting:
            self._heartbeat = loop.call_later(self._lease / 3, self._beat)

    def _beat(self) -> None:
        """Renew the lease of a run that has had nothing to record for a while: one long call, say."""
        loop = asyncio.get_running_loop()
        self._heartbeat = loop.call_later(self._lease / 3, self._beat)
        if self.failure is None and loop.time() - self._appended_at > self._lease / 4:
            self._start_writing()

    def _typed(self, error: BaseException) -> AgentsException:
        if isinstance(error, AgentsException):
            return error
        what = "did not answer in time" if isinstance(error, asyncio.CancelledError) else f"raised {type(error).__name__}"
        failure = StoreError(
            f"the store of run {self._state.run_id!r} {what}, expected it to keep the run's events; see the chained exception, "
            "and go on with Runner.resume"
        )
        failure.__cause__ = error
        return failure


def _after(state: State, events: Sequence[RunEvent]) -> State:
    for event in events:
        state = apply(state, event)
    return state


def _is(event: RunEvent, kinds: type[RunEvent] | tuple[type[RunEvent], ...]) -> bool:
    """Whether an event, or the one it brings from a nested run, is one of `kinds`."""
    while isinstance(event, Nested):
        event = event.event
    return isinstance(event, kinds)


def _look_at(saved: asyncio.Future[None]) -> None:
    """Take the outcome that nobody may be waiting for any more, so that asyncio does not complain."""
    if not saved.cancelled():
        saved.exception()
