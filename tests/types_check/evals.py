"""The cases of an eval are of the types of the agents that run them; so are its scorers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_type

from agentsdk.define.agent import Agent
from agentsdk.define.run_config import RunConfig
from agentsdk.evals import Case, CaseRun, EvalReport, Score, Scorer, equals, evaluate, judge, read_cases, recorded_cases
from agentsdk.types.items import InputItem
from agentsdk.workflow import workflow


@dataclass
class Risk:
    score: int


analyst = Agent[None, Risk](name="Analyst", output_type=Risk)
writer = Agent[None, str](name="Writer")


@workflow
async def doubled(number: int) -> Risk:
    return Risk(2 * number)


def small(run: CaseRun[object, Risk]) -> bool:
    return run.output.score < 5


async def brief(run: CaseRun[object, str]) -> Score:
    return Score(len(run.output))


def even(run: CaseRun[int, Risk]) -> bool:
    return run.case.input % 2 == 0


kind: Scorer[object, object] = judge("It is kind.")
assert_type(Case("x", Risk(1)), Case[str, Risk])


async def called() -> None:
    cases = [Case("x", Risk(1)), Case("y")]
    assert_type(await evaluate("e", cases, analyst, [equals(), small]), EvalReport)
    await evaluate("e", cases, {"one": analyst, "other": analyst}, {"small": small})
    await evaluate("e", [Case("x", "y")], writer, [brief, kind])
    await evaluate("e", [Case(3, Risk(6))], doubled, [equals(), even])
    await evaluate("e", [Case(3)], writer, [equals()])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await evaluate("e", [Case("x", "y")], analyst, [small])  # type: ignore  # pyright: ignore
    await evaluate("e", [Case("x", "y")], writer, [small])  # type: ignore  # pyright: ignore
    await evaluate("e", [Case(Risk(1))], doubled, [equals()])  # type: ignore  # pyright: ignore


async def found(config: RunConfig) -> None:
    assert_type(await recorded_cases(analyst, run_config=config), list[Case[str | Sequence[InputItem], Risk]])
    await evaluate("e", await recorded_cases(analyst, run_config=config), analyst, [small], replay=analyst)
    assert_type(read_cases("cases.json"), list[Case[str, str]])
    assert_type(read_cases("cases.json", Case[int, Risk]), list[Case[int, Risk]])
