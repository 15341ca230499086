"""`evaluate`: every case is run by every agent, side by side, and scored. What goes wrong with one is its result; others go on.

With a store each run is a stored run whose id says of which eval, agent, case and repeat it is. So an eval that was cut goes on
where it stood: finished runs are taken from the store, and so is what judges have said of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from agentsdk.core.keys import digest
from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.begin import clock_of
from agentsdk.evals.case import RUN_IDS, Case, as_text
from agentsdk.evals.digest import agent_digest
from agentsdk.evals.one_run import Job, Setting, result_of, shown_text
from agentsdk.evals.report import CaseResult, EvalReport, ReportedCase
from agentsdk.evals.score import Scorer, scorers_by_name
from agentsdk.models.prices import price_with
from agentsdk.types.declared import CALLABLE, Expected, Fields, a, a_name, optional, sequence_of, shown, whole
from agentsdk.types.errors import UserError
from agentsdk.types.items import InputItem
from agentsdk.types.text import shortened, storable_text
from agentsdk.workflow import Workflow

In = TypeVar("In")
Out = TypeVar("Out")
Scorers = Sequence[Scorer[In, Out]] | Mapping[str, Scorer[In, Out]]
"""The scorers of an eval, named as their functions, or as the dict says."""

_MAX_NAME = 40
"""How much of each name is in the id of a run."""


@overload
async def evaluate(
    name: str,
    cases: Sequence[Case[In, Out]],
    agents: Workflow[In, Out] | Mapping[str, Workflow[In, Out]],
    scorers: Scorers[In, Out],
    *,
    repeats: int = 1,
    concurrency: int = 8,
    context: Callable[[Case[In, Out]], Any] | None = None,
    save_to: str | os.PathLike[str] | None = None,
    run_config: RunConfig | None = None,
) -> EvalReport: ...
@overload
async def evaluate(
    name: str,
    cases: Sequence[Case[str | Sequence[InputItem], Out]],
    agents: Agent[Any, Out] | Mapping[str, Agent[Any, Out]],
    scorers: Scorers[str | Sequence[InputItem], Out],
    *,
    repeats: int = 1,
    concurrency: int = 8,
    context: Callable[[Case[str | Sequence[InputItem], Out]], Any] | None = None,
    replay: Agent[Any, Any] | None = None,
    save_to: str | os.PathLike[str] | None = None,
    run_config: RunConfig | None = None,
) -> EvalReport: ...
async def evaluate(
    name: str,
    cases: Sequence[Case[Any, Any]],
    agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]],
    scorers: Scorers[Any, Any],
    *,
    repeats: int = 1,
    concurrency: int = 8,
    context: Callable[[Case[Any, Any]], Any] | None = None,
    replay: Agent[Any, Any] | None = None,
    save_to: str | os.PathLike[str] | None = None,
    run_config: RunConfig | None = None,
) -> EvalReport:
    """Run each of the `cases` with each of the `agents`, `repeats` times, `concurrency` runs at once, and score the runs.

    Agents in a dict are named by it in the report. `context` makes the context of a case's runs. With `replay`, the agent that
    made the stored runs of the cases (`recorded_cases`), each is replayed with the agent under test in its place: see
    `Runner.replay`.

    A run that raises, or has no output, is an error of that case, and so is a scorer that raises. Once a limit of
    `shared_limits` around the call is reached, what is left is reported as not run. The report is saved as JSON to `save_to`,
    also where the call is cancelled.

    With `run_config.store` runs are stored: called again with the same name it takes up those that are finished, and goes on
    with the others. Another name, or a changed agent, begins anew.

    Raises `UserError` for wrong arguments, no cases, and two cases of one name, before anything is run.
    """
    _FIELDS.check_given(
        "evaluate", name=name, cases=cases, repeats=repeats, concurrency=concurrency, context=context, replay=replay,
        save_to=save_to, run_config=run_config,
    )  # fmt: skip
    config = RunConfig() if run_config is None else run_config
    named = _agents_by_name(agents)
    _check(cases, config, replay)
    setting = Setting(
        name=storable_text(name),
        scorers=scorers_by_name(scorers),
        config=config,
        context=context,
        replay=replay,
        price=price_with(config.prices),
    )
    return await _evaluated(setting, cases, named, repeats, concurrency, save_to)


async def _evaluated(
    setting: Setting,
    cases: Sequence[Case[Any, Any]],
    named: Mapping[str, Agent[Any, Any]],
    repeats: int,
    concurrency: int,
    save_to: str | os.PathLike[str] | None,
) -> EvalReport:
    """The report of all runs, saved also where not all were run."""
    jobs = list(_jobs(setting, cases, named, repeats))
    results: dict[str, CaseResult] = {}
    try:
        await _work_off(jobs, setting, results, concurrency)
    except asyncio.CancelledError:
        setting.stopped = "it was cancelled"
        raise
    finally:
        report = _report(setting, cases, named, repeats, [(job, results.get(job.run_id)) for job in jobs])
        if save_to is not None:
            report.save(save_to)
    return report


async def _work_off(jobs: Sequence[Job], setting: Setting, results: dict[str, CaseResult], concurrency: int) -> None:
    """Fill in the results, several at once, until all are there or the eval is to stop."""
    waiting = iter(jobs)

    async def work() -> None:
        for job in waiting:
            if setting.stopped:
                return
            results[job.run_id] = await result_of(job, setting)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(jobs))):
            group.create_task(work())


def _jobs(
    setting: Setting, cases: Sequence[Case[Any, Any]], agents: Mapping[str, Agent[Any, Any]], repeats: int
) -> Iterator[Job]:
    """The runs in their order: all agents have run a case before the next one begins, so that what is cut can be compared."""
    config = setting.config
    how = [
        *(config.instructions, getattr(config.model, "name", config.model) or "", config.model_settings),
        *[tool.fingerprint for tool in config.tools],
    ]
    common = [setting.name, *map(str, how), "" if setting.replay is None else agent_digest(setting.replay)]
    digests = {label: agent_digest(agent) for label, agent in agents.items()}
    for repeat in range(1, repeats + 1):
        for case in cases:
            for label, agent in agents.items():
                input = as_text(case.input)
                whole = digest("agentsdk.evals", *common, label, digests[label], case.name, case.run_id, input, str(repeat))
                parts = [shortened(storable_text(part), _MAX_NAME) for part in (setting.name, label, case.name)]
                yield Job(case, label, agent, repeat, f"{RUN_IDS}{'/'.join(parts)}/{repeat}/{whole[:16]}")


def _report(
    setting: Setting,
    cases: Sequence[Case[Any, Any]],
    agents: Mapping[str, Agent[Any, Any]],
    repeats: int,
    done: Sequence[tuple[Job, CaseResult | None]],
) -> EvalReport:
    why = setting.stopped or "the eval was stopped"
    results = [CaseResult(**job.fields, status="not_run", error=why) if one is None else one for job, one in done]
    places = {case.name: place for place, case in enumerate(cases)}
    labels = {label: place for place, label in enumerate(agents)}
    return EvalReport(
        name=setting.name,
        agents=tuple(agents),
        scorers=tuple(setting.scorers),
        repeats=repeats,
        cases=tuple(map(_reported, cases)),
        results=tuple(sorted(results, key=lambda one: (places[one.case], labels[one.agent], one.repeat))),
        at=clock_of(setting.config)(),
        stopped=setting.stopped,
    )


def _reported(case: Case[Any, Any]) -> ReportedCase:
    input, expected = as_text(case.input), None if case.expected is None else as_text(case.expected)
    return ReportedCase(
        name=case.name,
        input=shown_text(case.input),
        expected=None if case.expected is None else shown_text(case.expected),
        digest=digest("agentsdk.evals.case", input, *([] if expected is None else [expected]))[:16],
        run_id=case.run_id,
    )


def _agents_by_name(given: object) -> dict[str, Agent[Any, Any]]:
    """The agents by their names in the report. Raises `UserError` for none, and for what is none."""
    if isinstance(given, Agent):
        return {storable_text(given.name): given}
    agents: dict[object, object] = dict(cast("Mapping[object, object]", given)) if isinstance(given, Mapping) else {}
    named: dict[str, Agent[Any, Any]] = {}
    for name, agent in agents.items():
        if isinstance(name, str) and isinstance(agent, Agent):
            named[storable_text(name)] = agent
    if not agents or len(named) < len(agents):
        raise UserError(
            f"evaluate was given the agents {sorted(map(shown, agents))}, expected an Agent, or a dict of them by name"
        )
    return named


def _check(cases: Sequence[Case[Any, Any]], config: RunConfig, replay: Agent[Any, Any] | None) -> None:
    """Raises `UserError` for what can be said before anything is run."""
    if not cases:
        raise UserError("evaluate was given no cases, expected one at least; pass [Case('2 + 2?', '4')], say")
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"two cases are named {twice!r}, expected names of their own; give one Case(..., name='...')")
    if config.run_id is not None or config.inbox is not None or config.is_hosted:
        raise UserError(
            "evaluate was given a RunConfig for one run (run_id, inbox or conversation), expected one for many; leave that out"
        )
    if replay is None:
        return
    if replay.driver is not None:
        raise UserError(
            f"evaluate was given workflow {replay.name!r} to replay, expected an agent; run its cases without replay="
        )
    if config.store is None:
        raise UserError("evaluate was given replay= but no store, expected the one of the runs; pass RunConfig(store=...)")
    for case in cases:
        if not case.run_id:
            raise UserError(f"case {case.name!r} is of no stored run, expected one to replay; take cases from recorded_cases")


def _is_path(value: object) -> bool:
    """Whether a report can be written there, asked before hours of work."""
    text = os.fspath(cast("str | os.PathLike[str]", value)) if isinstance(value, str | os.PathLike) else ""
    return bool(text) and storable_text(text) == text and Path(text).parent.is_dir() and not Path(text).is_dir()


_FIELDS = Fields(
    "evaluate",
    name=a_name("a name for the eval"),
    cases=sequence_of(a(Case, "a Case"), "a list of Case(...)"),
    repeats=whole("a whole number, 1 or more", 1),
    concurrency=whole("a whole number, 1 or more", 1),
    context=optional(CALLABLE),
    replay=optional(a(Agent, "an Agent, the one that made the runs")),
    save_to=optional(Expected("a path in a folder that is there; write 'report.json', say", _is_path)),
    run_config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
)
