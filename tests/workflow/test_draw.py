"""A run is drawn with what happened, when, and how often it was tried."""

from __future__ import annotations

import pytest

from agentsdk import RunConfig, Runner
from agentsdk.errors import WorkflowFailedError
from agentsdk.tools import ToolRetrySettings
from agentsdk.workflow import flow, step, workflow
from tests.workflow.programs import Clock

pytestmark = pytest.mark.anyio


async def test_a_run_is_drawn_over_time() -> None:
    clock = Clock(1.0)

    @step(effect="none", retry=ToolRetrySettings(max_retries=1, initial_delay=2.0, jitter=0.0))
    async def book(room: str) -> str:
        clock.now += 0.5
        if clock.now < 3:
            raise ConnectionError
        return room

    @book.undo
    async def cancel(room: str) -> None:
        clock.now += 0.25

    @step
    async def invite(room: str) -> None:
        raise ValueError

    @workflow
    async def meeting(room: str) -> None:
        if await flow.ask("Shall I?"):
            await book(room)
            await invite(room)

    result = await meeting.run("blue", run_config=RunConfig(clock=clock))
    assert meeting.draw(result.to_state()).splitlines()[3:] == ["    section steps", "    ask :active, 1000, 1000"]
    state = result.to_state()
    state.answer(state.interruptions[0], True)
    with pytest.raises(WorkflowFailedError) as raised:
        await Runner.run(meeting, state, run_config=RunConfig(clock=clock))
    assert meeting.draw(raised.value.state) == "\n".join(
        [
            "gantt",
            "    dateFormat x",
            "    axisFormat %H:%M:%S",
            "    section steps",
            "    ask :done, 1000, 1000",
            "    book (2 attempts) :done, 1000, 4000",
            "    invite :crit, 4000, 4000",
            "    section undone",
            "    undo/undo book :done, 4000, 4250",
        ]
    )
