"""Input that arrives during a run enters at its next turn, and is lost nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import (
    Agent,
    Inbox,
    MemoryRunStore,
    MemorySession,
    RunConfig,
    Runner,
    RunState,
    StoreError,
    UserError,
    function_tool,
)
from agentsdk.testing import FaultyStore, ScriptedModel, call
from agentsdk.types.events import InputAdded
from tests.core.histories import unpaired
from tests.engine.conftest import OpenStore

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


def paying(*replies: Any) -> Agent[Any, str]:
    """Its calls wait for a person."""

    @function_tool(needs_approval=True)
    def pay(x: int) -> str:
        return f"paid {x}"

    return Agent("main", model=ScriptedModel(list(replies)), tools=[pay])


async def test_what_a_state_was_given_enters_at_the_next_turn_of_the_resumed_run(open_store: OpenStore) -> None:
    inbox = Inbox()
    agent, config = paying(call("pay", x=1), "done"), RunConfig(store=open_store(), run_id="r", inbox=inbox)
    await Runner.run(agent, "go", run_config=config)
    state = await Runner.load("r", run_config=config)
    state.add_input("and be quick")
    state.add_input([{"role": "user", "content": "please"}])
    inbox.put("the inbox comes last")
    state.approve(state.interruptions[0])
    state = RunState.from_string(agent, state.to_string())
    result = await Runner.run(agent, state, run_config=config)
    assert requests(agent) == [["go"], ["go", "and be quick", "please", "the inbox comes last"]]
    assert result.to_state().added_input == () and unpaired(result.to_state().items()) == []
    stored = await Runner.load("r", run_config=config)
    assert [len(event.items) for event in stored.value.log if isinstance(event, InputAdded)] == [3]


async def test_what_has_not_entered_stays_with_the_state_of_a_run_that_still_waits() -> None:
    agent = paying([call("pay", x=1), call("pay", x=2)], "done")
    state = (await Runner.run(agent, "go")).to_state()
    state.add_input("quick")
    for _ in range(2):
        assert [message.content for message in state.added_input] == ["quick"]
        state.approve(state.interruptions[0])
        result = await Runner.run(agent, state)
        state = result.to_state()
    assert result.final_output == "done" and requests(agent) == [["go"], ["go", "quick"]]


async def test_what_a_store_failed_at_enters_once() -> None:
    """The second run appends its resumption, the intent, the result, and then what was added."""
    for at in range(1, 12):
        agent, store = paying(call("pay", x=1), "done"), MemoryRunStore()
        state = (await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r"))).to_state()
        state.add_input("quick")
        state.approve(state.interruptions[0])
        try:
            result = await Runner.run(agent, state, run_config=RunConfig(store=FaultyStore(store, "full", at)))
        except StoreError as error:
            assert isinstance(error.state, RunState)
            result = await Runner.run(agent, error.state, run_config=RunConfig(store=store))
        else:
            break
        assert result.final_output == "done" and requests(agent)[-1] == ["go", "quick"], at
    assert at > 4


async def test_what_nobody_has_judged_is_not_put_into_a_store() -> None:
    agent, config = paying(call("pay", x=1)), RunConfig(store=MemoryRunStore(), run_id="r")
    state = (await Runner.run(agent, "go", run_config=config)).to_state()
    state.add_input("quick")
    with pytest.raises(UserError, match=r"expected decisions alone; resume the run with that state"):
        await Runner.decide(state, run_config=config)
