"""`EvalComparison`: what has changed from one report to another, case by case, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from agentsdk.evals.interval import Interval
from agentsdk.evals.table import first_of, fitted, money, percent, short_name

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
        return "\n".join(comparison_lines(self))


def comparison_lines(comparison: EvalComparison) -> list[str]:
    """A comparison as lines of text."""
    better, worse = len(comparison.better), len(comparison.worse)
    same = comparison.cases - better - worse
    names = f"{short_name(comparison.agent)} against {short_name(comparison.baseline)}"
    lines = [f"{names}: {better} better, {worse} worse, {same} the same"]
    if comparison.pass_rate is not None:
        rates = f"{percent(comparison.pass_rate.before)} -> {percent(comparison.pass_rate.after)}"
        lines.append(f"  passed   {rates}; {_verdict(comparison)}")
    if comparison.cost is not None:
        lines.append(f"  cost     {_change(comparison.cost, money)} a run")
    if comparison.duration is not None:
        lines.append(f"  seconds  {_change(comparison.duration, '{:.2f}'.format)} a run")
    for title, cases in (("better", comparison.better), ("worse", comparison.worse), ("left out", comparison.not_compared)):
        lines += [f"  {title}: {name}" for name in first_of(cases)]
    return [fitted(line) for line in lines]


def _verdict(comparison: EvalComparison) -> str:
    if not (comparison.better or comparison.worse):
        return "no case has changed"
    chance = "more than chance" if comparison.is_significant else "may be chance"
    return f"{chance} (p = {comparison.p_value:.2g}, sign test)"


def _change(given: Difference, figure: Callable[[float], str]) -> str:
    def signed(value: float) -> str:
        return f"{'-' if value < 0 else '+'}{figure(abs(value))}"

    span = given.interval
    within = "" if span is None else f"; 95 %: {signed(span.low)} to {signed(span.high)}"
    return f"{figure(given.before)} -> {figure(given.after)} ({signed(given.change)}{within})"
