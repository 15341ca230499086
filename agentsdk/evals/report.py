"""`EvalReport`: what an eval came to, as data: saved as JSON, shown as a table, compared with an earlier one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec
from msgspec import Struct, structs

from agentsdk.evals.comparison import Difference, EvalComparison, comparison_lines
from agentsdk.evals.interval import Interval, interval_of_mean, interval_of_rate, sign_test
from agentsdk.evals.score import Score
from agentsdk.evals.table import MAX_LISTED, columns, counted, dollars, fitted, percent, short_name, span_text, wrapped
from agentsdk.types.declared import Fields, a, number
from agentsdk.types.errors import UserError

VERSION = 1
"""Of the form in which a report is saved."""

CaseStatus = Literal["passed", "failed", "error", "not_run"]
"""What became of a run of a case: no scorer failed it; one did; the run or a scorer raised; it was not begun or not ended."""


class CaseReplay(Struct, frozen=True, kw_only=True):
    """How a stored run was replayed: `reused` replies were the record's, `asked` were asked for. `divergence` says where the
    runs part, `""` where they do not. The `cost` of a result is that of the whole run, as if all had been asked for."""

    reused: int
    asked: int
    divergence: str = ""


class CaseResult(Struct, frozen=True, kw_only=True):
    """One run of a case by one agent. `repeat` counts from 1.

    `error` says why the run has no output or a scorer no score, or why it was not run. `output` is shown as text, shortened;
    `calls` are the names of the tools that the model called. `cost` and `scoring_cost` (of judges) are in US dollars, None
    where that is not known; `duration` is in seconds.
    """

    case: str
    agent: str
    repeat: int
    status: CaseStatus
    scores: dict[str, Score] = {}
    error: str = ""
    output: str = ""
    calls: tuple[str, ...] = ()
    run_id: str = ""
    tokens: int = 0
    cost: Decimal | None = Decimal(0)
    scoring_cost: Decimal | None = Decimal(0)
    duration: float = 0.0
    replay: CaseReplay | None = None


class ReportedCase(Struct, frozen=True, kw_only=True):
    """A case as a report keeps it: its input and what was expected, as text, shortened; `digest` stands for all of both."""

    name: str
    input: str
    expected: str | None
    digest: str
    run_id: str = ""


class Mean(Struct, frozen=True):
    """The mean of a figure over cases, each by the mean of its runs. The interval is Student's, None of fewer than two cases;
    of a score that only says whether a run has passed it is Wilson's."""

    mean: float
    interval: Interval | None


class AgentSummary(Struct, frozen=True, kw_only=True):
    """What the runs of one agent came to. `pass_rate` and `interval` (Wilson's, a case counting once) leave out runs that were
    not run, and count errors as not passed; None where nothing was run. `scores` are by the scorers' names."""

    agent: str
    runs: int
    passed: int
    failed: int
    errors: int
    not_run: int
    pass_rate: float | None
    interval: Interval | None
    tokens: int
    cost: Decimal | None
    scoring_cost: Decimal | None
    duration: Mean | None
    scores: dict[str, Mean]


class EvalReport(Struct, frozen=True, kw_only=True):
    """What an eval came to: for each case, agent and repeat one result, also where it was not run.

    `str(report)` is a table of at most 80 columns. `at` is a Unix timestamp. `stopped` says why not all was run.
    """

    name: str
    agents: tuple[str, ...]
    scorers: tuple[str, ...]
    repeats: int
    cases: tuple[ReportedCase, ...]
    results: tuple[CaseResult, ...]
    at: float
    stopped: str = ""
    version: int = VERSION

    def __str__(self) -> str:
        return _table(self)

    @property
    def is_whole(self) -> bool:
        """Whether every run was run."""
        return all(result.status != "not_run" for result in self.results)

    def only(self, agent: str) -> EvalReport:
        """The report of one of the agents. Raises `UserError` for one there is not."""
        if agent not in self.agents:
            raise UserError(f"report {self.name!r} has no agent {agent!r}, expected one of {list(self.agents)}")
        return structs.replace(self, agents=(agent,), results=tuple([one for one in self.results if one.agent == agent]))

    def summary(self, agent: str) -> AgentSummary:
        """What the runs of an agent came to. Raises `UserError` for one there is not."""
        results = self.only(agent).results
        ran = [one for one in results if one.status != "not_run"]
        count = {status: sum(one.status == status for one in results) for status in ("passed", "failed", "error", "not_run")}
        rates = list(pass_rates(ran).values())
        return AgentSummary(
            agent=agent,
            runs=len(results),
            passed=count["passed"],
            failed=count["failed"],
            errors=count["error"],
            not_run=count["not_run"],
            pass_rate=fmean(rates) if rates else None,
            interval=interval_of_rate(rates) if rates else None,
            tokens=sum(one.tokens for one in results),
            cost=added([one.cost for one in results]),
            scoring_cost=added([one.scoring_cost for one in results]),
            duration=mean_of([(one.case, one.duration) for one in ran]),
            scores={name: mean for name in self.scorers if (mean := _mean_score(name, ran)) is not None},
        )

    def to_json(self) -> str:
        """The report as JSON text."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode()

    @staticmethod
    def from_json(text: str | bytes) -> EvalReport:
        """The report that `to_json` gave as text. Raises `UserError` for what is none, and for one of a newer version."""
        try:
            version = msgspec.json.decode(text, type=_Version).version
            if version > VERSION:
                raise UserError(
                    f"the report is of version {version}, expected {VERSION} at most; read it with a newer agentsdk"
                )
            return msgspec.json.decode(text, type=EvalReport)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise UserError(
                f"the text is no report of an eval ({error}), expected what to_json gave; run the eval again"
            ) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, all of it or nothing. Raises `OSError`."""
        target = Path(path)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            draft.write_text(self.to_json(), encoding="utf-8")
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> EvalReport:
        """The report that `save` wrote. Raises like `from_json`, and `OSError`."""
        return EvalReport.from_json(Path(path).read_bytes())


class _Version(Struct):
    version: int


def assert_passes(report: EvalReport, *, at_least: float = 1.0) -> None:
    """For tests: fails with the report as text, unless of each agent's runs the share `at_least` has passed.

    What was not run has not passed. Cases count alike, each by the share of its repeats. Raises `AssertionError`, and
    `UserError` for wrong arguments.
    """
    __tracebackhide__ = True
    _FIELDS.check_given("assert_passes", report=report, at_least=at_least)
    for agent in report.agents:
        rates = pass_rates(report.only(agent).results)
        if (rate := fmean(rates.values())) < at_least - 1e-9:
            raise AssertionError(f"{agent} passed {rate:.1%} of {report.name}, expected {at_least:.1%} at least\n\n{report}")


_FIELDS = Fields(
    "assert_passes",
    report=a(EvalReport, "an EvalReport"),
    at_least=number("a share above 0, 1 at most; write 0.9, say", above=0, most=1),
)


def pass_rates(results: tuple[CaseResult, ...] | list[CaseResult]) -> dict[str, float]:
    """For each case the share of its runs that passed."""
    return by_case([(one.case, float(one.status == "passed")) for one in results])


def by_case(values: list[tuple[str, float]]) -> dict[str, float]:
    """The mean of each case's values."""
    cases: dict[str, list[float]] = {}
    for case, value in values:
        cases.setdefault(case, []).append(value)
    return {case: fmean(given) for case, given in cases.items()}


def mean_of(values: list[tuple[str, float]], *, is_rate: bool = False) -> Mean | None:
    """The mean over cases; None of no values. `is_rate`: each says whether something was so."""
    means = list(by_case(values).values())
    if not means:
        return None
    return Mean(fmean(means), interval_of_rate(means) if is_rate else interval_of_mean(means))


def _mean_score(name: str, results: list[CaseResult]) -> Mean | None:
    """The mean of what a scorer said; None where it said nothing."""
    said = [(one.case, one.scores[name]) for one in results if name in one.scores]
    is_rate = all(score.passed is not None and score.value == score.passed for _, score in said)
    return mean_of([(case, score.value) for case, score in said], is_rate=is_rate)


def added(costs: list[Decimal | None]) -> Decimal | None:
    """The sum; None where one is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


def compare(report: EvalReport, baseline: EvalReport) -> EvalComparison:
    """What `report` changed against `baseline`. Each is of one agent: take `report.only("name")` of one with several.

    Raises `UserError` for a report of several agents.
    """
    _COMPARED.check_given("compare", report=report, baseline=baseline)
    for one in (report, baseline):
        if len(one.agents) != 1:
            raise UserError(
                f"compare was given a report of the agents {list(one.agents)}, expected one agent; pass report.only('...')"
            )
    before, after = _ran(baseline), _ran(report)
    known = {case.name: case.digest for case in baseline.cases}
    alike = {case.name for case in report.cases if known.get(case.name) == case.digest}
    rates_before, rates_after = pass_rates(before), pass_rates(after)
    shared = [name for name in rates_after if name in rates_before and name in alike]
    better = tuple([name for name in shared if rates_after[name] > rates_before[name]])
    worse = tuple([name for name in shared if rates_after[name] < rates_before[name]])
    names = {case.name: None for case in (*report.cases, *baseline.cases)}
    return EvalComparison(
        baseline=_label(baseline, report),
        agent=_label(report, baseline),
        cases=len(shared),
        pass_rate=_difference(rates_before, rates_after, shared),
        better=better,
        worse=worse,
        p_value=sign_test(len(better), len(worse)),
        cost=_difference(_costs(before), _costs(after), shared),
        duration=_difference(_durations(before), _durations(after), shared),
        not_compared=tuple([name for name in names if name not in shared]),
    )


def _label(report: EvalReport, other: EvalReport) -> str:
    """What sets a report apart from the other: the agent, or, of the same one, which of the reports."""
    if report.agents != other.agents:
        return report.agents[0]
    return f"{report.agents[0]} {'before' if (report.at, report.name) < (other.at, other.name) else 'now'}"


def _ran(report: EvalReport) -> list[CaseResult]:
    return [one for one in report.results if one.status != "not_run"]


def _costs(results: list[CaseResult]) -> dict[str, float]:
    unknown = {one.case for one in results if one.cost is None}
    return by_case([(one.case, float(one.cost or Decimal(0))) for one in results if one.case not in unknown])


def _durations(results: list[CaseResult]) -> dict[str, float]:
    return by_case([(one.case, one.duration) for one in results])


def _difference(before: dict[str, float], after: dict[str, float], cases: Sequence[str]) -> Difference | None:
    """None where a figure is not known of some case, or there are no cases."""
    if not cases or not all(name in before and name in after for name in cases):
        return None
    changes = [after[name] - before[name] for name in cases]
    return Difference(fmean(before[name] for name in cases), fmean(after[name] for name in cases), interval_of_mean(changes))


_COMPARED = Fields("compare", report=a(EvalReport, "an EvalReport"), baseline=a(EvalReport, "an EvalReport"))


def _table(report: EvalReport) -> str:
    """The report as text."""
    summaries = [report.summary(agent) for agent in report.agents]
    repeats = f" x {report.repeats} repeats" if report.repeats > 1 else ""
    lines = [f"{report.name}: {counted(len(report.cases), 'case')}{repeats}", ""]
    head = ("agent", "passed", "rate", "95 %", "errors", "not run", "cost", "seconds")
    lines += columns(head, [_summary_row(one) for one in summaries], names=1)
    scores = [
        (name, one.agent, f"{mean.mean:.3g}", "-" if mean.interval is None else span_text(mean.interval))
        for name in report.scorers
        for one in summaries
        if (mean := one.scores.get(name)) is not None
    ]
    if scores:
        lines += ["", *columns(("scorer", "agent", "mean", "95 %"), scores, names=2)]
    judged = [one.scoring_cost for one in summaries]
    if any(cost is None or cost for cost in judged):
        lines += ["", f"judges cost {' + '.join(map(dollars, judged))}"]
    if report.stopped:
        lines += ["", f"stopped: {report.stopped}"]
    lines += _not_passed([one for one in report.results if not (one.status == "not_run" and one.error == report.stopped)])
    first, *others = report.agents
    for other in others:
        lines += ["", *comparison_lines(compare(report.only(other), report.only(first)))]
    return "\n".join([fitted(line) for line in lines])


def _summary_row(summary: AgentSummary) -> Sequence[str]:
    rate, span = summary.pass_rate, summary.interval
    return (
        summary.agent,
        f"{summary.passed}/{summary.runs}",
        "-" if rate is None else percent(rate),
        "-" if span is None else f"{100 * span.low:.0f} to {percent(span.high)}",
        str(summary.errors),
        str(summary.not_run),
        dollars(summary.cost),
        "-" if summary.duration is None else f"{summary.duration.mean:.2f}",
    )


def _not_passed(results: Iterable[CaseResult]) -> Iterator[str]:
    """The runs that have not passed, and why."""
    found = [one for one in results if one.status != "passed"]
    for one in found[:MAX_LISTED]:
        repeat = f", repeat {one.repeat}" if one.repeat > 1 else ""
        yield ""
        yield f"{one.status.replace('_', ' ')}: {short_name(one.agent)}, {one.case}{repeat}"
        yield from wrapped("; ".join(_reasons(one)))
    if len(found) > MAX_LISTED:
        yield ""
        yield f"and {len(found) - MAX_LISTED} more; the report has them all"


def _reasons(result: CaseResult) -> list[str]:
    """Why a run has not passed."""
    failed = [f"{name}: {score.reason or score.value}" for name, score in result.scores.items() if score.passed is False]
    return ([result.error] if result.error else []) + failed
