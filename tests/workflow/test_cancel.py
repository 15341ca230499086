"""on_cancel="undo": a run that somebody cancels undoes what it did before it stops, whoever dies when."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import MemoryRunStore, RunConfig, Runner, RunState, UserError
from agentsdk.core.revisions import step_start
from agentsdk.core.state import fold
from agentsdk.errors import RunCancelledError
from agentsdk.events import RunEnded, Stopped
from agentsdk.workflow import Workflow, flow, step, workflow

pytestmark = pytest.mark.anyio

did: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    did.clear()


@step(effect="idempotent")
async def book(room: str) -> str:
    did.append(f"book {room}")
    return room


@book.undo
async def cancel_booking(room: str) -> None:
    did.append(f"undo {room}")


def stored() -> RunConfig:
    return RunConfig(store=MemoryRunStore(), run_id="r", cancel_grace=0.5)


@workflow(on_cancel="undo")
async def asking(x: int) -> bool:
    await asyncio.gather(book("red"), book("blue"))
    return await flow.ask("Keep them?")


async def cancelled(config: RunConfig) -> None:
    await Runner.cancel("r", by="ann", reason="rain", run_config=config)


async def test_a_run_that_waits_is_undone_and_stays_cancelled() -> None:
    config = stored()
    await asking.run(1, run_config=config)
    await cancelled(config)
    with pytest.raises(RunCancelledError, match=r"cancelled by 'ann': rain; undone: 'book#2', 'book'; begin") as raised:
        await asking.drive("r", 1, run_config=config)
    assert (raised.value.by, raised.value.reason) == ("ann", "rain")
    assert did == ["book red", "book blue", "undo blue", "undo red"]
    summary = await config.store.summary("r") if config.store is not None else None
    assert summary is not None and summary.status == "cancelled"
    with pytest.raises(RunCancelledError, match="undone: 'book#2', 'book'"):
        await asking.resume("r", run_config=config)
    assert len(did) == 4, "once"
    assert (await Runner.replay(asking, "r", run_config=config)).divergence is None


async def test_from_every_prefix_of_its_record_a_cancelled_run_comes_to_the_same() -> None:
    config = stored()
    await asking.run(1, run_config=config)
    await cancelled(config)
    with pytest.raises(RunCancelledError) as raised:
        await asking.drive("r", 1, run_config=config)
    assert isinstance(raised.value.state, RunState)
    log = [event for event in raised.value.state.value.log if not isinstance(event, Stopped | RunEnded)]
    at = next(number for number, event in enumerate(log, 1) if getattr(event, "call_id", "") == "/cancel")
    for length in range(at, len(log) + 1):
        if step_start(log, length) == length:
            with pytest.raises(RunCancelledError, match="undone: 'book#2', 'book'"):
                await Runner.run(asking, RunState(fold(log[:length])))


@pytest.mark.parametrize("undoes", [True, False])
async def test_a_run_at_work_is_stopped_at_once_and_undone_where_it_says_so(undoes: bool) -> None:
    config, begun = stored(), asyncio.Event()

    @step
    async def send(x: int) -> int:
        did.append("send")
        begun.set()
        await asyncio.Event().wait()
        return x

    async def body(x: int) -> int:
        await book("red")
        return await send(x)

    program: Workflow[int, int] = workflow(name="program", on_cancel="undo" if undoes else "stop")(body)
    running = asyncio.create_task(program.run(1, run_config=config))
    await begun.wait()
    await cancelled(config)
    with pytest.raises(RunCancelledError) as raised:
        await running
    said = "undone: 'book'; begun, and without a result: 'send'"
    assert (said in str(raised.value), did) == (undoes, ["book red", "send", *["undo red"] * undoes])


async def test_a_cancel_between_two_steps_begins_no_more_of_them() -> None:
    config = stored()

    @step(effect="none")
    async def cancelling() -> None:
        await cancelled(config)

    @workflow(on_cancel="undo")
    async def program(x: int) -> str:
        await book("red")
        await cancelling()
        return await book("blue")

    with pytest.raises(RunCancelledError, match="undone: 'book'"):
        await program.run(1, run_config=config)
    assert did == ["book red", "undo red"]


async def test_a_second_cancel_stops_undoing() -> None:
    config = stored()

    @step(effect="idempotent")
    async def pay() -> str:
        return "paid"

    @pay.undo
    async def take_back(paid: str) -> None:
        did.append("take back")
        await cancelled(config)

    @workflow(on_cancel="undo")
    async def program(x: int) -> Any:
        await book("red")
        await pay()
        return await flow.ask("?")

    await program.run(1, run_config=config)
    await cancelled(config)
    with pytest.raises(RunCancelledError):
        await program.drive("r", 1, run_config=config)
    assert did == ["book red", "take back"]


async def test_a_run_that_has_not_begun_has_nothing_to_undo() -> None:
    config = stored()
    await asking.submit(1, run_config=config, run_id="r")
    await cancelled(config)
    with pytest.raises(RunCancelledError, match="undone: nothing"):
        await asking.drive("r", 1, run_config=config)
    assert did == []


def test_a_wrong_option_says_what_is_expected() -> None:
    with pytest.raises(UserError, match="workflow has on_cancel='maybe', expected 'stop' or 'undo'"):
        workflow(on_cancel="maybe")(cancelled)  # type: ignore[call-overload]
