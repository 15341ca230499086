"""The test that holds workflows together: a run resumed from any prefix of its log ends as the run that was never cut."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from agentsdk import AgentsException, Runner, RunState
from agentsdk.core.next_step import ToolInDoubtItem
from agentsdk.core.revisions import step_start
from agentsdk.core.state import fold
from agentsdk.types.events import RunEnded, RunEvent, StepBegan, ToolAttemptFailed, ToolFinished, ToolsIntended
from tests.engine.test_resume import calls_of
from tests.scenarios import RUN_ID, finished_calls, unwrapped
from tests.workflow.programs import PROGRAMS, Clock, Program, Steps, decide


@dataclasses.dataclass
class Played:
    """What a run came to, and which calls in doubt were settled on the way."""

    state: RunState
    ends: object
    settled: list[str]


async def play(program: Program, steps: Steps, given: RunState | None, known: dict[str, ToolFinished]) -> Played:
    """Run to the end, each pause decided as by another process."""
    workflow = program.build(steps)
    config = dataclasses.replace(program.config, run_id=RUN_ID, clock=Clock())
    settled: list[str] = []
    for _ in range(20):
        try:
            result = await Runner.run(workflow, "1" if given is None else given, run_config=config)
        except AgentsException as error:
            assert isinstance(error.state, RunState)
            return Played(error.state, type(error), settled)
        if not result.interruptions:
            return Played(result.to_state(), result.final_output, settled)
        given = RunState.from_string(workflow, result.to_state().to_string())
        for item in given.interruptions:
            if isinstance(item, ToolInDoubtItem):
                key = "/".join((RUN_ID, *item.path, item.call_id))
                settled.append(key)
                was = known[key]
                assert isinstance(was.output, str)
                given.mark_failed(item, was.output) if was.is_error else given.provide_result(item, result=was.output)
            else:
                decide(given, item)
    raise AssertionError("the run does not come to its end")


def results_of(log: Any) -> dict[str, tuple[object, bool]]:
    """What each step and each call came to, nested ones too."""
    return {key: (event.output, event.is_error) for key, event in finished_calls(log).items()}


def begun_once(log: list[RunEvent]) -> set[str]:
    """The calls with an effect that may not be repeated which have begun and have no result."""
    names = {f"{path}/{item.call_id}": item.name for path, item in calls_of(log)}
    begun: set[str] = set()
    for path, event in unwrapped(log):
        if isinstance(event, StepBegan) and event.effect == "once":
            begun.add(f"{path}/{event.call_id}")
        elif isinstance(event, ToolsIntended):
            begun |= {f"{path}/{call_id}" for call_id in event.call_ids if names.get(f"{path}/{call_id}") == "send"}
    return begun - finished_calls(log).keys()


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_resuming_from_every_prefix_equals_the_uncut_run(program: Program) -> None:
    async def main() -> None:
        uncut_steps = Steps()
        uncut = await play(program, uncut_steps, None, {})
        assert uncut.ends == program.ends and not uncut.settled
        await check_again(program, uncut, str(program))
        log = list(uncut.state.value.log)
        known = finished_calls(log)
        for length in range(1, len(log) + 1):
            if step_start(log, length) == length:
                await check_prefix(program, log, length, known, uncut, uncut_steps)

    asyncio.run(main())


async def check_prefix(
    program: Program, log: list[RunEvent], length: int, known: dict[str, ToolFinished], uncut: Played, uncut_steps: Steps
) -> None:
    prefix, steps = log[:length], Steps()
    for path, event in unwrapped(prefix):  # the outside remembers how often it was asked
        if isinstance(event, ToolAttemptFailed):
            steps.attempts[f"{path}/{event.call_id}"] += 1
    state = RunState.from_string(program.build(steps), RunState(fold(prefix)).to_string())
    resumed = await play(program, steps, state, known)
    where = f"{program}, resumed after event {length} of {len(log)}: {prefix[-1]!r}"
    assert resumed.ends == uncut.ends or program.races, where
    if not (program.cancels or program.races):
        assert results_of(resumed.state.value.log) == results_of(log), where
    in_doubt = begun_once(prefix)
    assert sorted(resumed.settled) == sorted(in_doubt), f"{where}: in doubt"
    finished = finished_calls(prefix)
    for key, times in uncut_steps.world.done.items():
        done, failed = steps.world.done[key], sum(f"{path}/{_key(event)}" == key for path, event in unwrapped(prefix))
        expected = 0 if key in finished or key in in_doubt else times - failed
        assert done == expected or (program.cancels and done < expected), f"{where}: {key} ran {done} times"
    await check_again(program, resumed, where)


async def check_again(program: Program, played: Played, where: str) -> None:
    """Entered again with all results there, the program comes to the same end, whatever raced, and runs nothing."""
    log = [event for event in played.state.value.log if not isinstance(event, RunEnded)]
    steps = Steps()
    again = await play(program, steps, RunState(fold(log)), {})
    assert (again.ends, steps.world.done) == (played.ends, {}), f"{where}: entered again"


def _key(event: RunEvent) -> str:
    return event.call_id if isinstance(event, ToolAttemptFailed) else ""
