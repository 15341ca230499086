"""One run of a case: run, or replayed, or taken from the store; then scored. Whatever goes wrong becomes its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

import msgspec

from agentsdk.core.limits.totals import Price, follow
from agentsdk.core.run_state import RunState
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.begin import clock_of
from agentsdk.engine.limits.limiter import SCOPE
from agentsdk.engine.rerun import ReplayWithChanges
from agentsdk.evals.case import Case, CaseRun, as_text
from agentsdk.evals.report import CaseReplay, CaseResult, added
from agentsdk.evals.score import Score, Scorer, score_of
from agentsdk.result import RunResult
from agentsdk.runner import Runner
from agentsdk.types.declared import shown
from agentsdk.types.errors import AgentsException, LimitExceededError, LimitKind, Number, RunConflictError, UserError
from agentsdk.types.text import clean_text, shortened, text_of
from agentsdk.workflow import Workflow

MAX_SHOWN = 4_000
"""How many characters of an input, an output or an error a report keeps. The run has all of them."""

_REPLAY = "eval-replay"
"""The attachment of a fork that says how it was replayed: it is there once the replay has come to its end."""


@dataclass(frozen=True)
class Job:
    """One run to be made: which case, by which agent, the how many-th time, under which id."""

    case: Case[Any, Any]
    label: str
    agent: Agent[Any, Any]
    repeat: int
    run_id: str

    @property
    def fields(self) -> dict[str, Any]:
        """What a result begins with."""
        return {"case": self.case.name, "agent": self.label, "repeat": self.repeat}


@dataclass(kw_only=True)
class Setting:
    """What all runs of an eval have in common. `stopped` says why no more are begun."""

    name: str
    scorers: Mapping[str, Scorer[Any, Any]]
    config: RunConfig
    context: Callable[[Case[Any, Any]], Any] | None
    replay: Agent[Any, Any] | None
    price: Price
    stopped: str = ""


@dataclass(frozen=True)
class _Played:
    """A run that has come to an end or a stop: its output where `problem` is empty."""

    state: RunState
    output: Any
    problem: str
    duration: float
    replay: CaseReplay | None = None


async def result_of(job: Job, setting: Setting) -> CaseResult:
    """Run the case, and score the run. Raises only what is no `Exception`: a cancellation."""
    try:
        return await _result(job, setting)
    except Exception as error:
        return _failed(job, setting, error)


async def _result(job: Job, setting: Setting) -> CaseResult:
    played = await (_run(job, setting) if setting.replay is None else _replayed(job, setting, setting.replay))
    facts = {**job.fields, **_facts(job, setting, played)}
    if played.problem and _has_stopped_at_budget(played.state, setting):
        return CaseResult(**facts, status="not_run", error=setting.stopped)
    if played.problem:
        return CaseResult(**facts, status="error", error=played.problem)
    run = CaseRun(
        case=job.case,
        agent=job.label,
        repeat=job.repeat,
        output=played.output,
        state=played.state,
        cost=facts["cost"],
        duration=played.duration,
        run_config=setting.config,
    )
    return await _scored(run, facts, setting)


async def _scored(run: CaseRun[Any, Any], facts: dict[str, Any], setting: Setting) -> CaseResult:
    scores: dict[str, Score] = {}
    problems: list[str] = []
    for name, scorer in setting.scorers.items():
        try:
            scores[name] = await score_of(scorer, run)
        except Exception as error:
            if _says_budget_is_out(error, setting):
                facts["scores"] = scores
                return CaseResult(**facts, status="not_run", error=f"scorer {name!r} was not run: {setting.stopped}")
            problems.append(f"scorer {name!r}: {_said(error)}")
    failed = any(score.passed is False for score in scores.values())
    costs = [score.cost for score in scores.values() if score.cost is not None]
    return CaseResult(
        **facts,
        status="error" if problems else "failed" if failed else "passed",
        scores=scores,
        error="; ".join(problems),
        scoring_cost=added([*costs]),
    )


def _failed(job: Job, setting: Setting, error: Exception) -> CaseResult:
    """The result of a run that raised."""
    state = error.state if isinstance(error, AgentsException) and isinstance(error.state, RunState) else None
    facts = job.fields if state is None else {**job.fields, **_facts(job, setting, _Played(state, None, "", 0.0))}
    out = _says_budget_is_out(error, setting)
    if out or isinstance(error, RunConflictError):  # which is held by another process: it may be in the middle of it
        return CaseResult(**facts, status="not_run", error=setting.stopped if out else _said(error))
    return CaseResult(**facts, status="error", error=_said(error))


def _facts(job: Job, setting: Setting, played: _Played) -> dict[str, Any]:
    """What a report keeps of a run."""
    state = played.state.value
    run: CaseRun[Any, Any] = CaseRun(
        case=job.case, agent=job.label, repeat=job.repeat, output=None, state=played.state, cost=None, duration=0.0,
        run_config=setting.config,
    )  # fmt: skip
    return {
        "output": "" if state.ended is None else shown_text(played.output),
        "calls": tuple([call.name for call in run.calls]),
        "run_id": state.run_id,
        "tokens": state.usage.total_tokens,
        "cost": follow(state.log, setting.price).total,
        "duration": played.duration,
        "replay": played.replay,
    }


def shown_text(value: object) -> str:
    """A value as a report keeps it."""
    try:
        text = as_text(value)
    except UserError:  # no JSON form
        text = shown(value)
    return clean_text(shortened(text, MAX_SHOWN))


def _has_stopped_at_budget(state: RunState, setting: Setting) -> bool:
    hit = state.value.limit
    if hit is None or not hit.allowed:
        return False
    return _is_budget_out(setting, cast(LimitKind, hit.limit), Decimal(hit.allowed))


def _says_budget_is_out(error: Exception, setting: Setting) -> bool:
    return isinstance(error, LimitExceededError) and _is_budget_out(setting, error.kind, error.limit)


def _is_budget_out(setting: Setting, kind: LimitKind, limit: Number) -> bool:
    """Whether that limit stands around the whole eval: then no more runs are begun."""
    scope = SCOPE.get()
    if scope is None or not scope.has_limit(kind, limit):
        return False
    setting.stopped = setting.stopped or f"the limit on {kind} around the eval is reached ({limit})"
    return True


def _said(error: BaseException) -> str:
    return clean_text(shortened(f"{type(error).__name__}: {text_of(error)}", MAX_SHOWN))


async def _run(job: Job, setting: Setting) -> _Played:
    """Run it, or go on with it, or take it from the store as it is."""
    given = setting.config
    about = {"eval": setting.name, "case": job.case.name, "agent": job.label, "repeat": str(job.repeat)}
    config = dataclasses.replace(given, run_id=job.run_id, metadata={**(given.metadata or {}), **about})
    input = job.case.input
    if job.agent.driver is not None:
        input = cast("Workflow[Any, Any]", job.agent).written(input)
    context = None if setting.context is None else setting.context(job.case)
    if config.store is None:
        result: RunResult[Any] = await Runner.run(job.agent, input, run_config=config, context=context)
        return _stood(result, result.duration)
    result = await Runner.drive(job.agent, job.run_id, input, run_config=config, context=context)
    summary = await config.store.summary(job.run_id)
    return _stood(result, result.duration if summary is None else summary.elapsed)


def _stood(result: RunResult[Any], duration: float) -> _Played:
    """A run as it stands: with its output, or without one and why."""
    state = result.to_state()
    if result.is_finished:
        return _Played(state, result.final_output, "", duration)
    waiting = ", ".join(sorted({item.tool_name for item in result.interruptions}))
    why = f"it waits for a decision on {waiting}" if waiting else f"it stopped: {result.stop_reason}"
    return _Played(state, None, f"the run has no output: {why}", duration)


async def _replayed(job: Job, setting: Setting, before: Agent[Any, Any]) -> _Played:
    """Replay the stored run with the agent under test in place of the one that made it, or take that from the store."""
    store, config = setting.config.store, setting.config
    assert store is not None
    known = await store.summary(job.run_id)
    kept = None if known is None else await store.attachment(job.run_id, _REPLAY)
    if known is not None and kept is None:
        if known.held_until > clock_of(config)():
            raise RunConflictError(f"run {job.run_id!r} is held by another process, expected none; try again once it has ended")
        await store.delete(job.run_id)  # it was cut, and a fork alone does not know what to take from the record
    if kept is None:
        context = None if setting.context is None else setting.context(job.case)
        replayed = await Runner.replay(
            before, job.case.run_id, change=job.agent, new_run_id=job.run_id, context=context, run_config=config
        )
        if replayed.error is not None:
            raise replayed.error
        await store.attach(job.run_id, _REPLAY, msgspec.json.encode(_facts_of(replayed)))
        facts = _facts_of(replayed)
        summary = await store.summary(job.run_id)
        state, output = replayed.state, replayed.final_output
    else:
        facts, summary = msgspec.json.decode(kept, type=_Replay), known
        state = await Runner.load(job.run_id, run_config=config)
        output = None
        if state.value.ended is not None:
            output = (await Runner.drive(job.agent, job.run_id, run_config=config)).final_output
    problem = "" if state.value.ended is not None else facts.problem
    return _Played(state, output, problem, 0.0 if summary is None else summary.elapsed, facts.replay)


class _Replay(msgspec.Struct):
    """How a replay went, and why it has no output."""

    replay: CaseReplay
    problem: str


def _facts_of(replayed: ReplayWithChanges) -> _Replay:
    where = "" if replayed.divergence is None else shortened(str(replayed.divergence), MAX_SHOWN)
    held = ", ".join(sorted({item.tool_name for item in replayed.held}))
    why = f"the replay stopped before a call of {held}, which would have an effect that the recorded run did not have"
    waits = "the replay has no output: it waits for a decision that the recorded run did not need"
    return _Replay(CaseReplay(reused=replayed.reused, asked=replayed.asked, divergence=where), why if held else waits)
