"""Signals: posted to a run's mailbox by anybody who has the store, taken by the run's owner.

Posting touches no log, so it disturbs nobody. The owner takes what waits at its safe points (before a turn, and before it ends
or waits), in one append that holds `SignalsTaken` and what the signals come to: each is taken once, whoever dies when. How many
there are it is told by every append; only a run that has been at one thing for a while is watched for a cancel.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, get_args

from agentsdk.core.given_json import json_text, plain_json
from agentsdk.core.signals import checked_decision, decided, decode_signal, encode_signal
from agentsdk.core.state import State, apply
from agentsdk.core.steps import CANCEL, step_of
from agentsdk.core.summary import CANCELLED
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.backoff import with_retries
from agentsdk.engine.decisions import dated, refusal
from agentsdk.engine.guardrails import run_guardrails_on_added_input
from agentsdk.engine.run import Run
from agentsdk.engine.stored import load_run, store_of
from agentsdk.types.declared import Fields, a_name, any_text, one_of, whole
from agentsdk.types.errors import AgentsException, RunCancelledError, RunConflictError, StateError
from agentsdk.types.events import (
    AnswerRefused,
    ArgumentsRefused,
    GuardrailJudged,
    InputAdded,
    RunEvent,
    RunPaused,
    RunUnpaused,
    SignalGiven,
    SignalsTaken,
    StepBegan,
    Stopped,
    unnested,
)
from agentsdk.types.items import InputItem, Message, messages_from_input
from agentsdk.types.signals import (
    CancelMode,
    CancelSignal,
    DataSignal,
    Decision,
    MessageSignal,
    PauseSignal,
    Signal,
    UnpauseSignal,
)
from agentsdk.types.summary import check_run_id
from agentsdk.types.text import shortened, storable_text

logger = logging.getLogger("agentsdk")

WATCH_AFTER = 0.02
"""Seconds after which a run is watched for a cancel: shorter ones learn of it at their next append."""

_LONGEST_WAIT = 60.0
"""Seconds after which the store is asked again whether there are signals."""

_MAX_CHARS = 500
"""How much of a reason is recorded."""

_ARGUMENTS = Fields(
    "Runner",
    priority=whole("a whole number; the highest enters first"),
    name=a_name("a str that is not empty; name the signal that flow.wait_for waits for"),
    by=any_text("a str; say who it is"),
    reason=any_text("a str; say why"),
    mode=one_of(f"one of {get_args(CancelMode)}", get_args(CancelMode)),
)


async def send(run_id: str, message: str | InputItem, priority: int, by: str, config: RunConfig) -> int:
    """Post a message; its number in the mailbox."""
    _ARGUMENTS.check_given("Runner.send", priority=priority, by=by)
    given = messages_from_input(message if isinstance(message, str) else [message], "Runner.send")
    return await _post(run_id, MessageSignal(given, priority, storable_text(by)), config)


async def pause(run_id: str, by: str, reason: str, config: RunConfig) -> int:
    """Post a pause."""
    _ARGUMENTS.check_given("Runner.pause", by=by, reason=reason)
    return await _post(run_id, PauseSignal(storable_text(by), _short(reason)), config)


async def unpause(run_id: str, by: str, config: RunConfig) -> int:
    """Post that a paused run may go on."""
    _ARGUMENTS.check_given("Runner.unpause", by=by)
    return await _post(run_id, UnpauseSignal(storable_text(by)), config)


async def cancel(run_id: str, mode: CancelMode, by: str, reason: str, config: RunConfig) -> int:
    """Post a cancel."""
    _ARGUMENTS.check_given("Runner.cancel", mode=mode, by=by, reason=reason)
    return await _post(run_id, CancelSignal(mode, storable_text(by), _short(reason)), config)


async def signal(run_id: str, name: str, data: object, by: str, config: RunConfig) -> int:
    """Post data for the workflow that waits for it, now or later."""
    _ARGUMENTS.check_given("Runner.signal", name=name, by=by)
    data = plain_json("the data of a signal", data)
    return await _post(run_id, DataSignal(storable_text(name), data, storable_text(by)), config)


async def decide(run_id: str, decision: Decision, config: RunConfig) -> int:
    """Post a decision on a call that waits, as far as the log and the mailbox know."""
    decision, store = checked_decision(decision), store_of(config)
    state = await load_run(store, run_id)
    for record in await store.signals(run_id, state.taken):
        with suppress(AgentsException):  # what did nothing, or will do nothing, decides nothing
            if isinstance(posted := decode_signal(record), Decision):
                state = _after(state, decided(state, posted))
    decided(state, decision)
    return await _post(run_id, decision, config)


async def _post(run_id: str, signal: Signal, config: RunConfig) -> int:
    return await store_of(config).post(check_run_id(run_id), encode_signal(signal))


async def take_signals(run: Run, *before: RunEvent, ends: bool = False) -> None:
    """Record what waits in the mailbox, behind the events `before`, in one append.

    A message that an input guardrail refuses does not enter, and what has become pointless does nothing: `SignalsTaken` says
    so, and the run goes on. Where it `ends` with this turn, a cancel after the turn stays in the mailbox.

    Raises `RunCancelledError` once a cancel is recorded; what was posted behind it stays.
    """
    config, recorder = run.deps.config, run.recorder
    assert recorder is not None
    store, run_id, known = store_of(config), run.state.run_id, run.state.taken
    records = await with_retries(lambda: store.signals(run_id, known), config, run.deps.now)
    recorder.signals = known + len(records)
    taken = _Taken(_after(run.state, before), run.agent, run.deps.now())
    for record in records:
        if not taken.add(record, ends=ends):
            break
    if taken.through > known:
        await taken.judge(run)
        await run.record(*before, *taken.recorded())
        for number, why in taken.refused:
            logger.warning("signal %d of run %r did nothing: %s", number, run_id, why)
    elif before:
        await run.record(*before)
    raise_if_cancelled(run)


def raise_if_cancelled(run: Run) -> None:
    """Raises `RunCancelledError` for a run that somebody has cancelled."""
    stopped = run.state.stopped
    if stopped is not None and stopped.by:
        why = f": {stopped.error}" if stopped.error else ""
        raise RunCancelledError(
            f"run {run.state.run_id!r} was cancelled by {stopped.by!r}{why}; to go on with it all the same, pass error.state "
            "to Runner.run",
            by=stopped.by,
            reason=stopped.error,
        )


class _Taken:
    """What signals come to in a run, one after the other, up to a cancel."""

    def __init__(self, state: State, agent: Agent[Any, Any], now: float) -> None:
        self.through = state.taken
        self.refused: list[tuple[int, str]] = []
        self._state = state
        self._agent = agent
        self._now = now
        self._events: list[RunEvent] = []
        self._messages: list[tuple[int, int, Message]] = []
        self._verdicts: list[GuardrailJudged] = []
        self._cancel: CancelSignal | None = None

    def add(self, record: bytes, *, ends: bool) -> bool:
        """Add the next signal; whether one behind it can be added too."""
        number = self.through + 1
        try:
            signal = decode_signal(record)
            if isinstance(signal, CancelSignal):
                if ends and signal.mode == "after_turn":
                    return False
                self._cancel = signal
            elif isinstance(signal, MessageSignal):
                self._messages += [(-signal.priority, number, message) for message in signal.items]
            else:
                events = self._events_of(signal, number)
                self._state = _after(self._state, events)
                self._events += events
        except AgentsException as error:
            self.refused.append((number, shortened(str(error), _MAX_CHARS)))
        self.through = number
        return self._cancel is None

    def _events_of(self, signal: PauseSignal | UnpauseSignal | Decision | DataSignal, number: int) -> tuple[RunEvent, ...]:
        """What a signal comes to. Raises `AgentsException` where that is nothing."""
        paused = self._state.paused
        match signal:
            case Decision():
                events = decided(self._state, signal)
                refused = refusal(self._agent, self._state, events)
                if refused is None:
                    return dated(events, self._now)
                decision = unnested(refused)[1]
                assert isinstance(decision, AnswerRefused | ArgumentsRefused)
                self.refused.append((number, shortened(decision.reason, _MAX_CHARS)))
                return (refused,)
            case DataSignal():
                data = json_text("the data of a signal", signal.data)
                return (SignalGiven(signal.name, data, signal.by, self._now),)
            case PauseSignal():
                if paused is not None:
                    raise RunConflictError("the run is paused already")
                return (RunPaused(signal.by, signal.reason, self._now),)
            case UnpauseSignal():
                if paused is None:
                    raise RunConflictError("the run is not paused")
                return (RunUnpaused(signal.by, self._now),)

    async def judge(self, run: Run) -> None:
        """Have the input guardrails judge the messages. None enters that they refuse, and none at all in a cancelled run."""
        if self._cancel is not None:
            self._refuse({number: "the run was cancelled before it could enter" for _, number, _ in self._messages})
            return
        self._messages.sort(key=lambda entry: entry[:2])
        judged = await run_guardrails_on_added_input(run, [message for _, _, message in self._messages])
        refused: dict[int, str] = {}
        for (_, number, _), verdicts in zip(self._messages, judged, strict=True):
            self._verdicts += verdicts
            for verdict in verdicts:
                if verdict.behavior != "allow":
                    refused[number] = f"input guardrail {verdict.guardrail!r} refused it"
        self._refuse(refused)

    def _refuse(self, messages: dict[int, str]) -> None:
        self.refused = sorted([*self.refused, *messages.items()])
        self._messages = [entry for entry in self._messages if entry[1] not in messages]

    def recorded(self) -> list[RunEvent]:
        """The events of one append."""
        events: list[RunEvent] = [SignalsTaken(self.through, tuple(self.refused)), *self._verdicts, *self._events]
        if self._messages:
            events.append(InputAdded(tuple(message for _, _, message in self._messages)))
        if self._cancel is not None:
            events.append(self._stops(self._cancel.by or "Runner.cancel", self._cancel.reason))
        return events

    def _stops(self, by: str, reason: str) -> RunEvent:
        """How the run is stopped: one whose steps are to be undone goes on with that, unless it was at it already."""
        turn, driver = self._state.turn, self._agent.driver
        is_at_it = turn is not None and turn.program is not None and step_of(turn.program.steps, CANCEL) is not None
        if driver is None or not driver.undoes_cancelled or is_at_it:
            return Stopped(CANCELLED, reason, by, self._now)
        return StepBegan(CANCEL, "cancel", json_text("a cancel", {"by": by, "reason": reason}), self._now)


async def cancellable(run: Run, driven: Awaitable[None]) -> None:
    """Let a stored run be `driven`, and stop it at once when a cancel is posted that says so: `RunCancelledError`; or when
    another one has taken the run: `RunConflictError`."""
    task, recorder = asyncio.current_task(), run.recorder
    assert task is not None and recorder is not None
    watch, before = _Watch(run, task), task.cancelling()
    recorder.on_lost = watch.cancel
    timer = asyncio.get_running_loop().call_later(WATCH_AFTER, watch.begin)
    is_ours = False
    try:
        await driven
    except (Exception, asyncio.CancelledError):
        if not watch.has_cancelled or task.cancelling() > before + 1:
            raise  # nobody has cancelled it, or its process is stopped as well
    finally:
        timer.cancel()
        recorder.on_lost = None
        if watch.has_cancelled:
            is_ours = task.uncancel() <= before
        await watch.end(run.deps.grace.seconds)
    if is_ours and recorder.failure is not None:
        raise recorder.failure
    if is_ours and run.state.ended is None:
        await take_signals(run)
        run.deps.grace.reset()
        await run.drive(run)  # what undoes its steps first


class _Watch:
    """Waits for signals while a run is at something, and cancels `task` for one that says so."""

    def __init__(self, run: Run, task: asyncio.Task[object]) -> None:
        self.has_cancelled = False
        self._run = run
        self._task = task
        self._waiting: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Stop what the run is at."""
        if not self.has_cancelled:
            self.has_cancelled = True
            self._task.cancel()

    def begin(self) -> None:
        """Begin to wait."""
        self._waiting = asyncio.create_task(self._wait(), name="agentsdk signals")

    async def end(self, seconds: float) -> None:
        """Wait no more; the store has so many seconds to let go."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait({self._waiting}, timeout=seconds)

    async def _wait(self) -> None:
        run, config, now, recorder = self._run, self._run.deps.config, self._run.deps.now, self._run.recorder
        assert recorder is not None
        store, run_id, seen = store_of(config), run.state.run_id, run.state.taken
        try:
            while True:
                if await with_retries(partial(store.wait_signals, run_id, seen, _LONGEST_WAIT), config, now) <= seen:
                    continue
                for record in await with_retries(partial(store.signals, run_id, seen), config, now):
                    seen += 1
                    if _cancels_now(record) and run.state.ended is None:
                        self.cancel()
                        return
                recorder.signals = max(recorder.signals, seen)
        except AgentsException as error:
            logger.warning("run %r is not watched for signals any more: %s", run_id, error)


def _cancels_now(record: bytes) -> bool:
    try:
        signal = decode_signal(record)
    except StateError:
        return False  # whoever takes it says so
    return isinstance(signal, CancelSignal) and signal.mode == "now"


def _after(state: State, events: Iterable[RunEvent]) -> State:
    for event in events:
        state = apply(state, event)
    return state


def _short(reason: str) -> str:
    return shortened(storable_text(reason), _MAX_CHARS)
