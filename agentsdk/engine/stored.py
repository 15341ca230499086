"""Stored runs: begun in a store, resumed and forked there, and what others may do with them meanwhile."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from agentsdk.core.codec import decode_events, encode_event
from agentsdk.core.keys import SCHEME, approval_key
from agentsdk.core.limits.totals import Price, follow
from agentsdk.core.next_step import interruptions
from agentsdk.core.revisions import step_start
from agentsdk.core.run_state import Kept, RunState
from agentsdk.core.state import State, apply, fold, is_cancelled
from agentsdk.core.summary import summarize
from agentsdk.define.agent import Agent
from agentsdk.define.declaration import Declaration
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.backoff import with_retries
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.engine.claim import let_go, owner_text, take
from agentsdk.engine.decisions import dated
from agentsdk.engine.guards import Guard
from agentsdk.engine.recorder import Recorder
from agentsdk.engine.run import Run
from agentsdk.ports.run_store import not_found
from agentsdk.types.base import JsonObject
from agentsdk.types.declared import shown
from agentsdk.types.errors import RunConflictError, RunNotFoundError, StateCorruptError, UserError
from agentsdk.types.events import (
    ApprovalDecided,
    InputReplaced,
    ModelReplied,
    Nested,
    RunEvent,
    RunResumed,
    RunStarted,
    SignalsTaken,
    ViewRestored,
)
from agentsdk.types.hosted import Prompt
from agentsdk.types.owner import RunOwner
from agentsdk.types.spec import AgentSpec, Effect, HandoffSpec, OutputSpec, ToolSpec, ToolUse
from agentsdk.types.summary import check_run_id
from agentsdk.types.text import clean_text

_ATTEMPTS = 8
"""How often a decision is put to a run that others decide on at the same time."""


def store_of(config: RunConfig | None) -> CheckedStore:
    """The store of a run config. Raises `UserError` where there is none."""
    if config is not None and not isinstance(cast(object, config), RunConfig):
        raise UserError(f"run_config is {shown(config)}, expected a RunConfig; pass RunConfig(store=...)")
    if config is None or config.store is None:
        raise UserError(
            "no store given, expected the one that keeps the run; a run_id alone keeps nothing: "
            "pass run_config=RunConfig(store=...)"
        )
    return CheckedStore(config.store)


async def load_run(store: CheckedStore, run_id: str, at: int | None = None) -> State:
    """A stored run's state, or what it was at revision `at`; a handoff is one step, so within one it is what it was before.

    Raises `RunNotFoundError`, `StateCorruptError`, `StateVersionError`, `StoreError`, and `UserError` for a missing revision.
    """
    log = decode_events(await store.read(check_run_id(run_id)))
    if at is not None and not (type(cast(object, at)) is int and 0 < at <= len(log)):
        raise UserError(f"run {run_id!r} has no revision {shown(at)}, expected 1 to {len(log)}; choose one of them")
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


async def find_run(store: CheckedStore, run_id: str, *, required: bool) -> State | None:
    """`load_run`, or None for a run that does not exist, unless it is `required`."""
    try:
        return await load_run(store, run_id)
    except RunNotFoundError:
        if required:
            raise
        return None


async def begin_stored(
    run: Run, begin: tuple[RunEvent, ...], store: CheckedStore, first: Agent[Any, Any]
) -> tuple[RunEvent, ...]:
    """Give `run` its recorder; the events that it begins, or goes on, with.

    The state may be ahead of the store, which is then given what it lacks first. Raises `RunConflictError` if the run
    stands in the store, but elsewhere than here.
    """
    deps, state, fingerprint = run.deps, run.state, fingerprint_of(first)
    kept = run.kept or Kept(0)
    config, now = deps.config, deps.now
    await deps.catalog.read_price_lists()
    follow(state.log, deps.price)
    summary = await with_retries(lambda: store.summary(state.run_id), config, now) if state.log else None
    rev = 0 if summary is None else summary.rev
    if summary is not None:
        # What this process does not know to stand there is compared whole: another way may end with the same event.
        # Both sides as they would be written now: what stands there may have been written by another version.
        known = kept.rev - 1 if 0 < kept.rev <= rev else 0
        latest = await with_retries(lambda: store.read(state.run_id, known), config, now) if rev <= len(state.log) else []
        ours = [encode_event(event) for event in state.log[known:rev]]
        if not latest or [encode_event(event) for event in decode_events(latest)] != ours:
            raise RunConflictError(
                f"run {state.run_id!r} has come to revision {rev} of its store on another way than this state, expected its "
                "latest state; go on with Runner.resume"
            )
        if (owner := config.owner) is not None:
            await with_retries(lambda: take(store, summary, owner, now()), config, now)
    kept = kept._replace(rev=rev)
    deps.full_results.update(kept.attachments)
    run.recorder = Recorder(store, config, now, state, kept, run.advance, deps.grace)
    run.recorder.signals = 0 if summary is None else summary.signals
    if not state.log:
        started, *more = begin
        return (structs.replace(started, fingerprint=fingerprint), *more)
    run.recorder.redefined = _declared_at_reply(state) not in ("", fingerprint)
    return (RunResumed(os.urandom(8).hex(), now(), fingerprint), *begin)


async def let_go_of_ended(run: Run, store: CheckedStore) -> None:
    """Let go of a run that has ended, where whoever ended it could not: its store was away, or its process died, just then.

    Else it would be taken for a run in work for ever. Raises `StoreError`.
    """
    config, now, state = run.deps.config, run.deps.now, run.state
    summary = await with_retries(lambda: store.summary(state.run_id), config, now)
    if summary is None or summary.status != "running" or summary.rev != len(state.log):
        return
    is_ours = run.kept is not None and run.kept.owner == summary.owner
    if is_ours or summary.held_until <= now():
        with suppress(RunConflictError):  # another one was first
            await let_go(store, state, summary.owner, now())


async def release(store: CheckedStore, run_id: str, now: float) -> None:
    """Take a run from whoever holds it, at the word of one who knows that nobody works on it."""
    summary = await store.summary(run_id)
    if summary is not None and summary.held_until > now:
        await store.append(run_id, summary.rev, (), structs.replace(summary, updated_at=now, held_until=now))


async def save_decisions(store: CheckedStore, decided: RunState, now: float, price: Price) -> RunState:
    """Append what was decided on a stored run that waits, also where others have decided on it since.

    Raises `RunConflictError` if the run is held, or no longer waits for what was decided.
    """
    seen, decisions = decided.pieces()
    run_id = decided.run_id
    if decided.added_input:
        raise UserError(
            f"the state of run {run_id!r} has more input for it, which its agents' guardrails judge before it is stored, "
            "expected decisions alone; resume the run with that state: Runner.run(agent, state, run_config=...)"
        )
    if not decisions:
        return decided
    decisions = dated(decisions, now)
    for _ in range(_ATTEMPTS):
        before = await load_run(store, run_id)
        follow(before.log, price)
        standing, state = await store.summary(run_id), before
        for event in decisions:
            moved_on = isinstance(event, InputReplaced | ViewRestored) and len(before.log) != len(seen.log)
            if moved_on or not _waits_for(state, event):
                raise RunConflictError(
                    f"run {run_id!r} no longer waits for what was decided here, expected it to; another process was first: "
                    "load the run again"
                )
            state = apply(state, event)
        # Nobody holds the run, but which attempt had it last is kept: it is later than those before it still.
        owner = owner_text(None if standing is None else RunOwner.read(standing.owner))
        summary = summarize(state, now=now, owner=owner, held_until=now)
        try:
            await store.append(run_id, len(before.log), [encode_event(event) for event in decisions], summary)
        except RunConflictError:
            latest = await store.summary(run_id)
            if latest is None or latest.rev == len(before.log):
                raise  # not moved on, but held
            continue
        return RunState(state, state_key=decided.state_key, context=decided.context)
    raise RunConflictError(f"run {run_id!r} changed {_ATTEMPTS} times while decisions were put to it; load it and decide again")


async def save_fork(store: CheckedStore, fork: State, now: float, price: Price) -> None:
    """Keep a fork as a run of its own. Raises `RunConflictError` for an id in use, and `StoreError`."""
    follow(fork.log, price)
    summary = summarize(fork, now=now, owner="", held_until=now)
    await store.append(fork.run_id, 0, [encode_event(event) for event in fork.log], summary)


def forked(
    state: State,
    run_id: str,
    now: float,
    *,
    keep_approvals: bool = False,
    guards: tuple[Guard, ...] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> State:
    """A run of its own that begins as the one that led to `state`; under other `guards`, where they are given, and with
    `metadata` over that of the other.

    An approval is of one run: what waits to be acted on is asked again, and nothing is approved ahead, unless
    `keep_approvals` gives what was decided to the fork as well. So is a cancel: the fork of a cancelled run goes on.
    """
    started = state.log[0]
    assert isinstance(started, RunStarted)
    if started.conversation_id:
        raise UserError(
            f"run {state.run_id!r} is part of a conversation that the provider keeps, which cannot be forked, expected one "
            "that was begun without a conversation_id; begin a new run with result.to_input_list()"
        )
    started = structs.replace(started, run_id=run_id, at=now, forked_from=state.run_id, keys=SCHEME)
    if metadata:
        started = structs.replace(started, metadata={**started.metadata, **metadata})
    if guards is not None:
        started = structs.replace(started, guards=guards)
    copied: list[RunEvent] = [event for event in state.log[1:] if not isinstance(event, SignalsTaken)]  # its mailbox is empty
    if is_cancelled(state):
        copied.remove(cast(RunEvent, state.stopped))
    if not keep_approvals:
        copied = [_just_once(event) for event in copied]
    return fold([started, *copied, *_decided_anew(state, run_id, (), keep_approvals), *_awaited_anew(state, now)])


def _just_once(event: RunEvent) -> RunEvent:
    """An approval of one call, where it was one of all its tool's. What is refused stays refused."""
    if isinstance(event, Nested):
        inner = _just_once(event.event)
        return event if inner is event.event else Nested(event.call_id, inner)
    if isinstance(event, ApprovalDecided) and event.always and event.approved:
        return structs.replace(event, always=False)
    return event


def _awaited_anew(state: State, now: float) -> list[RunEvent]:
    """What a fork records of the calls that wait for an answer: their time begins with the fork."""
    turn = state.turn
    if turn is None:
        return []
    events: list[RunEvent] = [
        structs.replace(awaited, at=now, deadline=now + awaited.deadline - awaited.at)
        for call_id, awaited in turn.outside.awaited.items()
        if awaited.deadline is not None and call_id not in turn.outside.answers and call_id not in turn.results
    ]
    for call_id, child in turn.children.items():
        if call_id not in turn.results:
            events += [Nested(call_id, event) for event in _awaited_anew(child, now)]
    return events


def _decided_anew(state: State, run_id: str, path: tuple[str, ...], keep: bool) -> list[RunEvent]:
    """What a fork records of the decisions that its origin has not yet done with: they are bound to it, or put again."""
    turn = state.turn
    if turn is None:
        return []
    events: list[RunEvent] = []
    for call in turn.calls:
        call_id = call.call_id
        if call_id in turn.results:
            continue
        asked, decided = turn.asked.get(call_id), turn.decisions.get(call_id)
        if keep and decided is not None:
            digest = approval_key(SCHEME, run_id, path, call)
            events.append(structs.replace(decided, digest=digest, always=False))
        elif not keep and asked is not None and asked.needed and (decided is not None or call_id in turn.intended):
            events.append(structs.replace(asked, begun=call_id in turn.intended))
    for call_id, child in turn.children.items():
        if call_id not in turn.results:
            events += [Nested(call_id, event) for event in _decided_anew(child, run_id, (*path, call_id), keep)]
    return events


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
        declaration = Declaration.of(agent)
        text = clean_text(agent.instructions) if isinstance(agent.instructions, str) else ""
        declared.append((agent.name, text, _recorded(declaration.spec), *[tool.declared for tool in declaration.hosted]))
        if isinstance(agent.prompt, Prompt):
            declared.append(agent.prompt)
        waiting += [handoff.agent for handoff in declaration.handoffs.values()]
        waiting += declaration.nested_agents
    encoded = msgspec.json.encode(declared, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:16]


class _Tool(Struct, frozen=True):
    """A tool's spec as it was in version 0.2."""

    name: str
    description: str
    parameters: JsonObject
    strict: bool
    effect: Effect
    needs_approval: bool | None
    polling: bool


class _Output(Struct, frozen=True):
    """An output's spec as it was in version 0.2."""

    name: str
    schema: JsonObject
    strict: bool


class _Agent(Struct, frozen=True):
    """An agent's spec as it was in version 0.2."""

    name: str
    tools: dict[str, _Tool | ToolSpec]
    handoffs: dict[str, HandoffSpec]
    output: _Output | OutputSpec | None
    tool_use: ToolUse
    stop_at: frozenset[str]
    output_guardrails: tuple[str, ...]


def _recorded(spec: AgentSpec) -> _Agent:
    """The spec as fingerprints have it: what came later counts where it is used, so that earlier runs are not taken to have
    changed."""
    tools: dict[str, _Tool | ToolSpec] = {}
    for name, tool in spec.tools.items():
        fields = [getattr(tool, field) for field in _Tool.__struct_fields__]
        tools[name] = _Tool(*fields) if tool == ToolSpec(*fields) else tool
    output: _Output | OutputSpec | None = spec.output
    if isinstance(output, OutputSpec) and output.mode == "native":
        output = _Output(output.name, output.schema, output.strict)
    return _Agent(spec.name, tools, spec.handoffs, output, spec.tool_use, spec.stop_at, spec.output_guardrails)


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
