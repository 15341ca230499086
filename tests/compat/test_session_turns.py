"""A session is written as the run goes: its input before the first turn, each turn once it has ended, before the next."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk.compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    RunConfig,
    RunContextWrapper,
    Runner,
    UserError,
    function_tool,
    handoff,
    input_guardrail,
)
from agentsdk.compat.openai_agents.extensions import handoff_filters
from agentsdk.compat.openai_agents.memory import SessionABC, SessionSettings
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio

FIRST = ["function_call:1", "function_call_output:1"]


class Noting(SessionABC):
    """A session that notes what is written at once, and what tools find in it."""

    session_id = "s"
    session_settings: SessionSettings | None = None

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.writes: list[list[str]] = []
        self.seen: list[list[str]] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return list(self.items)

    async def add_items(self, items: list[Any]) -> None:
        self.items += items
        self.writes.append(kinds(items))

    async def pop_item(self) -> Any | None:
        return self.items.pop()

    async def clear_session(self) -> None:
        self.items.clear()


def kinds(items: list[Any]) -> list[str]:
    """The items by type, or role, and the call's id."""
    return [f"{one['type']}:{one['call_id']}" if "call_id" in one else one.get("role", one.get("type")) for one in items]


@function_tool
def look(ctx: RunContextWrapper[Noting]) -> str:
    """Looks into the session."""
    ctx.context.seen.append(kinds(ctx.context.items))
    return "seen"


@function_tool(failure_error_function=None)
def fail() -> str:
    """Fails."""
    raise ValueError("no")


def calls(name: str, *ids: str) -> list[Any]:
    """A reply that calls a tool, by these ids."""
    return [function_call(name, {}, call_id=one) for one in ids]


async def run(agent: Agent[Any], session: Noting, is_streamed: bool, **options: Any) -> Any:
    """Run an agent with its session, streamed or not."""
    if not is_streamed:
        return await Runner.run(agent, "x", context=session, session=session, **options)
    result = Runner.run_streamed(agent, "x", context=session, session=session, **options)
    async for _ in result.stream_events():
        pass
    return result


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_tools_find_what_was_before_their_turn(is_streamed: bool) -> None:
    session = Noting()
    model = ScriptedModel([calls("look", "1"), calls("look", "2"), [assistant_message("ok")]])
    await run(Agent(name="A", tools=[look], model=model), session, is_streamed)
    second = ["function_call:2", "function_call_output:2"]
    assert session.writes == [["user"], FIRST, second, ["assistant"]]
    assert session.seen == [["user"], ["user", *FIRST]]


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_what_fails_in_a_later_turn_leaves_whole_turns(is_streamed: bool) -> None:
    session = Noting()
    model = ScriptedModel([calls("look", "1"), RuntimeError("gone")])
    with pytest.raises(RuntimeError, match="gone"):
        await run(Agent(name="A", tools=[look], model=model), session, is_streamed)
    assert session.writes == [["user"], FIRST]
    session = Noting()
    model = ScriptedModel([calls("look", "1"), calls("fail", "2")])
    with pytest.raises(UserError):
        await run(Agent(name="A", tools=[look, fail], model=model), session, is_streamed)
    assert kinds(session.items) == ["user", *FIRST, "function_call:2", "function_call_output:2"]


@pytest.mark.parametrize("trips", [False, True])
async def test_an_input_is_written_once_its_guardrails_have_spoken(trips: bool) -> None:
    session = Noting()

    @input_guardrail
    async def judge(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        assert session.items == []
        return GuardrailFunctionOutput(None, trips)

    model = ScriptedModel([calls("look", "1"), [assistant_message("ok")]])
    agent = Agent(name="A", tools=[look], input_guardrails=[judge], model=model)
    if trips:
        with pytest.raises(InputGuardrailTripwireTriggered):
            await run(agent, session, False)
        assert session.writes == [["user"]] and session.seen == []
    else:
        await run(agent, session, False)
        assert session.writes == [["user"], FIRST, ["assistant"]] and session.seen == [["user"]]


async def test_a_turn_that_waits_is_written_when_it_has_ended() -> None:
    @function_tool(needs_approval=True)
    def remove() -> str:
        return "removed"

    session = Noting()
    model = ScriptedModel([calls("look", "1"), calls("remove", "2"), [assistant_message("ok")]])
    agent = Agent(name="A", tools=[look, remove], model=model)
    state = (await run(agent, session, False)).to_state()
    assert session.writes == [["user"], FIRST]
    state.approve(state.get_interruptions()[0])
    await Runner.run(agent, state, session=session)
    assert session.writes[2:] == [["function_call:2", "function_call_output:2"], ["assistant"]]


async def test_a_filtered_handoff_between_other_turns() -> None:
    session = Noting()
    target = Agent(name="B", tools=[look], model=ScriptedModel([calls("look", "2"), [assistant_message("ok")]]))
    given = handoff(target, input_filter=handoff_filters.remove_all_tools)
    model = ScriptedModel([calls("look", "1"), calls("transfer_to_b", "h")])
    await run(Agent(name="A", tools=[look], handoffs=[given], model=model), session, False)
    assert session.writes == [["user"], FIRST, ["function_call:2", "function_call_output:2"], ["assistant"]]


async def test_what_a_session_input_callback_made_is_written_first() -> None:
    session = Noting()
    session.items.append({"role": "user", "content": "before"})

    def merged(history: list[Any], new: list[Any]) -> list[Any]:
        return [*history, {"role": "user", "content": "between"}, *new]

    model = ScriptedModel([calls("look", "1"), [assistant_message("ok")]])
    config = RunConfig(session_input_callback=merged)
    await run(Agent(name="A", tools=[look], model=model), session, False, run_config=config)
    assert session.writes == [["user", "user"], FIRST, ["assistant"]]
