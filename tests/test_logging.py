"""What is logged: quiet by default, a line for each turn on request, and the ids of runs on the user's own records."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider

from agentsdk import Agent, ModelError, OpenTelemetryTracer, RunConfig, Runner, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.tracing import RunLogFilter

pytestmark = pytest.mark.anyio

PROGRAM = """
import asyncio, logging
{setup}
from agentsdk import Agent, RunConfig, Runner, function_tool
from agentsdk.testing import ScriptedModel, call

@function_tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

other = Agent("Other", model=ScriptedModel(["3"]))
model = ScriptedModel([[call("add", a=1, b=2), call("add", a=1, b=0), call("secret name")], call("transfer_to_other")])
agent = Agent("Clerk", tools=[add], handoffs=[other], model=model)
asyncio.run(Runner.run(agent, "secret question", run_config=RunConfig(run_id="r1")))
logging.getLogger("agentsdk").warning("something")
"""


def stderr_of(level: str | None, setup: str = "") -> str:
    environment = {} if level is None else {"AGENTSDK_LOG": level}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(setup=setup)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr


def test_it_is_quiet_by_default() -> None:
    assert stderr_of(None) == ""


@pytest.mark.parametrize("level", ["debug", "DEBUG"])
def test_debug_shows_each_turn_in_a_line(level: str) -> None:
    shown = stderr_of(level)
    lines = [re.sub(r"^\S+ \S+ |\d+(?= ms)", "", line) for line in shown.splitlines()]
    assert lines == [
        "DEBUG agentsdk.turns: Clerk turn 1: scripted, 10+5 tokens,  ms, calls: add x2, _OTHER, next: run again [run r1]",
        "DEBUG agentsdk.turns: Clerk turn 2: scripted, 10+5 tokens,  ms, calls: _OTHER, next: handoff to Other [run r1]",
        "DEBUG agentsdk.turns: Other turn 3: scripted, 10+5 tokens,  ms, calls: none, next: final output [run r1]",
        "WARNING agentsdk: something",
    ]
    assert "secret" not in shown


@pytest.mark.parametrize("level", ["info", "warning"])
def test_a_higher_level_shows_no_turns(level: str) -> None:
    shown = stderr_of(level)
    assert "WARNING agentsdk: something" in shown and "turn" not in shown


def test_a_wrong_level_is_warned_of() -> None:
    assert "AGENTSDK_LOG is 'verbose', expected debug, info, warning, error; nothing is shown" in stderr_of("verbose")


def test_a_program_with_handlers_of_its_own_sees_each_record_once() -> None:
    shown = stderr_of("debug", "logging.basicConfig(format='mine %(message)s')")
    assert [line[:10] for line in shown.splitlines()] == ["mine Clerk", "mine Clerk", "mine Other", "mine somet"]


async def test_a_turn_that_fails_says_by_what_and_holds_no_control_characters(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("Clerk\n\x1b[31m", model=ScriptedModel([ValueError("secret")]))
    with caplog.at_level(logging.DEBUG, "agentsdk.turns"), pytest.raises(ModelError):
        await Runner.run(agent, "go")
    [record] = caplog.records
    assert record.message.startswith("Clerk??[31m turn 1: no request, 0+0 tokens, ")
    assert ", next: none, ModelError [run " in record.message


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    """What a logger of the user's own gets, through a handler with the filter."""
    kept: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record)

    handler, mine = Keeping(), logging.getLogger("mine")
    handler.addFilter(RunLogFilter())
    mine.addHandler(handler)
    yield kept
    mine.removeHandler(handler)


@function_tool
def say() -> str:
    """Say."""
    logging.getLogger("mine").warning("inside")
    return "said"


async def test_a_record_of_a_tool_has_the_ids_of_its_run(records: list[logging.LogRecord]) -> None:
    nested = Agent("Inner", tools=[say], model=ScriptedModel([call("say"), "done"]))
    tools = [say, nested.as_tool("ask_inner", "Ask.")]
    agent = Agent("Clerk", tools=tools, model=ScriptedModel([call("say"), call("ask_inner", input="?"), "done"]))
    await Runner.run(agent, "go", run_config=RunConfig(run_id="r1"))
    logging.getLogger("mine").warning("outside")
    assert [vars(record)["run_id"] for record in records] == ["r1", "r1/call_2_1", ""]
    assert {vars(record)["trace_id"] for record in records} == {""}


async def test_the_line_of_a_turn_has_the_id_of_its_run(
    records: list[logging.LogRecord], caplog: pytest.LogCaptureFixture
) -> None:
    [handler] = logging.getLogger("mine").handlers
    turns = logging.getLogger("agentsdk.turns")
    turns.addHandler(handler)
    try:
        with caplog.at_level(logging.DEBUG, "agentsdk.turns"):
            await Runner.run(Agent("Clerk", model=ScriptedModel(["done"])), "go", run_config=RunConfig(run_id="r1"))
    finally:
        turns.removeHandler(handler)
    assert [vars(record)["run_id"] for record in records] == ["r1"]


async def test_a_record_of_a_traced_tool_has_the_ids_of_its_span(records: list[logging.LogRecord]) -> None:
    tracer = OpenTelemetryTracer(TracerProvider(shutdown_on_exit=False))
    agent = Agent("Clerk", tools=[say], model=ScriptedModel([call("say"), "done"]))
    await Runner.run(agent, "go", run_config=RunConfig(run_id="r1", tracer=tracer))
    [record] = records
    found = vars(record)
    assert (found["run_id"], len(found["trace_id"]), len(found["span_id"])) == ("r1", 32, 16)
