"""The drawing of a run shows which way it took, and what became of each step on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from agentsdk import RunConfig, Runner, RunState
from agentsdk.core.state import apply, new_state
from agentsdk.errors import StepFailedError, UserError, WorkflowFailedError
from agentsdk.tools import ToolRetrySettings
from agentsdk.workflow import Workflow, flow, step, workflow
from agentsdk.workflow.diagram import Diagram
from agentsdk.workflow.happened import with_run
from agentsdk.workflow.outline import outline
from agentsdk.workflow.record import recorded_steps
from agentsdk.workflow.retold import retold
from tests.scenarios import RUN_ID
from tests.workflow.programs import PROGRAMS, Clock, Program, Steps, decide

pytestmark = pytest.mark.anyio

CLOCK = Clock()


@pytest.fixture(autouse=True)
def clock() -> Clock:
    CLOCK.now = 1_000.0
    return CLOCK


@step(effect="none")
async def look(x: int) -> int:
    CLOCK.now += 1
    return x


@step(effect="none", retry=ToolRetrySettings(max_retries=2, initial_delay=2.0, jitter=0.0))
async def flaky(x: int) -> int:
    CLOCK.now += 0.5
    if CLOCK.now < 1_000 + x:
        raise ConnectionError
    return x


@step
async def pay(x: int) -> int:
    CLOCK.now += 200
    return x


@pay.undo
async def take_back(x: int) -> None:
    CLOCK.now += 0.001


@step(effect="none", retry=0)
async def fail(x: int) -> None:
    raise ConnectionError


async def ran(program: Workflow[int, Any], x: int, answer: object = None) -> RunState:
    """The state that a run comes to, or waits in; where it asks something, an answer is given."""
    config = RunConfig(clock=CLOCK)
    try:
        result = await program.run(x, run_config=config)
        if answer is not None:
            state = result.to_state()
            CLOCK.now += 7200
            state.answer(state.interruptions[0], answer, by="ann")
            result = await Runner.run(program, state, run_config=config)
    except WorkflowFailedError as error:
        return error.state
    return result.to_state()


def drawn(program: Workflow[int, Any], state: RunState) -> list[str]:
    """Each node of the drawing of a run in short."""
    found = outline(program.name, program.function)
    assert found is not None
    return described(with_run(found, state.value))


def described(diagram: Diagram) -> list[str]:
    return [f"{node.text}: {', '.join((node.status or '-', *node.notes))}" for node in diagram.nodes]


@workflow
async def order(x: int) -> str:
    if x > 5:
        await look(x)
        if not await flow.ask("Shall I?"):
            return "refused"
    else:
        await flaky(x)
    receipt = await pay(x)
    if x == 1:
        await fail(x)
    return str(receipt)


async def test_a_run_that_waits() -> None:
    assert drawn(order, await ran(order, 7)) == [
        *("order: done", "x > 5: done", "look: done, 1.0 s", "Shall I?: open, waits", "return 'refused': -"),
        *(
            "flaky: skipped, up to 3 attempts",
            "pay: -",
            "take_back: -",
            "x == 1: -",
            "fail: -, one attempt",
            "return str(receipt): -",
        ),
    ]


async def test_what_a_person_said_and_where_it_led() -> None:
    assert drawn(order, await ran(order, 7, answer=True)) == [
        *("order: done", "x > 5: done", "look: done, 1.0 s", "Shall I?: done, answered by ann, 2 h"),
        *(
            "return 'refused': skipped",
            "flaky: skipped, up to 3 attempts",
            "pay: done, 3 min",
            "take_back: skipped",
            "x == 1: done",
        ),
        *("fail: skipped, one attempt", "return str(receipt): done"),
    ]
    lines = drawn(order, await ran(order, 7, answer=False))
    assert lines[4:7] == ["return 'refused': done", "flaky: skipped, up to 3 attempts", "pay: skipped"]


async def test_attempts_a_failure_and_what_was_undone() -> None:
    state = await ran(order, 1)
    assert drawn(order, state) == [
        *("order: done", "x > 5: done", "look: skipped", "Shall I?: skipped", "return 'refused': skipped"),
        *("flaky: done, 2 attempts, 3.0 s", "pay: undone, 3 min, undone", "take_back: done, 1 ms", "x == 1: done"),
        *("fail: failed, ConnectionError after 0 ms", "return str(receipt): skipped"),
    ]
    assert "classDef failed" in order.draw(state)


async def test_how_often_in_loops() -> None:
    @workflow
    async def program(x: int) -> None:
        for number in range(x):
            await look(number)
            if number > 1:
                await pay(number)
            try:
                await fail(number)
            except StepFailedError:
                continue
            await flaky(number)
        await flow.each(look, [1, 2])
        raise ValueError

    with pytest.raises(Exception, match="ValueError") as raised:
        await program.run(4, run_config=RunConfig(clock=CLOCK))
    assert drawn(program, raised.value.state) == [
        *(
            "program: done",
            "look: done, 4 times, up to 1.0 s",
            "number > 1: done",
            "pay: done, 2 times, up to 3 min",
            "take_back: -",
        ),
        *("fail: failed, 4 times, up to 0 ms, 4 failed: ConnectionError", "next round: done", "flaky: -, up to 3 attempts"),
        *("look: done, 2 times, up to 1.0 s", "raise ValueError: -"),
    ]


async def test_a_program_that_returns_out_of_a_loop() -> None:
    @workflow
    async def asked(x: int) -> int:
        for number in range(x):
            if await flow.ask("Now?"):
                return number
            if number == 8:
                return 0
            await look(number)
        return -1

    @workflow
    async def paid(x: int) -> int:
        for number in range(x):
            await look(number)
            if number == 1:
                return await pay(number)
        return -1

    @workflow
    async def unasked(x: int) -> int:
        for number in range(x):
            if number == 1:
                return number
            await look(number)
        return -1

    assert drawn(asked, await ran(asked, 3, answer=True)) == [  # which end it was leaves no record
        *("asked: done", "Now?: done, answered by ann, 2 h", "return number: -", "number == 8: -", "return 0: -"),
        *("look: skipped", "return -1: -"),
    ]
    lines = drawn(paid, await ran(paid, 3))
    assert lines[3:] == ["pay: done, 3 min", "take_back: skipped", "return: done", "return -1: skipped"]
    assert drawn(unasked, await ran(unasked, 3)) == [
        *("unasked: done", "number == 1: done", "return number: -", "look: done, 1.0 s", "return -1: -"),
    ]


async def test_a_failure_that_is_handled() -> None:
    @workflow
    async def program(x: int) -> int:
        try:
            await look(x)
            await fail(x)
            await pay(x)
        except StepFailedError:
            await flaky(x)
        else:
            await look(x)
        return x

    assert drawn(program, await ran(program, 0)) == [
        *("program: done", "look: done, 1.0 s", "fail: failed, ConnectionError after 0 ms", "pay: skipped"),
        *("take_back: skipped", "look: skipped", "flaky: done, 0.5 s", "return x: done"),
    ]


async def test_calls_of_one_name_are_told_apart_where_the_record_says_which_they_are() -> None:
    @workflow
    async def program(x: int) -> None:
        await look(x)
        await asyncio.gather(look(x), flow.each(look, [x]))
        await look(x)
        if x:
            await pay(x)
        else:
            await pay(x)
        await flow.ask("One?") if x else await flow.ask("Two?")
        await asyncio.gather(*[chosen(x) for chosen in (flaky, look)])

    lines = drawn(program, await ran(program, 1, answer=True))
    assert lines[-5:-3] == ["One?: done, answered by ann, 2 h", "Two?: skipped"]
    assert [line for line in lines if line.startswith("look")] == [
        *("look: done, 1.0 s", "look: done, 1.0 s", "look: done, 1.0 s", "look: done, 2 times, up to 1.0 s"),
    ]
    assert lines.count("pay: done, 3 min, here or in 1 other place") == 2
    assert lines[-1] == "flaky: done, 0.5 s"  # which the source does not say


async def test_a_step_in_doubt_and_one_that_was_cancelled() -> None:
    @step(timeout=0.001)
    async def stuck(x: int) -> None:
        await asyncio.Event().wait()

    @workflow
    async def program(x: int) -> None:
        with suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                group.create_task(flow.wait_for("never", str))
                group.create_task(fail(x))
        await stuck(x)

    result = await program.run(1, run_config=RunConfig(clock=CLOCK))
    assert drawn(program, result.to_state())[1:] == [
        *("signal never: skipped, cancelled after 0 ms", "fail: failed, ConnectionError after 0 ms"),
        *("stuck: open, in doubt: has it happened?", "end: -"),
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_any_moment_of_any_run_can_be_drawn(program: Program) -> None:
    built = program.build(Steps())
    try:
        config = replace(program.config, run_id=RUN_ID, clock=CLOCK)
        result = await built.run(1, run_config=config)
        while not result.is_finished:
            state = result.to_state()
            for item in state.interruptions:
                decide(state, item)
            result = await Runner.run(built, state, run_config=config)
        log = result.to_state().value.log
    except WorkflowFailedError as error:
        log = error.state.value.log
    found = outline(built.name, built.function)
    assert found is not None
    state = new_state()
    for event in log:
        state = apply(state, event)
        open_ones = {step.name for step in recorded_steps(state) if step.ended_at is None}
        shows_open = [
            any(node.status == "open" for node in diagram.nodes)
            for diagram in (with_run(found, state), retold(built.name, state))
        ]
        assert shows_open == [bool(open_ones - {"now", "random", "new_id"}), bool(open_ones)]
    assert not any(node.status in ("", "open") and node.kind != "unknown" for node in with_run(found, state).nodes)


async def test_without_a_source_a_run_is_drawn_from_its_record() -> None:
    made: dict[str, Any] = {"asyncio": asyncio, "look": look, "flow": flow, "pay": pay, "fail": fail}
    exec(
        "async def program(x: int) -> None:\n"
        "    await look(x)\n"
        "    await asyncio.gather(flow.each(look, [1, 2, 3]), pay(x))\n"
        "    await fail(x)\n",
        made,
    )
    program = Workflow[int, None](made["program"])
    state = await ran(program, 1)
    diagram = retold("program", state.value)
    assert described(diagram) == [
        *("program: done", "look: done, 1.0 s", "pay: undone, 3 min, undone", "each/*/look: done, 3 times, up to 1.0 s"),
        *("fail: failed, ConnectionError after 0 ms", "undo pay: done, 1 ms"),
    ]
    assert [(edge.source, edge.target) for edge in diagram.edges] == [
        *(("start", "at look"), ("at look", "at pay"), ("at pay", "at each/*/look")),
        *(("at each/*/look", "at fail"), ("at fail", "at undo/undo pay")),
    ]
    assert "each/*/look" in program.draw(state)


async def test_a_run_of_a_version_that_is_not_known_is_drawn_from_its_record() -> None:
    @workflow(name="program", version="1")
    async def first(x: int) -> None:
        await look(x)

    @workflow(name="program", version="2")
    async def second(x: int) -> None:
        await pay(x)

    @workflow(name="program", version="2", earlier=[first])
    async def both(x: int) -> None:
        await pay(x)

    state = await ran(first, 1)
    assert "pay" not in second.draw(state) and "end" not in second.draw(state)
    assert both.draw(state) == first.draw(state) and "end" in both.draw(state)


async def test_the_run_of_another() -> None:
    @workflow
    async def other(x: int) -> None:
        await look(x)

    state = await ran(other, 1)
    with pytest.raises(UserError, match="run of 'other'"):
        order.draw(state)


def test_a_timeline_needs_a_run() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: order.draw(kind="timeline"),
        lambda: order.draw(kind="pie"),  # type: ignore[arg-type]
        lambda: order.draw(format="png"),  # type: ignore[arg-type]
    ]
    for call in wrong:
        with pytest.raises(UserError, match="expected"):
            call()
