"""The trace of a run that goes on: the stored one, of whose beginning processors are told once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsdk.compat.openai_agents import Agent, RunConfig, Runner, RunState, function_tool, set_trace_processors, trace
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call
from agentsdk.compat.openai_agents.tracing import TracingProcessor
from agentsdk.compat.openai_agents.tracing import traces as kept

pytestmark = pytest.mark.anyio


class Noting(TracingProcessor):
    """Notes the traces that it is told of, and of which trace the spans are."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.spans: set[Any] = set()

    def on_trace_start(self, trace: Any) -> None:
        self.told.append((trace.name, trace.group_id, trace.metadata))

    def on_trace_end(self, trace: Any) -> None:
        self.told.append("end")

    def on_span_start(self, span: Any) -> None:
        self.spans.add(span.trace_id)

    def on_span_end(self, span: Any) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def force_flush(self) -> None:
        pass


@pytest.fixture
def seen() -> Iterator[Noting]:
    noting = Noting()
    set_trace_processors([noting])
    yield noting
    set_trace_processors([])


@function_tool(needs_approval=True)
def remove() -> str:
    """Removes."""
    return "removed"


CONFIG = RunConfig(workflow_name="W", group_id="g", trace_metadata={"a": "b"})


async def waiting(is_loaded: bool) -> tuple[Agent[Any], RunState[Any]]:
    """A run that waits, with an approval, and its agent."""
    model = ScriptedModel([[function_call("remove", {}, call_id="c")], [assistant_message("ok")]])
    agent = Agent(name="A", tools=[remove], model=model)
    state = (await Runner.run(agent, "x", run_config=CONFIG)).to_state()
    if is_loaded:
        state = await RunState.from_string(agent, state.to_string())
    state.approve(state.get_interruptions()[0])
    return agent, state


@pytest.mark.parametrize("is_loaded", [False, True])
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_it_is_the_same_trace_and_told_once(seen: Noting, is_loaded: bool, is_streamed: bool) -> None:
    agent, state = await waiting(is_loaded)
    if is_streamed:
        result = Runner.run_streamed(agent, state)
        _ = [event async for event in result.stream_events()]
    else:
        await Runner.run(agent, state)
    assert seen.told == [("W", "g", {"a": "b"}), "end"] and len(seen.spans) == 1


async def test_other_settings_are_told_under_its_id(seen: Noting) -> None:
    agent, state = await waiting(is_loaded=True)
    await Runner.run(agent, state, run_config=RunConfig(workflow_name="V"))
    assert seen.told == [("W", "g", {"a": "b"}), "end", ("V", "g", {"a": "b"}), "end"] and len(seen.spans) == 1


async def test_another_process_is_told_of_it(seen: Noting, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel([[function_call("remove", {}, call_id="c")], [assistant_message("ok")]])
    agent = Agent(name="A", tools=[remove], model=model)
    text = (await Runner.run(agent, "x", run_config=CONFIG)).to_state().to_string()
    monkeypatch.setattr(kept, "_saved", {})  # nothing was saved there
    state = await RunState.from_string(agent, text)
    state.approve(state.get_interruptions()[0])
    await Runner.run(agent, state)
    assert seen.told == [("W", "g", {"a": "b"}), "end"] * 2 and len(seen.spans) == 1


async def test_a_trace_around_comes_first(seen: Noting) -> None:
    agent, state = await waiting(is_loaded=False)
    with trace("around"):
        await Runner.run(agent, state)
    assert seen.told[2:] == [("around", None, None), "end"] and len(seen.spans) == 2
