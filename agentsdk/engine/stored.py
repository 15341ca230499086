"""A run and its store: beginning there, going on from there, and what others may do with it meanwhile."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import msgspec
from msgspec import structs

from agentsdk.core.codec import decode_events, encode_event
from agentsdk.core.next_step import interruptions
from agentsdk.core.revisions import step_start
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State, apply, fold
from agentsdk.core.summary import summarise
from agentsdk.define.agent import Agent, AgentTool
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.recorder import Recorder
from agentsdk.engine.run import Run
from agentsdk.ports.run_store import RunStore, not_found
from agentsdk.types.errors import RunConflict, StateCorruptError, UserError
from agentsdk.types.events import InputReplaced, ModelReplied, Nested, RunEvent, RunResumed, RunStarted, ViewRestored
from agentsdk.types.summary import check_run_id

_ATTEMPTS = 8
"""How often a decision is put to a run that others decide on at the same time."""


def store_of(config: RunConfig | None) -> RunStore:
    """The store of a run config. Raises `UserError` where there is none."""
    if config is None or config.store is None:
        raise UserError("no store given, expected one to find the run in; pass run_config=RunConfig(store=...)")
    return config.store


async def load_run(store: RunStore, run_id: str, at: int | None = None) -> State:
    """A stored run's state, or what it was at revision `at`; a handoff is one step, so within one it is what it was before.

    Raises `RunNotFoundError`, `StateCorruptError`, `StateVersionError`, `StoreError`, and `UserError` for a missing revision.
    """
    log = decode_events(await store.read(check_run_id(run_id)))
    if at is not None and not 0 < at <= len(log):
        raise UserError(f"run {run_id!r} has no revision {at!r}, expected 1 to {len(log)}; choose one of them")
    if not log:
        raise not_found(run_id)
    try:
        state = fold(log if at is None else log[: step_start(log, at)])
    except (StateCorruptError, RecursionError) as error:
        raise StateCorruptError(
            f"the stored events of run {run_id!r} contradict each other, expected what a run recorded; "
            "restore the store from a backup"
        ) from error
    if state.run_id != run_id:
        raise StateCorruptError(f"the store keeps another run under {run_id!r}, expected its own; restore it from a backup")
    return state


async def begin_stored(run: Run, begin: tuple[RunEvent, ...], store: RunStore, first: Agent[Any, Any]) -> tuple[RunEvent, ...]:
    """Give `run` its recorder; the events that it begins, or goes on, with.

    Raises `RunConflict` if the run stands in the store, but elsewhere than here.
    """
    state, fingerprint = run.state, fingerprint_of(first)
    summary = await store.summary(state.run_id) if state.log else None
    rev = 0 if summary is None else summary.rev
    if summary is not None:
        latest = await store.read(state.run_id, rev - 1) if rev == len(state.log) else []
        if latest != [encode_event(state.log[-1])]:
            raise RunConflict(
                f"run {state.run_id!r} has come to revision {rev} of its store on another way than this state, expected its "
                "latest state; go on with Runner.resume"
            )
    run.recorder = Recorder(store, run.ports.config, run.ports.now, state, rev, run.advance)
    if not state.log:
        started, *more = begin
        return (structs.replace(started, fingerprint=fingerprint), *more)
    run.recorder.redefined = _declared_at_reply(state) not in ("", fingerprint)
    return (RunResumed(run.recorder.owner, run.ports.now(), fingerprint), *begin)


async def release(store: RunStore, run_id: str, now: float) -> None:
    """Take a run from whoever holds it, at the word of one who knows that nobody works on it."""
    summary = await store.summary(run_id)
    if summary is not None and summary.held_until > now:
        await store.append(run_id, summary.rev, (), structs.replace(summary, updated_at=now, held_until=now))


async def save_decisions(store: RunStore, decided: RunState, now: float) -> RunState:
    """Append what was decided on a stored run at rest, also where others have decided on it since.

    Raises `RunConflict` if the run is held, or no longer waits for what was decided.
    """
    seen, decisions = decided.pieces()
    run_id = decided.run_id
    if not decisions:
        return decided
    for _ in range(_ATTEMPTS):
        before = await load_run(store, run_id)
        state = before
        for event in decisions:
            moved_on = isinstance(event, InputReplaced | ViewRestored) and len(before.log) != len(seen.log)
            if moved_on or not _waits_for(state, event):
                raise RunConflict(
                    f"run {run_id!r} no longer waits for what was decided here, expected it to; another process was first: "
                    "load the run again"
                )
            state = apply(state, event)
        summary = summarise(state, now=now, owner=os.urandom(8).hex(), held_until=now)
        try:
            await store.append(run_id, len(before.log), [encode_event(event) for event in decisions], summary)
        except RunConflict:
            standing = await store.summary(run_id)
            if standing is None or standing.rev == len(before.log):
                raise  # not moved on, but held
            continue
        return RunState(state)
    raise RunConflict(f"run {run_id!r} changed {_ATTEMPTS} times while decisions were put to it; load it and decide again")


async def fork_run(store: RunStore, run_id: str, at: int | None, new_run_id: str | None, now: float) -> str:
    """Copy a run as it was at revision `at` into a run of its own; its id. Raises like `load_run`, and `RunConflict`."""
    state = await load_run(store, run_id, at)
    forked_id = os.urandom(8).hex() if new_run_id is None else check_run_id(new_run_id)
    log = forked_log(state, forked_id, now)
    summary = summarise(fold(log), now=now, owner="", held_until=now)
    await store.append(forked_id, 0, [encode_event(event) for event in log], summary)
    return forked_id


def forked_log(state: State, forked_id: str, now: float) -> list[RunEvent]:
    """The log of a run of its own that begins as the one that led to `state`."""
    started = state.log[0]
    assert isinstance(started, RunStarted)
    return [structs.replace(started, run_id=forked_id, at=now, forked_from=state.run_id), *state.log[1:]]


def fingerprint_of(first: Agent[Any, Any]) -> str:
    """A digest of how `first` and every agent it can reach, by handoff or as a tool, are declared."""
    seen: dict[int, Agent[Any, Any]] = {}
    waiting = [first]
    declared: list[object] = []
    while waiting:
        agent = waiting.pop()
        if id(agent) in seen:
            continue
        seen[id(agent)] = agent
        declaration = agent.declaration()
        text = agent.instructions if isinstance(agent.instructions, str) else ""
        declared.append((agent.name, text, declaration.spec))
        waiting += [handoff.agent for handoff in declaration.handoffs.values()]
        waiting += [tool.agent for tool in declaration.tools.values() if isinstance(tool, AgentTool)]
    encoded = msgspec.json.encode(declared, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:16]


def _declared_at_reply(state: State) -> str:
    """How the agents were declared when the model was last heard: its open calls are calls of those tools."""
    declared = heard = ""
    for event in state.log:
        if isinstance(event, RunStarted | RunResumed):
            declared = event.fingerprint
            continue
        while isinstance(event, Nested):
            event = event.event
        if isinstance(event, ModelReplied):
            heard = declared
    return heard


def _waits_for(state: State, decision: RunEvent) -> bool:
    """Whether a decision is about a call that waits in `state`. One that is not about a call always fits."""
    path: list[str] = []
    while isinstance(decision, Nested):
        path.append(decision.call_id)
        decision = decision.event
    call_id = getattr(decision, "call_id", None)
    return call_id is None or any(item.call_id == call_id and item.path == tuple(path) for item in interruptions(state))
