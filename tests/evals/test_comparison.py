"""Two reports side by side: what got better and worse, and whether that may be chance."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentsdk import UserError
from agentsdk.evals import Case, CaseResult, EvalReport, compare, equals, evaluate
from agentsdk.evals.report import ReportedCase
from tests.evals.agents import CAPITALS, GOOD, WEAK, config, geographer

pytestmark = pytest.mark.anyio


def report(passed: str, *, agent: str = "A", cost: str | None = "1", at: float = 0.0, digest: str = "d") -> EvalReport:
    """One whose cases a, b, c... have passed (`+`), not (`-`), raised (`!`), or were not run (` `); `2` passed once of two."""
    results: list[CaseResult] = []
    statuses: dict[str, list[Any]] = {
        "+": ["passed"],
        "-": ["failed"],
        "!": ["error"],
        " ": ["not_run"],
        "2": ["passed", "failed"],
    }
    for name, mark in zip("abcdefghijkl", passed, strict=False):
        for repeat, status in enumerate(statuses[mark], 1):
            price = None if cost is None else Decimal(cost)
            results.append(CaseResult(case=name, agent=agent, repeat=repeat, status=status, cost=price, duration=2.0))
    cases = [ReportedCase(name=name, input="", expected=None, digest=digest) for name in "abcdefghijkl"[: len(passed)]]
    return EvalReport(name="e", agents=(agent,), scorers=(), repeats=1, cases=tuple(cases), results=tuple(results), at=at)


def test_cases_are_compared_one_by_one() -> None:
    found = compare(report("+-2!", at=1.0), report("-+-+"))
    assert (found.better, found.worse, found.cases, found.not_compared) == (("a", "c"), ("b", "d"), 4, ())
    assert found.pass_rate is not None
    assert (found.pass_rate.before, found.pass_rate.after, found.pass_rate.change) == (0.5, 0.375, -0.125)
    assert (found.agent, found.baseline) == ("A now", "A before")


@pytest.mark.parametrize(
    ("after", "p", "significant"), [("+++++-", 0.0625, False), ("++++++", 0.03125, True), ("------", 1.0, False)]
)
def test_what_may_be_chance(after: str, p: float, significant: bool) -> None:
    found = compare(report(after), report("------"))
    assert (found.p_value, found.is_significant) == (p, significant)
    word = "more than chance" if significant else "may be chance" if found.better else "no case has changed"
    assert word in str(found)


def test_what_only_one_has_run_is_left_out() -> None:
    found = compare(report("++ +"), report("- +", at=1.0))
    assert (found.better, found.worse, found.cases, found.not_compared) == (("a",), (), 1, ("b", "c", "d"))
    changed = compare(report("+", digest="other"), report("-"))
    assert (changed.cases, changed.not_compared, changed.pass_rate, changed.p_value) == (0, ("a",), None, 1.0)
    assert str(changed).splitlines()[-1] == "  left out: a"


def test_costs() -> None:
    found = compare(report("++", cost="3"), report("++", cost="1"))
    assert found.cost is not None
    assert (found.cost.before, found.cost.after, found.cost.interval is None) == (1.0, 3.0, False)
    assert compare(report("+"), report("+", cost=None)).cost is None
    assert found.duration is not None and found.duration.change == 0.0


def test_the_text() -> None:
    found = compare(report("+-2!", agent="new", cost="0.03"), report("-+-+", agent="old", cost="0.01"))
    assert str(found).splitlines() == [
        "new against old: 2 better, 2 worse, 0 the same",
        "  passed   50 % -> 38 %; may be chance (p = 1, sign test)",
        "  cost     $0.01 -> $0.03 (+$0.02; 95 %: +$0.02 to +$0.02) a run",
        "  seconds  2.00 -> 2.00 (+0.00; 95 %: +0.00 to +0.00) a run",
        "  better: a",
        "  better: c",
        "  worse: b",
        "  worse: d",
    ]


async def test_a_report_of_two_agents_compares_them_with_the_first() -> None:
    agents = {"old": geographer(WEAK), "new": geographer(GOOD)}
    both = await evaluate("capitals", CAPITALS, agents, [equals()], run_config=config())
    found = compare(both.only("new"), both.only("old"))
    assert (found.better, found.worse) == (("Paris?", "Oslo?"), ())
    assert str(found) in str(both)
    with pytest.raises(UserError, match=r"agents \['old', 'new'\]"):
        compare(both, both.only("old"))


async def test_a_case_whose_expectation_has_changed_is_another() -> None:
    agent = geographer(GOOD)
    before = await evaluate("e", [Case("Rome?", "Italia")], agent, [equals()], run_config=config())
    after = await evaluate("e", [Case("Rome?", "Italy")], agent, [equals()], run_config=config())
    assert compare(after, before).not_compared == ("Rome?",)


def test_wrong_arguments() -> None:
    given: Any = "report.json"
    with pytest.raises(UserError, match="baseline="):
        compare(report("+"), given)
