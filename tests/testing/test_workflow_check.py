"""`workflow_check` passes what is deterministic, and finds what is not."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from agentsdk import RunConfig, UserError
from agentsdk.testing import workflow_check
from agentsdk.workflow import Workflow, flow, step, workflow
from tests.scenarios import RUN_ID
from tests.workflow.programs import PROGRAMS, Program, Steps, decide

pytestmark = pytest.mark.anyio


@step(effect="none")
async def look(x: int) -> int:
    return x


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_a_deterministic_program_passes_and_its_bodies_run_once(program: Program) -> None:
    steps = Steps()
    checked = await workflow_check(program.build(steps), 1, decide=decide, orders=2, run_config=RunConfig(run_id=RUN_ID))
    assert checked.orders == 2 and checked.prefixes > checked.steps > 0
    if not (program.races or program.cancels or program.name == "retried"):
        assert all(times == 1 or key in ("r/undo/undo book", "r/ship") for key, times in steps.world.done.items())


def planted(kind: str) -> Workflow[int, Any]:
    counter, drawn = itertools.count(), random.Random(7)

    @workflow
    async def by_chance(x: int) -> int:
        return await look(drawn.randrange(10_000))

    @workflow
    async def by_count(x: int) -> int:
        await look(x)
        return next(counter)

    @workflow
    async def another_step(x: int) -> int:
        await look(x)
        return await look(x + 1) if next(counter) % 2 else x

    @workflow
    async def by_race(x: int) -> int:
        await look(x)
        for _ in range(next(counter) % 3):
            x += await look(x)
        return x

    return {"chance": by_chance, "count": by_count, "another step": another_step, "race": by_race}[kind]


@pytest.mark.parametrize("kind", ["chance", "count", "another step", "race"])
async def test_a_program_that_is_not_is_found(kind: str) -> None:
    with pytest.raises(AssertionError, match=r"workflow '(by_|another).*' is not deterministic"):
        await workflow_check(planted(kind), 1)


async def test_an_answer_needs_somebody_who_decides() -> None:
    @workflow
    async def asking(x: int) -> bool:
        return await flow.ask("?")

    with pytest.raises(UserError, match="call 'ask' waits for an answer, expected decide="):
        await workflow_check(asking, 1)
    checked = await workflow_check(asking, 1, decide=lambda state, item: state.answer(item, True))
    assert str(checked) == "1 steps in 3 orders, resumed from 21 prefixes: each came out as recorded"
