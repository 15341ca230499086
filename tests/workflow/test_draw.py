"""A run is drawn with what happened, when, and how often it was tried."""

from __future__ import annotations

from xml.etree import ElementTree

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
    assert meeting.draw(result.to_state(), kind="timeline").splitlines()[3:] == [
        "    section steps",
        "    ask :active, 1000, 1000",
    ]
    state = result.to_state()
    state.answer(state.interruptions[0], True)
    with pytest.raises(WorkflowFailedError) as raised:
        await Runner.run(meeting, state, run_config=RunConfig(clock=clock))
    assert meeting.draw(raised.value.state, kind="timeline") == "\n".join(
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
    root = ElementTree.fromstring(meeting.draw(raised.value.state, kind="timeline", format="svg"))
    shown = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert shown == [
        *("meeting: 3.2 s from 1970-01-01 00:00:01 UTC", "ask", "0 ms", "book", "2 attempts, 3.0 s, undone"),
        *("invite", "ValueError after 0 ms", "undo/undo book", "0.2 s"),
    ]
    bars = [float(bar.attrib["width"]) for bar in root.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert bars[1] > 10 * bars[3] > 10 * bars[0] > 0


async def test_a_name_cannot_break_a_chart_over_time() -> None:
    @step(name='a: crit, 1, 2\n section <b> "x"')
    async def nasty(x: int) -> int:
        return x

    @workflow
    async def program(x: int) -> int:
        return await nasty(x)

    state = (await program.run(1)).to_state()
    assert len(program.draw(state, kind="timeline").splitlines()) == 5
    ElementTree.fromstring(program.draw(state, kind="timeline", format="svg"))
