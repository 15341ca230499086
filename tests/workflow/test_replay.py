"""A replay of a workflow runs its program over the record: nothing else runs, and where it parts from that is said."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import MemoryRunStore, RunConfig, Runner, UserError
from agentsdk.engine.replay import Replay
from agentsdk.errors import StateMismatchError, WorkflowFailedError
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import Workflow, flow, step, workflow
from agentsdk.workflow.replay import replay_program
from tests.workflow.programs import PROGRAMS, Program, Steps
from tests.workflow.test_resume import play

pytestmark = pytest.mark.anyio

done: list[str] = []


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_every_program_comes_out_as_recorded_and_runs_nothing(program: Program) -> None:
    recorded = (await play(program, Steps(), None, {})).state.value
    steps = Steps()
    replay = await replay_program(program.build(steps), recorded, program.config)
    assert (replay.divergence, replay.is_finished) == (None, recorded.ended is not None)
    assert (replay.steps > 0, steps.world.done) == (True, {})


@step(effect="none", retry=0)
async def look(x: int) -> int:
    done.append(f"look {x}")
    if x < 0:
        raise ValueError
    return x + 1


async def first(x: int) -> Any:
    return await look(await look(x))


async def another_argument(x: int) -> Any:
    return await look(await look(x) + 1)


async def another_step(x: int) -> Any:
    return await look(await look(await look(x)))


async def one_less(x: int) -> Any:
    return await look(x)


async def another_end(x: int) -> Any:
    return -(await first(x))


async def raises(x: int) -> Any:
    await first(x)
    raise KeyError


async def waits(x: int) -> Any:
    await look(x)
    return await flow.ask("?")


def built(program: Any) -> Workflow[int, Any]:
    return workflow(name="program")(program)


async def replayed(recorded: Any, now: Any, given: int = 1) -> Replay:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    try:
        await built(recorded).run(given, run_config=config)
    except WorkflowFailedError:
        pass
    done.clear()
    replay = await Runner.replay(built(now), "r", run_config=config)
    assert done == [] and isinstance(replay, Replay)
    return replay


@pytest.mark.parametrize(
    ("now", "steps", "recorded", "says"),
    [
        (another_argument, 1, "calls step 'look#2'", "calls another step, or with other arguments"),
        (another_step, 2, "ends with '3'", "calls step 'look#3', which is not recorded"),
        (one_less, 1, "calls step 'look#2'", "calls another step, or with other arguments"),
        (another_end, 2, "ends with '3'", "ends with '-3'"),
        (raises, 2, "ends with '3'", "raises CallbackError"),
    ],
)
async def test_the_first_divergence_is_named(now: Any, steps: int, recorded: str, says: str) -> None:
    replay = await replayed(first, now)
    divergence = replay.divergence
    assert divergence is not None
    assert (replay.steps, divergence.recorded, divergence.now) == (steps, recorded, says)


async def test_a_run_that_failed_or_waits_is_replayed_as_far_as_it_came() -> None:
    failed, waiting = await replayed(first, first, -1), await replayed(waits, waits)
    assert (failed.steps, failed.is_finished, failed.divergence) == (1, False, None)
    assert (waiting.steps, waiting.is_finished, waiting.divergence) == (1, False, None)


async def test_a_replay_with_changes_is_refused_with_what_to_do_instead() -> None:
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await built(first).run(1, run_config=config)
    for changes in ({"model": ScriptedModel([])}, {"change": built(first)}, {"at": 1}):
        with pytest.raises(UserError, match="workflow 'program' was to be replayed with changes, expected without: fork it"):
            await Runner.replay(built(first), "r", **changes, run_config=config)  # type: ignore[call-overload]
    with pytest.raises(StateMismatchError, match="was begun by agent 'program'"):
        await Runner.replay(workflow(first), "r", run_config=config)
