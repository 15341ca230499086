"""What the ready scorers say of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agentsdk import Agent, RunConfig, UserError, function_tool
from agentsdk.evals import (
    Case,
    CaseResult,
    CaseRun,
    Score,
    Scorer,
    calls_tools,
    contains,
    equals,
    evaluate,
    matches_schema,
    max_cost,
    max_duration,
)
from agentsdk.testing import ScriptedModel, call
from tests.evals.agents import A_RUN, config

pytestmark = pytest.mark.anyio


@dataclass
class Order:
    number: int
    paid: bool = False


@function_tool(effect="none")
def look(word: str) -> str:
    """Look something up."""
    return word


@function_tool(effect="none")
def note(word: str) -> str:
    """Note something."""
    return word


async def said(
    scorer: Scorer[Any, Any], case: Case[str, Any], *replies: Any, kind: Any = None, given: RunConfig | None = None
) -> CaseResult:
    agent: Agent[None, Any] = Agent(name="A", model=ScriptedModel(replies), tools=[look, note], output_type=kind)
    report = await evaluate("e", [case], agent, {"it": scorer}, run_config=given or config())
    return report.results[0]


@pytest.mark.parametrize(
    ("scorer", "expected", "output", "passed", "reason"),
    [
        (equals(), "Rome", "Rome", True, ""),
        (equals(), "Rome", "rome", False, "expected 'Rome', got 'rome'"),
        (equals(str.casefold), "Rome", "rome", True, ""),
        (contains(), "Rome", "It is Rome.", True, ""),
        (contains("Oslo"), "Rome", "It is Rome.", False, "'Oslo' is not in 'It is Rome.'"),
        (contains("rome", ignore_case=True), None, "It is Rome.", True, ""),
        (matches_schema(Order), None, '{"number": 3}', True, ""),
        (matches_schema(Order), None, '{"number": "x"}', False, "- number: Input should be a valid integer"),
        (matches_schema({"type": "object", "required": ["a"]}), None, "{}", False, "- a: missing"),
        (matches_schema(Order), None, "Hello", False, "the output is no JSON"),
    ],
)
async def test_of_the_output(scorer: Scorer[Any, Any], expected: Any, output: str, passed: bool, reason: str) -> None:
    result = await said(scorer, Case("x", expected), output)
    score = result.scores["it"]
    assert (result.status, score.passed, score.value) == ("passed" if passed else "failed", passed, float(passed))
    assert reason in score.reason


async def test_of_a_typed_output() -> None:
    for scorer in (equals(), matches_schema(Order), contains('"number":3')):
        result = await said(scorer, Case("x", Order(3)), '{"number": 3}', kind=Order)
        assert result.status == "passed"
    assert result.output == '{"number":3,"paid":false}'


@pytest.mark.parametrize(
    ("scorer", "passed"),
    [
        (calls_tools("look", "note"), True),
        (calls_tools("look"), True),
        (calls_tools("note", "look"), False),
        (calls_tools("note", "look", order="any_order"), True),
        (calls_tools("note", "note", order="any_order"), False),
        (calls_tools("look", "note", order="exact"), True),
        (calls_tools("look", order="exact"), False),
        (calls_tools(order="exact"), False),
        (calls_tools(), True),
    ],
)
async def test_of_the_calls(scorer: Scorer[Any, Any], passed: bool) -> None:
    result = await said(scorer, Case("x"), call("look", word="a"), call("note", word="b"), "Done.")
    assert (result.scores["it"].passed, result.calls) == (passed, ("look", "note"))


async def test_of_cost_and_time() -> None:
    cheap, dear = await said(max_cost("0.001"), Case("x"), "y"), await said(max_cost(0), Case("x"), "y")
    assert cheap.scores["it"] == Score(float(A_RUN), True, "cost $0.000075, expected $0.001 at most")
    assert (dear.status, cheap.cost) == ("failed", A_RUN)
    unknown = await said(max_cost(1), Case("x"), "y", given=RunConfig(prices={}))
    assert unknown.status == "error"
    assert "scorer 'it': UserError: the cost of the run is not known" in unknown.error
    quick = await said(max_duration(1), Case("x"), "y")
    assert quick.scores["it"] == Score(0.0, True, "took 0.00 s, expected 1 s at most")


async def test_your_own_are_functions() -> None:
    async def brief(run: CaseRun[str, str]) -> bool:
        return len(run.output) < 5

    def length(run: CaseRun[str, str]) -> float:
        return len(run.output)

    def both(run: CaseRun[str, str]) -> Score:
        return Score(0.5, run.usage.total_tokens == 15, f"{run.agent} {run.repeat} {run.case.metadata['topic']}")

    agent = Agent(name="A", model=ScriptedModel(["seven.."]))
    report = await evaluate("e", [Case("x", metadata={"topic": "t"})], agent, [brief, length, both], run_config=config())
    scores = report.results[0].scores
    assert scores == {"brief": Score(0.0, False), "length": Score(7.0), "both": Score(0.5, True, "A 1 t")}


@pytest.mark.parametrize(
    "returned", [float("nan"), float("inf"), None, "yes", [1]], ids=["nan", "inf", "None", "a text", "a list"]
)
async def test_what_is_no_score_is_an_error_of_that_run(returned: Any) -> None:
    result = await said(lambda run: returned, Case("x"), "y")
    assert result.status == "error"
    assert result.error.startswith("scorer 'it': UserError: the scorer returned ")


async def test_a_scorer_that_raises_leaves_the_scores_of_the_others() -> None:
    def broken(run: CaseRun[str, str]) -> bool:
        raise KeyError("order")

    report = await evaluate("e", [Case("x", "y")], Agent(name="A", model=ScriptedModel(["y"])), [broken, equals()])
    (result,) = report.results
    assert (result.status, result.error, result.scores) == (
        "error",
        "scorer 'broken': KeyError: 'order'",
        {"equals": Score(1.0, True)},
    )


async def test_a_case_that_expects_nothing_cannot_be_compared() -> None:
    result = await said(equals(), Case("x"), "y")
    assert (
        result.error
        == "scorer 'it': UserError: case 'x' expects nothing, expected an output to compare with; give it expected=..."
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: equals(3),  # type: ignore[arg-type]
        lambda: contains(3),  # type: ignore[arg-type]
        lambda: calls_tools(3),  # type: ignore[arg-type]
        lambda: calls_tools("a", order="sorted"),  # type: ignore[arg-type]
        lambda: max_duration(0),
        lambda: max_cost(0.5),  # type: ignore[arg-type]
        lambda: max_cost("much"),
        lambda: max_cost(-1),
        lambda: matches_schema(object()),
        lambda: Score(float("nan")),
        lambda: Score(1.0, reason=3),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments(make: Any) -> None:
    with pytest.raises(UserError):
        make()
