"""An argument that there is not: the error says which one is meant, or where it belongs."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, ModelSettings, RunConfig, RunLimits, Runner, UserError, function_tool
from agentsdk.testing import ScriptedModel

AGENT = Agent[None, str](name="Clerk")

CASES: list[tuple[Callable[..., Any], str, str]] = [
    (Agent, "system_prompt", "write instructions=..."),
    (Agent, "instruction", "write instructions=..."),
    (Agent, "result_type", "write output_type=..."),
    (Agent, "mcp_servers", "write toolsets=[...]"),
    (Agent, "temperature", "write model_settings=ModelSettings(temperature=...)"),
    (Agent, "max_output_tokens", "write model_settings=ModelSettings(max_tokens=...)"),
    (Agent, "store", "write model_settings=ModelSettings(store=...)"),
    (Agent, "run_id", "write Runner.run(..., run_config=RunConfig(run_id=...))"),
    (Agent, "max_turns", "write Runner.run(..., max_turns=...)"),
    (Agent, "tool", "write tools=..."),
    (Agent, "xyz", "expected some of name, instructions, tools"),
    (RunConfig, "max_turns", "write Runner.run(..., max_turns=...)"),
    (RunConfig, "temperature", "write model_settings=ModelSettings(temperature=...)"),
    (RunConfig, "runid", "write run_id=..."),
    (ModelSettings, "reasoning", "write reasoning_effort=..., or thinking=..."),
    (ModelSettings, "temprature", "write temperature=..."),
    (RunConfig, "max_cost", "write limits=RunLimits(cost=...)"),
    (RunConfig, "tool_calls", "write limits=RunLimits(tool_calls=...)"),
    (RunLimits, "budget", "write cost=..."),
    (RunLimits, "max_tokens", "write tokens=..."),
    (RunLimits, "turn", "write turns=..."),
    (function_tool, "name", "write name_override=..."),
    (function_tool, "need_approval", "write needs_approval=..."),
]


@pytest.mark.parametrize(("make", "given", "told"), CASES, ids=lambda case: case if isinstance(case, str) else None)
def test_the_error_says_which_one_is_meant(make: Callable[..., Any], given: str, told: str) -> None:
    name = {"name": "Clerk"} if make is Agent else {}
    with pytest.raises(TypeError, match=rf"got an unexpected keyword argument '{given}'; ") as caught:
        make(**name, **{given: 1})
    assert told in str(caught.value)
    assert (caught.value.__cause__ is None and caught.value.__suppress_context__) or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("deps", "write context=..."),
        ("store", "write run_config=RunConfig(store=...)"),
        ("temperature", "write run_config=RunConfig(model_settings=ModelSettings(temperature=...))"),
        ("max_turn", "write max_turns=..."),
        ("max_cost", "write run_config=RunConfig(limits=RunLimits(cost=...))"),
    ],
)
def test_so_does_the_error_of_a_run(given: str, told: str) -> None:
    run: Any = Runner.run_sync
    with pytest.raises(TypeError, match=rf"^Runner got an unexpected keyword argument '{given}'; ") as caught:
        run(AGENT, "Hi", **{given: 1})
    assert str(caught.value).endswith(told)


def test_so_does_the_error_of_a_copy() -> None:
    with pytest.raises(UserError, match=r"^agent 'Clerk' has no fields \['system_prompt'\], .*; write instructions=\.\.\.$"):
        AGENT.clone(system_prompt="Be brief.")


def test_an_error_of_another_kind_stays_what_it_is() -> None:
    with pytest.raises(TypeError, match="positional"):
        RunConfig(1)  # type: ignore[misc]  # pyright: ignore[reportCallIssue]
    with pytest.raises(UserError, match=r"RunConfig\(max_depth="):
        RunConfig(max_depth="deep")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_what_is_taken_is_shown_as_before() -> None:
    assert list(inspect.signature(Agent).parameters) == list(Agent.__dataclass_fields__)
    assert list(inspect.signature(RunConfig).parameters) == list(RunConfig.__dataclass_fields__)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("run", "write await Runner.run(agent, input)"),
        ("invoke", "write await Runner.run(agent, input)"),
        ("run_sync", "write Runner.run_sync(agent, input)"),
        ("stream", "write Runner.run_streamed(agent, input)"),
        ("tool", "write @function_tool, and tools=[...] for the agent"),
    ],
)
def test_a_method_of_another_librarys_agents_says_what_to_write(name: str, told: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(AGENT, name)
    assert str(caught.value) == f"'Agent' object has no attribute '{name}'; {told}"
    assert not hasattr(AGENT, name) and not hasattr(Agent, name)


def test_the_names_of_such_methods_are_free() -> None:
    @dataclass(eq=False)
    class Runnable(Agent[None, str]):
        stream: int = 1

        def run(self) -> str:
            return "ran"

    agent = Runnable(name="Clerk", stream=2)
    assert (agent.run(), agent.stream, agent.clone(stream=3).stream) == ("ran", 2, 3)
    for same in (copy.copy(AGENT), copy.deepcopy(AGENT), pickle.loads(pickle.dumps(AGENT))):
        assert same.name == "Clerk" and not hasattr(same, "run")


def test_so_does_what_a_result_of_another_library_has() -> None:
    result = Runner.run_sync(AGENT, "Hi", run_config=RunConfig(model=ScriptedModel(["Hello."])))
    for name, told in (
        ("output", "result.final_output"),
        ("text", "result.final_output"),
        ("messages", "result.to_input_list()"),
    ):
        with pytest.raises(AttributeError, match=rf"^'RunResult' object has no attribute '{name}'; write {re.escape(told)}$"):
            getattr(result, name)
    assert not hasattr(result, "data")


def test_a_moment_that_is_no_timestamp_says_how_to_make_one() -> None:
    submit: Any = Runner.submit
    with pytest.raises(UserError, match=r"expected a finite Unix timestamp in seconds, or None; write moment\.timestamp\(\)$"):
        asyncio.run(submit(AGENT, "Hi", at=datetime.now(UTC), run_config=RunConfig(store=MemoryRunStore())))
