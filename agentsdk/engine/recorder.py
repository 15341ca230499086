"""`Recorder`: the one writer of a stored run. What happens in the run becomes durable here, in order, in group commits.

How much a run waits for that is its durability level. `sync`: an event is durable before the run sees it. `batch`: events are
written behind the run, but an intent, and all before it, is durable before its call begins. `steps`: only the intent of a call
with an effect is waited for, and takes along what came before it. A number: the same, and no event waits longer than so many
seconds to be written. `exit`: events are written when the run ends or pauses, as is what is left at the other levels.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from agentsdk.core.codec import decode_events, encode_event
from agentsdk.core.run_state import Kept
from agentsdk.core.state import State, apply
from agentsdk.core.summary import summarize
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.backoff import AWAY, Backoff, with_retries
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.engine.claim import owner_text
from agentsdk.engine.concurrency import wait_within_grace
from agentsdk.engine.grace import LAST_MOMENT, RECORD, STORE, Grace
from agentsdk.types.errors import (
    AgentsException,
    RunConflictError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from agentsdk.types.events import (
    LimitReachedEvent,
    LimitWarningEvent,
    Nested,
    RunEnded,
    RunEvent,
    SessionSaved,
    StepBegan,
    Stopped,
    TimeSpent,
    TurnEnded,
)

logger = logging.getLogger("agentsdk")

_DERIVED = (TurnEnded, RunEnded, SessionSaved, LimitWarningEvent, LimitReachedEvent, TimeSpent, Stopped)
"""Events that a run entered again comes to by itself: they need no commit of their own, and go with the next one. So does the
beginning of a step that has no effect."""


Batch = tuple[list[RunEvent], int, list[asyncio.Future[None]]]
"""Events for one append, how many of them the state holds already, and who waits until they are durable."""


class Recorder:
    """Appends a run's events to its store and holds the run's lease meanwhile.

    `advance` is called with each state the run comes to. A store that is away for a while is waited for. When that did not
    help, or the store has refused, nothing more is written: what happens until the run has ended is applied all the same, so
    that the state of its error has everything the process knows, and `kept` what of that the store lacks.
    """

    def __init__(
        self,
        store: CheckedStore,
        config: RunConfig,
        now: Callable[[], float],
        state: State,
        kept: Kept,
        advance: Callable[[State], None],
        grace: Grace,
    ) -> None:
        """`state` is where the run begins; `kept` says what the store has of it, and who holds it there if we still do."""
        self.failure: AgentsException | None = None
        self.signals = 0
        """How many signals were posted to the run, as far as is known."""
        self.redefined = False
        """Whether the model was last heard by agents of another declaration."""
        self.on_lost: Callable[[], None] | None = None
        """Called once another one has taken the run, so that what is still done here is stopped."""
        self._store = store
        self._config = config
        self._lease = config.lease
        self._grace = grace
        self._now = now
        self._advance = advance
        self._state = state
        self._rev = kept.rev
        self._owner = kept.owner or owner_text(config.owner)
        self._attachments = dict(kept.attachments)
        self._is_uncertain = bool(kept.owner)  # whether an append may have been done, or be done yet, that nobody has confirmed
        self._queue: list[RunEvent] = list(state.log[kept.rev :])
        self._applied = len(self._queue)  # how many of the queue the state holds already
        self._waiting: list[asyncio.Future[None]] = []
        self._underway: Batch = [], 0, []
        self._writer: asyncio.Task[None] | None = None
        self._heartbeat: asyncio.TimerHandle | None = None
        self._delay: asyncio.TimerHandle | None = None
        self._appended_at = 0.0
        self._held_until = 0.0
        self._finishing = False

    async def write(self, events: Sequence[RunEvent]) -> None:
        """Record `events`: durable first, where the level asks for it, then applied. Raises `StoreError`."""
        if self.failure is not None:
            self._apply(events)
            raise self.failure
        level = self._config.durability
        if level == "sync" and not (self._writer is None and all(map(_comes_again, events))):
            self._queue += events
            await self._durable()
            return
        self._queue += events
        self._applied += len(events)
        self._apply(events)
        if level == "batch":
            self._start_writing()
        elif not isinstance(level, str) and self._writer is None and self._delay is None:
            self._delay = asyncio.get_running_loop().call_later(level, self._start_writing)

    async def before_calls(self, *, have_effect: bool) -> None:
        """Wait until the intents just written are durable, where the level asks for it. Raises `StoreError`."""
        level = self._config.durability
        if level == "batch" or (have_effect and level not in ("sync", "exit")):
            self._require_sound()
            await self._durable()

    async def flush(self) -> None:
        """Wait until all that was recorded is durable, whatever the level. Raises `StoreError`."""
        self._require_sound()
        if self._queue or self._writer is not None:
            await self._durable()
        for name, text in list(self._attachments.items()):
            await self.attach(name, text)
        self._require_sound()

    async def attach(self, name: str, text: str) -> None:
        """Keep a text beside the run. Where the store fails that is raised by the next `write`, which has a place for it."""
        self._attachments[name] = text
        if self.failure is not None:
            return
        run_id, data = self._state.run_id, text.encode()
        attaching = asyncio.create_task(
            with_retries(lambda: self._store.attach(run_id, name, data), self._config, self._now), name="agentsdk attachment"
        )
        cancelled = await wait_within_grace(attaching, self._grace, STORE)
        error: BaseException = asyncio.CancelledError()
        if not attaching.done():
            attaching.cancel()
            await asyncio.wait({attaching}, timeout=LAST_MOMENT)
        elif (failed := None if attaching.cancelled() else attaching.exception()) is None:
            del self._attachments[name]
            if cancelled is not None:
                raise cancelled
            return
        else:
            error = failed
        if self._writer is not None:
            cancelled = await wait_within_grace(self._writer, self._grace, STORE) or cancelled
        if self.failure is None:
            self._fail(error)
        if cancelled is not None:
            raise cancelled

    async def hold(self) -> None:
        """See to it that the run is held for some time yet: before a body begins. Raises `StoreError` where it is not."""
        self._require_sound()
        if self.lease_left() > self._lease / 3:
            return
        await self._durable()
        if self.lease_left() <= 0:
            raise StoreBusyError(
                f"the store took longer than the lease of {self._lease:g} s to renew it for run {self._state.run_id!r}, "
                "expected far less; no further call was begun: look after the store, or raise RunConfig.lease"
            )

    async def finish(self) -> None:
        """Make everything durable and let go of the run. Raises `StoreError`."""
        self.close()
        if self.failure is None:
            await self._durable()
        elif self._writer is not None:
            writer = self._writer  # it was on its way when something else failed
            cancelled = await wait_within_grace(writer, self._grace, STORE)
            if not writer.done():
                writer.cancel()
                await asyncio.wait({writer}, timeout=LAST_MOMENT)
            if cancelled is not None:
                raise cancelled
        self._require_sound()

    def close(self) -> None:
        """Renew the lease no more."""
        self._finishing = True
        for timer in (self._heartbeat, self._delay):
            if timer is not None:
                timer.cancel()

    @property
    def revision(self) -> int:
        """How many events the store has."""
        return self._rev

    @property
    def kept(self) -> Kept:
        """What the store has of the run, and what it lacks."""
        return Kept(self._rev, "" if self.failure is None else self._owner, dict(self._attachments))

    def _require_sound(self) -> None:
        if self.failure is not None:
            raise self.failure

    def lease_left(self) -> float:
        """Seconds for which the store keeps others from the run, as far as is certain."""
        return self._held_until - self._now()

    def _apply(self, events: Sequence[RunEvent]) -> None:
        self._state = _after(self._state, events)
        self._advance(self._state)

    async def _durable(self) -> None:
        """Wait for what is queued now. A caller who is cancelled goes on when its fate is known, or the grace is over."""
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(saved)
        self._start_writing()
        cancelled: asyncio.CancelledError | None = None
        if self._grace.left() is None:
            try:
                await saved  # a cancellation of the caller ends this future, and not the append
                return
            except asyncio.CancelledError as error:
                cancelled = error
                self._grace.begin()
        cancelled = await self._written_within_grace() or cancelled
        if cancelled is not None:
            raise cancelled
        saved.result()

    async def _written_within_grace(self) -> asyncio.CancelledError | None:
        """Wait in a cancelled run until all is written, or give that up; the caller's last cancellation meanwhile, if any."""
        writer = self._writer
        if writer is None:
            return None
        # A call that waits here when the run is cancelled still has to end before the calls are given up.
        share = STORE if self._grace.left(RECORD) == 0.0 else RECORD
        cancelled = await wait_within_grace(writer, self._grace, share)
        if not writer.done():
            writer.cancel()
            await asyncio.wait({writer}, timeout=LAST_MOMENT)
        if not writer.done() or writer.cancelled():  # an append that cannot be cancelled, or one that never began
            self._fail(asyncio.CancelledError())
        return cancelled

    def _start_writing(self) -> None:
        if self._delay is not None:
            self._delay.cancel()
            self._delay = None
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all(), name="agentsdk recorder")

    async def _write_all(self) -> None:
        """Append what is queued until nothing is: all that comes in during one append is the next."""
        is_renewed = False
        try:
            while self.failure is None:  # it may come before the first step of this task: the state is ahead of the store then
                self._underway = events, applied, waiting = self._queue, self._applied, self._waiting
                self._queue, self._applied, self._waiting = [], 0, []
                is_wanted = bool(events or waiting)
                state = _after(self._state, events[applied:])
                try:
                    await self._append(state, events, is_wanted)
                except AWAY as error:
                    if is_wanted:
                        raise
                    logger.warning("the lease of run %r was not renewed: %s", self._state.run_id, error)
                    self._beat_in(self._lease / 10)
                if self.failure is not None:
                    return  # it was given up meanwhile
                self._underway = [], 0, []
                if applied < len(events):
                    self._state = state
                    self._advance(state)
                for saved in waiting:
                    if not saved.done():
                        saved.set_result(None)
                if not (self._queue or self._waiting):
                    # An append may take long, and a lease counts from its beginning.
                    if is_renewed or not is_wanted or self._finishing or self.lease_left() > self._lease / 2:
                        return
                    is_renewed = True
        except BaseException as error:
            self._fail(error)
        finally:
            self._writer = None

    def _fail(self, error: BaseException) -> None:
        """Write no more. What was to be written is applied all the same, but for the beginning of a run that is another's."""
        if self.failure is not None:
            return
        self.failure = self._typed(error)
        events, applied, waiting = self._underway
        if self._state.log or not isinstance(error, RunConflictError):
            self._apply([*events[applied:], *self._queue[self._applied :]])
        for saved in (*waiting, *self._waiting):
            if not saved.done():
                saved.set_exception(self.failure)
                saved.exception()  # nobody may be waiting for it any more: asyncio does not complain
        self._queue, self._applied, self._waiting, self._underway = [], 0, [], ([], 0, [])
        if self.on_lost is not None and isinstance(error, RunConflictError):
            self.on_lost()

    async def _append(self, state: State, events: Sequence[RunEvent], is_wanted: bool) -> None:
        loop, backoff = asyncio.get_running_loop(), None
        records = [encode_event(event) for event in events]
        first_held_until = 0.0  # of what may stand there already
        while True:
            began, now = loop.time(), self._now()
            held_until = now if self._finishing else now + self._lease
            summary = summarize(state, now=now, owner=self._owner, held_until=held_until)
            try:
                posted = await self._store.append(state.run_id, self._rev, records, summary)
                self.signals = max(self.signals, posted)
                break
            except RunConflictError:
                there = await self._left_open(state.run_id, records) if self._is_uncertain and records else 0
                if not there:
                    raise
                self._rev += there
                records = records[there:]
                if not records:
                    held_until = first_held_until
                    break
            except AWAY as error:
                self._is_uncertain = self._is_uncertain or isinstance(error, StoreUnavailableError)
                first_held_until = first_held_until or held_until
                if not is_wanted:
                    raise
                backoff = backoff or Backoff(self._config, self._now)
                try:
                    goes_on = await backoff.wait()
                except asyncio.CancelledError:
                    goes_on = False
                if not goes_on:
                    raise
        self._rev += len(records)
        self._is_uncertain = False
        self._held_until = held_until
        self._appended_at = began
        if self._heartbeat is None and not self._finishing:
            self._beat_in(self._lease / 3)

    async def _left_open(self, run_id: str, records: Sequence[bytes]) -> int:
        """How many of `records` an append has written of which nobody knew: all, or those of one before a resume."""
        stored = await with_retries(lambda: self._store.read(run_id, self._rev), self._config, self._now)
        there = [encode_event(event) for event in decode_events(stored)]
        return len(there) if there == records[: len(there)] else 0

    def _beat_in(self, seconds: float) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        if not self._finishing:
            self._heartbeat = asyncio.get_running_loop().call_later(seconds, self._beat)

    def _beat(self) -> None:
        """Renew the lease of a run that has had nothing to record for a while: one long call, say."""
        self._beat_in(self._lease / 3)
        if self.failure is None and asyncio.get_running_loop().time() - self._appended_at > self._lease / 4:
            self._start_writing()

    def _typed(self, error: BaseException) -> AgentsException:
        if isinstance(error, AgentsException):
            return error
        what = "did not answer in time" if isinstance(error, asyncio.CancelledError) else f"raised {type(error).__name__}"
        failure = StoreError(
            f"the store of run {self._state.run_id!r} {what}, expected it to keep the run's events; see the chained exception, "
            "and go on with error.state, or with Runner.resume from what the store has"
        )
        failure.__cause__ = error
        return failure


def _after(state: State, events: Sequence[RunEvent]) -> State:
    for event in events:
        state = apply(state, event)
    return state


def _comes_again(event: RunEvent) -> bool:
    """Whether a run entered again comes to an event, or the one it brings from a nested run, by itself."""
    while isinstance(event, Nested):
        event = event.event
    return isinstance(event, _DERIVED) or (isinstance(event, StepBegan) and event.effect == "none")
