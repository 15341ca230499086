"""`EvalReport`: what an eval came to, as data: saved as JSON, shown as a table, compared with an earlier one."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec
from msgspec import Struct, structs

from agentsdk.evals.interval import Interval, interval_of_mean, interval_of_rate
from agentsdk.evals.score import Score
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
        from agentsdk.evals.table import table_of

        return table_of(self)

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
