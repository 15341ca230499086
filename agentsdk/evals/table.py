"""A report and a comparison as text: at most 80 columns, nothing a model wrote but as plain characters."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from agentsdk.evals.comparison import Difference, EvalComparison, compare
from agentsdk.evals.interval import Interval
from agentsdk.evals.report import AgentSummary, CaseResult, EvalReport
from agentsdk.types.text import escaped, shortened

WIDTH = 80
MAX_LISTED = 20
"""How many runs that did not pass are listed."""

_MAX_NAME = 16


def table_of(report: EvalReport) -> str:
    """The report as text."""
    summaries = [report.summary(agent) for agent in report.agents]
    repeats = f" x {report.repeats} repeats" if report.repeats > 1 else ""
    lines = [f"{report.name}: {_count(len(report.cases), 'case')}{repeats}", ""]
    head = ("agent", "passed", "rate", "95 %", "errors", "not run", "cost", "seconds")
    lines += _columns(head, [_summary_row(one) for one in summaries], names=1)
    scores = [
        (name, one.agent, f"{mean.mean:.3g}", "-" if mean.interval is None else _span(mean.interval))
        for name in report.scorers
        for one in summaries
        if (mean := one.scores.get(name)) is not None
    ]
    if scores:
        lines += ["", *_columns(("scorer", "agent", "mean", "95 %"), scores, names=2)]
    judged = [one.scoring_cost for one in summaries]
    if any(cost is None or cost for cost in judged):
        lines += ["", f"judges cost {' + '.join(map(_dollars, judged))}"]
    if report.stopped:
        lines += ["", f"stopped: {report.stopped}"]
    lines += _not_passed([one for one in report.results if not (one.status == "not_run" and one.error == report.stopped)])
    first, *others = report.agents
    for other in others:
        lines += ["", *comparison_lines(compare(report.only(other), report.only(first)))]
    return "\n".join([_line(line) for line in lines])


def comparison_lines(comparison: EvalComparison) -> list[str]:
    """A comparison as lines of text."""
    better, worse = len(comparison.better), len(comparison.worse)
    same = comparison.cases - better - worse
    heading = f"{_name(comparison.agent)} against {_name(comparison.baseline)}: {better} better, {worse} worse, {same} the same"
    lines = [heading]
    if comparison.pass_rate is not None:
        rates = f"{_percent(comparison.pass_rate.before)} -> {_percent(comparison.pass_rate.after)}"
        lines.append(f"  passed   {rates}; {_verdict(comparison)}")
    if comparison.cost is not None:
        lines.append(f"  cost     {_change(comparison.cost, _money)} a run")
    if comparison.duration is not None:
        lines.append(f"  seconds  {_change(comparison.duration, '{:.2f}'.format)} a run")
    for title, names in (("better", comparison.better), ("worse", comparison.worse), ("left out", comparison.not_compared)):
        lines += [f"  {title}: {name}" for name in _first(names)]
    return [_line(line) for line in lines]


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


def _summary_row(summary: AgentSummary) -> Sequence[str]:
    rate, span = summary.pass_rate, summary.interval
    return (
        summary.agent,
        f"{summary.passed}/{summary.runs}",
        "-" if rate is None else _percent(rate),
        "-" if span is None else f"{100 * span.low:.0f} to {_percent(span.high)}",
        str(summary.errors),
        str(summary.not_run),
        _dollars(summary.cost),
        "-" if summary.duration is None else f"{summary.duration.mean:.2f}",
    )


def _not_passed(results: Iterable[CaseResult]) -> Iterator[str]:
    """The runs that have not passed, and why."""
    found = [one for one in results if one.status != "passed"]
    for one in found[:MAX_LISTED]:
        repeat = f", repeat {one.repeat}" if one.repeat > 1 else ""
        yield ""
        yield f"{one.status.replace('_', ' ')}: {_name(one.agent)}, {one.case}{repeat}"
        yield from _wrapped("; ".join(reasons_of(one)))
    if len(found) > MAX_LISTED:
        yield ""
        yield f"and {len(found) - MAX_LISTED} more; the report has them all"


def _wrapped(text: str) -> list[str]:
    """A reason in three lines at most."""
    return textwrap.wrap(escaped(text), WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=3, placeholder=" ...")


def reasons_of(result: CaseResult) -> list[str]:
    """Why a run has not passed."""
    failed = [f"{name}: {score.reason or score.value}" for name, score in result.scores.items() if score.passed is False]
    return ([result.error] if result.error else []) + failed


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """A table: the first columns, which are `names`, to the left, the figures to the right."""
    table = [head, *([*map(_name, row[:names]), *row[names:]] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines: list[str] = []
    for row in table:
        cells = zip(row, widths, strict=True)
        lines.append(
            "  ".join([cell.ljust(width) if at < names else cell.rjust(width) for at, (cell, width) in enumerate(cells)])
        )
    return lines


def _first(names: Sequence[str]) -> list[str]:
    more = len(names) - MAX_LISTED
    return [*names[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])]


def _span(interval: Interval) -> str:
    return f"{interval.low:.3g} to {interval.high:.3g}"


def _dollars(cost: Decimal | None) -> str:
    return "?" if cost is None else _money(float(cost))


def _money(dollars: float) -> str:
    return f"${dollars:,.6f}".rstrip("0").rstrip(".")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _name(text: str) -> str:
    return shortened(escaped(text), _MAX_NAME)


def _line(text: str) -> str:
    return shortened(escaped(text), WIDTH).rstrip()
