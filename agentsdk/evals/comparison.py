"""`EvalComparison`: what has changed from one report to another, case by case, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from statistics import fmean

from msgspec import Struct

from agentsdk.evals.interval import Interval, interval_of_mean, sign_test
from agentsdk.evals.report import CaseResult, EvalReport, by_case, pass_rates
from agentsdk.types.declared import Fields, a
from agentsdk.types.errors import UserError

SIGNIFICANT = 0.05


class Difference(Struct, frozen=True):
    """The means of a figure before and after, over the same cases, and Student's t interval for the difference."""

    before: float
    after: float
    interval: Interval | None

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before


class EvalComparison(Struct, frozen=True, kw_only=True):
    """A report beside an earlier one. Compared are the `cases` (how many) that both have run, with equal input and expectation.

    `better` and `worse` name those whose share of passed runs has risen or fallen. `p_value`: how likely so uneven a split is
    by chance, were both equally good (exact sign test). `cost` and `duration` are those of a run of a case, None where one is
    not known. `not_compared`: cases that only one has run, or whose input or expectation is another.
    """

    baseline: str
    agent: str
    cases: int
    pass_rate: Difference | None
    better: tuple[str, ...]
    worse: tuple[str, ...]
    p_value: float
    cost: Difference | None
    duration: Difference | None
    not_compared: tuple[str, ...]

    @property
    def is_significant(self) -> bool:
        """Whether chance alone would seldom (one time in twenty) give so uneven a split of better and worse."""
        return self.p_value < SIGNIFICANT

    def __str__(self) -> str:
        from agentsdk.evals.table import comparison_lines

        return "\n".join(comparison_lines(self))


def compare(report: EvalReport, baseline: EvalReport) -> EvalComparison:
    """What `report` changed against `baseline`. Each is of one agent: take `report.only("name")` of one with several.

    Raises `UserError` for a report of several agents.
    """
    _FIELDS.check_given("compare", report=report, baseline=baseline)
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


_FIELDS = Fields("compare", report=a(EvalReport, "an EvalReport"), baseline=a(EvalReport, "an EvalReport"))
