"""Input that arrives during a run enters at its next turn, and is lost nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, Inbox, MemoryRunStore, MemorySession, RunConfig, Runner, StoreError, function_tool
from agentsdk.testing import FaultyStore, ScriptedModel, call
from agentsdk.types.events import InputAdded
from tests.core.histories import unpaired

pytestmark = pytest.mark.anyio


def agent_with(inbox: Inbox, *said: str) -> Agent[Any, str]:
    """It works once; while it does, somebody says these."""

    @function_tool(effect="none")
    async def work() -> str:
        for text in said:
            inbox.put(text)
        return "worked"

    return Agent("main", model=ScriptedModel([call("work"), "done", "done again"]), tools=[work])


def requests(agent: Agent[Any, Any]) -> list[list[str]]:
    """The user's texts in each request."""
    model: Any = agent.model
    return [[item.content for item in request.items if getattr(item, "role", "") == "user"] for request in model.requests]


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_arrives_enters_at_the_next_turn(streamed: bool) -> None:
    inbox = Inbox()
    agent = agent_with(inbox, "and be quick", "please")
    run = Runner.run_streamed if streamed else Runner.run
    result = await run(agent, "go", run_config=RunConfig(inbox=inbox))
    assert requests(agent) == [["go"], ["go", "and be quick", "please"]]
    assert result.final_output == "done" and len(inbox) == 0
    assert unpaired(result.to_state().items()) == []


async def test_a_run_does_not_end_while_something_waits() -> None:
    inbox = Inbox()

    class Late(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for event in super().stream(request):
                yield event
            if len(self.requests) == 1:
                inbox.put("one more thing")

    model = Late(["done", "done again"])
    result = await Runner.run(Agent("main", model=model), "go", run_config=RunConfig(inbox=inbox))
    assert result.final_output == "done again" and result.turns == 2
    said = [getattr(item, "content", "") for item in result.to_state().items()]
    assert said == ["go", "done", "one more thing", "done again"]


async def test_a_timer_that_is_not_due_stays() -> None:
    inbox = Inbox()
    inbox.put("much later", delay=3600)
    result = await Runner.run(Agent("main", model=ScriptedModel(["done"])), "go", run_config=RunConfig(inbox=inbox))
    assert result.final_output == "done" and len(inbox) == 1


async def test_what_was_added_is_in_the_session_and_the_store() -> None:
    inbox, store, session = Inbox(), MemoryRunStore(), MemorySession("s")
    agent = agent_with(inbox, "hurry")
    await Runner.run(agent, "go", run_config=RunConfig(inbox=inbox, store=store, run_id="r"), session=session)
    state = await Runner.load("r", run_config=RunConfig(store=store))
    assert [event.items[0].content for event in state.value.log if isinstance(event, InputAdded)] == ["hurry"]  # type: ignore[union-attr]
    assert [getattr(item, "content", "") for item in await session.get_items()][-2:] == ["hurry", "done"]


async def test_a_message_that_could_not_be_recorded_is_still_there() -> None:
    inbox = Inbox()
    inbox.put("first of all")
    store = FaultyStore(MemoryRunStore(), "full", 2)  # the start is the first append
    with pytest.raises(StoreError):
        await Runner.run(Agent("main", model=ScriptedModel([])), "go", run_config=RunConfig(inbox=inbox, store=store))
    assert [message.content for message in inbox.due()] == ["first of all"]


async def test_nested_runs_do_not_take_what_is_for_the_outer_one() -> None:
    inbox = Inbox()
    child = agent_with(inbox, "for the parent")
    parent = Agent("parent", model=ScriptedModel([call("main", input="work"), "all done"]), tools=[child.as_tool()])
    await Runner.run(parent, "go", run_config=RunConfig(inbox=inbox))
    assert requests(child) == [["work"], ["work"]]
    assert requests(parent)[-1] == ["go", "for the parent"]
