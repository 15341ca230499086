"""Questions of a server to a person: a pause of the run in the modern era, a callback in the handshake era."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentsdk import (
    Agent,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunResult,
    RunResultStreaming,
    ToolAnswerItem,
    ToolInDoubtItem,
    UserError,
)
from agentsdk.mcp import MCPElicitation, MCPServerStdio
from agentsdk.testing import ScriptedModel, call
from tests.mcp.misbehaving.clock import JumpingLoop, pass_time
from tests.mcp.servers import little

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": JumpingLoop}


def agent(server: MCPServerStdio, *replies: Any) -> Agent[None, str]:
    return Agent[None, str](name="A", model=ScriptedModel([*replies, "done"]), toolsets=[server])


def outputs(result: RunResult[Any] | RunResultStreaming[Any]) -> list[Any]:
    return [item.output for item in result.new_items if item.type == "tool_call_output_item"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [({"name": "Ada"}, "accept {'name': 'Ada'} state of x"), (None, "decline None state of x")],
)
async def test_a_modern_servers_question_pauses_the_run_until_it_is_answered(answer: object, told: str) -> None:
    async with little("modern") as server:
        paused = await Runner.run(agent(server, [call("ask", text="x"), call("echo", text="meanwhile")]), "go")
        [item] = paused.interruptions
        assert isinstance(item, ToolAnswerItem)
        assert item.question == "MCP server 'little' asks: Who is it for?"
        state = paused.to_state()
        with pytest.raises(UserError, match="expected"):
            state.answer(item, {"name": 3})
        state.answer(item, answer)
        result = await Runner.run(agent(server), state)
    assert result.final_output == "done"
    assert sorted(outputs(result)) == sorted([told, "meanwhile"])


async def test_a_server_with_one_question_and_nobody_to_answer_it() -> None:
    async with little("modern") as server:
        paused = await Runner.run(agent(server, call("ask", text="x")), "go")
        state = paused.to_state()
        state.mark_failed(paused.interruptions[0], "nobody knows")
        result = await Runner.run(agent(server), state)
    assert outputs(result) == ["nobody knows"]


async def test_a_call_that_is_cut_after_its_answer_is_in_doubt() -> None:
    """The second request was sent, nobody knows with what outcome: it is not sent a third time."""
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    async with little("modern") as server:
        paused = await Runner.run(agent(server, call("ask", text="hang")), "go", run_config=config)
        state = paused.to_state()
        state.answer(paused.interruptions[0], {"name": "Ada"})
        stream = Runner.run_streamed(agent(server), state, run_config=config)
        async for event in stream.stream_events():
            if event.type == "tool_progress_stream_event":
                break
        await stream.aclose()
        again = await Runner.resume(agent(server), "r", run_config=config)
    assert [type(item) for item in again.interruptions] == [ToolInDoubtItem]


async def test_a_server_of_the_handshake_era_asks_a_callback() -> None:
    asked: list[MCPElicitation] = []

    async def answer(question: MCPElicitation) -> object:
        asked.append(question)
        return {"name": "Ada"}

    async with little(on_elicitation=answer, client_session_timeout_seconds=5) as server:
        result = await Runner.run(agent(server, call("ask")), "go")
    assert outputs(result) == ["accept {'name': 'Ada'}"]
    assert [(one.server, one.message) for one in asked] == [("little", "Who is it for?")]


async def test_a_person_has_the_time_of_a_question_also_where_the_server_tells_of_progress() -> None:
    told = asyncio.Event()

    async def answer(question: MCPElicitation) -> object:
        await told.wait()
        await pass_time(100)
        return {"name": "Ada"}

    async with little(on_elicitation=answer, client_session_timeout_seconds=60) as server:
        stream = Runner.run_streamed(agent(server, call("ask", text="busy")), "go")
        async for event in stream.stream_events():
            if event.type == "tool_progress_stream_event":
                told.set()
    assert outputs(stream) == ["accept {'name': 'Ada'}"]


async def test_each_of_two_questions_has_its_time() -> None:
    second_is_asked, first_is_over = asyncio.Event(), asyncio.Event()
    turns = iter(["first", "second"])

    async def answer(question: MCPElicitation) -> object:
        if (turn := next(turns)) == "first":
            await second_is_asked.wait()
        else:
            second_is_asked.set()
            await first_is_over.wait()
            await pass_time(100)
        return {"name": turn}

    async with little(on_elicitation=answer, client_session_timeout_seconds=60) as server:
        stream = Runner.run_streamed(agent(server, [call("ask"), call("ask")]), "go")
        async for event in stream.stream_events():
            if event.type == "run_item_stream_event" and event.name == "tool_output":
                first_is_over.set()
    assert sorted(outputs(stream)) == ["accept {'name': 'first'}", "accept {'name': 'second'}"]


async def test_a_server_that_is_silent_after_the_answer_is_given_up_as_any_other() -> None:
    heard = asyncio.Event()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "answered" in record.getMessage():
                heard.set()

    async def answer(question: MCPElicitation) -> object:
        return {"name": "Ada"}

    listening = Listening()
    logging.getLogger("agentsdk.mcp").addHandler(listening)
    try:
        async with little(on_elicitation=answer, client_session_timeout_seconds=60, log_level="warning") as server:
            running = asyncio.create_task(Runner.run(agent(server, call("ask", text="hang")), "go"))
            await heard.wait()
            await pass_time(61)
            async with asyncio.timeout(60):
                result = await running
    finally:
        logging.getLogger("agentsdk.mcp").removeHandler(listening)
    assert "did not answer tools/call within 60 seconds" in outputs(result)[0]


async def test_a_callback_that_does_not_answer_in_time_is_a_question_cancelled() -> None:
    async def never(question: MCPElicitation) -> object:
        await asyncio.Event().wait()
        return None

    async with little(on_elicitation=never, elicitation_timeout_seconds=0.1) as server:
        result = await Runner.run(agent(server, call("ask")), "go")
    assert outputs(result) == ["cancel None"]


async def test_a_server_is_not_told_that_somebody_answers_where_nobody_does() -> None:
    async with little() as server:
        result = await Runner.run(agent(server, call("ask")), "go")
    assert outputs(result) == ["Elicitation not supported None"]


SCRIPT = str(Path(__file__).with_name("elicited_run.py"))


def process(step: str, folder: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, SCRIPT, step]
    return subprocess.Popen(command, cwd=folder, env=env, stdin=pipe, stdout=pipe, text=True)


def test_a_question_survives_its_process_and_is_answered_from_another_and_ended_in_a_third(tmp_path: Path) -> None:
    asking = process("begin", tmp_path)
    assert asking.stdout is not None and asking.stdin is not None
    assert asking.stdout.readline() == "waits: MCP server 'little' asks: Who is it for?\n"
    asking.send_signal(signal.SIGKILL)
    asking.communicate()
    for step, says in [("answer", "answered\n"), ("finish", """done ["accept {'name': 'Ada'} state of x"] sent 2\n""")]:
        other = process(step, tmp_path)
        assert other.communicate(timeout=60)[0] == says
