"""Programs in workers: which snapshots are gone on with, which are refused, and what a cancelled one leaves."""

from __future__ import annotations

import asyncio
import json
import zlib
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from msgspec import structs
from pydantic_monty import Monty

from agentsdk import Agent, RunConfig, Runner, ToolContext, function_tool
from agentsdk.define.threads import abandoned_tools
from agentsdk.errors import StateCorruptError, StateMismatchError
from agentsdk.events import ModelReplied, Nested, RunEvent, ToolFinished
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import CodeTool
from tests.engine.recorded import RUN_ID, stored

pytestmark = pytest.mark.anyio

PROGRAM = "first = await note('a')\nsecond = await note('b')\nfirst + second"


class Notes:
    def __init__(self) -> None:
        self.ran: list[str] = []

    def agent(self, *replies: Any, name: str = "note", code: str = PROGRAM, **options: Any) -> Agent[Any, str]:
        async def note(ctx: ToolContext[Any], text: str) -> str:
            self.ran.append(text)
            return text

        tools = [function_tool(note, name_override=name, effect="none", **options)]
        return Agent("Coder", model=ScriptedModel(replies or ["Done."]), tools=[CodeTool(tools)])


async def cut_after_first(code: str = PROGRAM) -> list[RunEvent]:
    """The log of a run that was cut when the first call of its program had its result."""
    config = RunConfig(run_id=RUN_ID)
    result = await Runner.run(Notes().agent(call("run_code", code=code), "Done."), "Go.", run_config=config)
    log = list(result.to_state().value.log)
    at = next(at for at, event in enumerate(log) if isinstance(event, Nested) and isinstance(event.event, ToolFinished))
    return log[: at + 1]


def changed(log: list[RunEvent], change: Callable[[dict[str, Any]], object]) -> list[RunEvent]:
    """The log with another snapshot."""

    def with_change(event: RunEvent) -> RunEvent:
        if not (isinstance(event, Nested) and isinstance(event.event, ModelReplied)):
            return event
        given = json.loads(event.event.snapshot)
        snapshot = change(given)
        text = snapshot if isinstance(snapshot, str) else json.dumps(snapshot)
        return structs.replace(event, event=structs.replace(event.event, snapshot=text))

    return [with_change(event) for event in log]


def idle_session() -> bytes:
    """What the interpreter writes of a program that waits for nothing."""
    with Monty() as pool, pool.checkout() as session:
        return session.dump()


async def test_it_goes_on_from_its_snapshot() -> None:
    notes, config = Notes(), await stored(await cut_after_first())
    result = await Runner.resume(notes.agent(), RUN_ID, run_config=config)
    assert result.final_output == "Done." and notes.ran == ["b"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda given: {**given, "by": "pydantic-monty 0.1.0"}, StateMismatchError),
        (lambda given: {**given, "by": "another interpreter 1.4.0"}, StateMismatchError),
        (lambda given: {**given, "dump": given["dump"][:100]}, StateCorruptError),
        (lambda given: {**given, "dump": "eJxLTEpOSU1LBwAH4AJf"}, StateCorruptError),
        (lambda given: {**given, "dump": ""}, StateCorruptError),
        (lambda given: {**given, "dump": b64encode(zlib.compress(b"no dump")).decode()}, StateCorruptError),
        (lambda given: {**given, "dump": b64encode(zlib.compress(idle_session())).decode()}, StateCorruptError),
        (lambda given: {"by": given["by"]}, StateCorruptError),
        (lambda given: "no JSON", StateCorruptError),
        (lambda given: "[]", StateCorruptError),
    ],
)
async def test_a_snapshot_of_another_version_or_a_damaged_one_is_refused_and_no_call_repeated(
    change: Callable[[dict[str, Any]], object], error: type[Exception]
) -> None:
    notes, config = Notes(), await stored(changed(await cut_after_first(), change))
    with pytest.raises(error, match="a program of this run"):
        await Runner.resume(notes.agent(), RUN_ID, run_config=config)
    assert notes.ran == []
    turn = (await Runner.load(RUN_ID, run_config=config)).value.turn
    assert turn is not None and not turn.results  # with the right interpreter the program would go on


async def test_a_call_of_a_tool_that_has_changed_is_asked_again() -> None:
    first = Notes()
    model = [call("run_code", code="await note('a')\nawait note('b')"), "Done."]
    result = await Runner.run(first.agent(*model, needs_approval=True), "Go.", run_config=RunConfig(run_id=RUN_ID))
    state = result.to_state()
    state.approve(result.interruptions[0])
    again = Notes()
    changed_tool = again.agent(needs_approval=True, description_override="Note a text, and tell everybody.")
    result = await Runner.run(changed_tool, state)
    assert [item.arguments for item in result.interruptions] == ['{"text":"a"}'] and again.ran == []


async def test_a_tool_that_is_gone_is_named() -> None:
    log = await cut_after_first()
    config = await stored(log[:-1])  # the call has begun
    with pytest.raises(StateMismatchError, match="is to tool 'note', which agent 'run_code' no longer has"):
        await Runner.resume(Notes().agent(name="other"), RUN_ID, run_config=config)


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "monty" in child.name()]


async def test_a_cancelled_program_leaves_neither_its_worker_nor_its_thread() -> None:
    agent = Agent[Any, str](
        "Coder", model=ScriptedModel([call("run_code", code="while True: pass")]), tools=[CodeTool(max_seconds=600.0)]
    )
    running = asyncio.create_task(Runner.run(agent, "Go."))
    async with asyncio.timeout(60):
        while not workers():  # noqa: ASYNC110 - what another thread does
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert workers() == [] and "program" not in abandoned_tools()
