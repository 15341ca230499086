"""A report: its figures, its text, its file, and a test that holds it to a threshold."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentsdk import UserError, shared_limits
from agentsdk.evals import Case, CaseResult, CaseRun, EvalReport, assert_passes, contains, equals, evaluate
from agentsdk.evals.interval import Interval, interval_of_mean, interval_of_rate
from agentsdk.evals.report import Mean
from tests.evals.agents import A_RUN, CAPITALS, GOOD, WEAK, config, geographer

pytestmark = pytest.mark.anyio


def letters(run: CaseRun[str, str]) -> float:
    return len(run.output)


async def two_agents() -> EvalReport:
    agents = {"good": geographer(GOOD), "weak": geographer(WEAK)}
    return await evaluate("capitals", CAPITALS, agents, [equals(), letters], run_config=config())


async def test_the_figures() -> None:
    summary = (await two_agents()).summary("weak")
    assert (summary.agent, summary.runs, summary.passed, summary.failed, summary.errors, summary.not_run) == (
        "weak",
        3,
        1,
        2,
        0,
        0,
    )
    assert (summary.pass_rate, summary.interval) == (1 / 3, interval_of_rate([1.0, 0.0, 0.0]))
    assert (summary.tokens, summary.cost, summary.scoring_cost) == (45, 3 * A_RUN, Decimal(0))
    assert summary.duration == Mean(0.0, Interval(0.0, 0.0))
    assert summary.scores == {
        "equals": Mean(1 / 3, interval_of_rate([1.0, 0.0, 0.0])),
        "letters": Mean(5.0, interval_of_mean([5.0, 4.0, 6.0])),
    }


async def test_the_text() -> None:
    assert str(await two_agents()).splitlines() == [
        "capitals: 3 cases",
        "",
        "agent  passed   rate         95 %  errors  not run       cost  seconds",
        "good      3/3  100 %  44 to 100 %       0        0  $0.000225     0.00",
        "weak      1/3   33 %    6 to 79 %       0        0  $0.000225     0.00",
        "",
        "scorer   agent   mean             95 %",
        "equals   good       1       0.439 to 1",
        "equals   weak   0.333  0.0615 to 0.792",
        "letters  good    5.67      4.23 to 7.1",
        "letters  weak       5     2.52 to 7.48",
        "",
        "failed: weak, Paris?",
        "  equals: expected 'France', got 'Gaul'",
        "",
        "failed: weak, Oslo?",
        "  equals: expected 'Norway', got 'Sweden'",
        "",
        "weak against good: 0 better, 2 worse, 1 the same",
        "  passed   100 % -> 33 %; may be chance (p = 0.5, sign test)",
        "  cost     $0.000075 -> $0.000075 (+$0; 95 %: +$0 to +$0) a run",
        "  seconds  0.00 -> 0.00 (+0.00; 95 %: +0.00 to +0.00) a run",
        "  worse: Paris?",
        "  worse: Oslo?",
    ]


async def test_hostile_text_stays_on_its_line_and_in_80_columns() -> None:
    name = "\x1b[31m\u202e" + "x" * 200
    known: dict[str, str | Exception] = {"a": "\x1b]0;title\x07\0\n" + "y" * 5_000, "b": KeyError("\r\n" * 50)}
    agents = {name: geographer(known), "\n": geographer(known)}
    cases = [Case("a", "\x1b[2J", name=name), Case("b", "c")]
    report = await evaluate(name, cases, agents, {"\x1b\n" * 20: equals(), "other": contains()}, run_config=config())
    lines = str(report).split("\n")
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    assert EvalReport.from_json(report.to_json()) == report


async def test_many_that_failed_are_counted_not_listed() -> None:
    cases = [Case(str(number), "x") for number in range(100)]
    report = await evaluate("many", cases, geographer({}), [equals()], run_config=config())
    text = str(report)
    assert text.count("failed: ") == 20
    assert text.endswith("and 80 more; the report has them all")


async def test_what_the_budget_left_is_told_once() -> None:
    with shared_limits(requests=1):
        report = await evaluate("e", CAPITALS, geographer(GOOD), [equals()], concurrency=1, run_config=config())
    assert str(report).count("the limit on requests") == 1
    assert "stopped: the limit on requests around the eval is reached (1)" in str(report)


async def test_a_file(tmp_path: Path) -> None:
    report = await two_agents()
    report.save(tmp_path / "report.json")
    assert EvalReport.load(tmp_path / "report.json") == report
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "no report"),
        ("[]", "no report"),
        ('{"version": 2, "new": 1}', "version 2, expected 1 at most"),
        ('{"version": 1}', "no report"),
        (b"\xff", "no report"),
        ("[" * 100_000, "no report"),
    ],
)
def test_what_is_no_report(text: str | bytes, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        EvalReport.from_json(text)


async def test_an_agent_there_is_not() -> None:
    with pytest.raises(UserError, match="no agent 'best'"):
        (await two_agents()).summary("best")


async def test_a_threshold() -> None:
    report = await two_agents()
    assert_passes(report.only("good"))
    assert_passes(report, at_least=0.33)
    with pytest.raises(AssertionError, match=r"^weak passed 33.3% of capitals, expected 90.0% at least\n\ncapitals: 3 cases"):
        assert_passes(report, at_least=0.9)
    for wrong in (0, 1.5, True):
        with pytest.raises(UserError):
            assert_passes(report, at_least=wrong)


def result(status: Any, **fields: Any) -> CaseResult:
    return CaseResult(**{"case": "a", "agent": "A", "repeat": 1, "status": status, **fields})


def test_what_was_not_run_has_not_passed() -> None:
    results = (result("passed"), result("not_run", case="b"))
    report = EvalReport(name="e", agents=("A",), scorers=(), repeats=1, cases=(), results=results, at=0.0)
    assert report.summary("A").pass_rate == 1.0
    with pytest.raises(AssertionError, match=r"A passed 50\.0%"):
        assert_passes(report)


def test_figures_of_nothing() -> None:
    results = (result("not_run", cost=None),)
    report = EvalReport(name="e", agents=("A",), scorers=("s",), repeats=1, cases=(), results=results, at=0.0)
    summary = report.summary("A")
    assert (summary.pass_rate, summary.interval, summary.duration, summary.cost, summary.scores) == (None, None, None, None, {})
    assert "A         0/1     -     -       0        1     ?        -" in str(report)
