from __future__ import annotations

from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    HandoffInputData,
    MaxTurnsExceeded,
    Message,
    ModelError,
    RunConfig,
    Runner,
    RunState,
    UserError,
    handoff,
)
from agentsdk.errors import CallbackError, RepeatedCallsError, StateMismatchError
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


def expert_with(*replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("expert", model=ScriptedModel(replies or ["solved"]), **fields)


def agent_with(handoffs: list[Any], *replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel(replies), handoffs=handoffs, **fields)


def outputs(result: Any) -> dict[str, Any]:
    return {item.call_id: item.output for item in result.to_state().items() if isinstance(item, FunctionCallOutput)}


async def test_the_next_agent_goes_on_with_its_own_instructions_and_tools() -> None:
    expert = expert_with("solved", instructions="Solve.", tools=[tool_of(World(), "solve")])
    agent = agent_with([expert], call("transfer_to_expert"), instructions="Sort.")
    result = await Runner.run(agent, "go")
    assert result.final_output == "solved" and result.last_agent is expert
    request = expert.model.requests[0]  # type: ignore[union-attr]
    assert request.instructions == "Solve." and [tool.name for tool in request.tools] == ["solve"]
    assert [type(item) for item in request.items] == [Message, FunctionCall, FunctionCallOutput]
    assert [type(item).__name__ for item in result.new_items] == ["HandoffCallItem", "HandoffOutputItem", "MessageOutputItem"]
    assert [item.agent.name for item in result.new_items] == ["main", "main", "expert"]


def two_of_one_name(kind: str) -> Agent[Any, Any]:
    """An agent with another of its own name, or two of one name, somewhere among its handoffs, tools and their handoffs."""
    near, far = Agent("expert", instructions="near"), Agent("expert", instructions="far")
    between = Agent("between", handoffs=[far])
    match kind:
        case "itself":
            return Agent("expert", handoffs=[handoff(near, tool_name_override="go")])
        case "siblings":
            return Agent("main", handoffs=[near, handoff(far, tool_name_override="go")])
        case "deep":
            return Agent("main", handoffs=[near, between])
        case "in a tool":
            return Agent("main", tools=[Agent("helper", handoffs=[near, between]).as_tool()])
        case _:
            inner = Agent("inner", tools=[Agent("helper", handoffs=[near, between]).as_tool()])
            return Agent("main", handoffs=[Agent("outer", tools=[inner.as_tool()])])


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("itself", ["'expert'", "'expert' -> 'expert'"]),
        ("siblings", ["'main' -> 'expert'", "'main' -> 'expert'"]),
        ("deep", ["'main' -> 'expert'", "'main' -> 'between' -> 'expert'"]),
        ("in a tool", ["'helper' -> 'expert'", "'helper' -> 'between' -> 'expert'"]),
        ("in a tool of a tool", ["'helper' -> 'expert'", "'helper' -> 'between' -> 'expert'"]),
    ],
)
async def test_two_agents_of_one_name_are_refused_before_anything_is_asked(kind: str, paths: list[str]) -> None:
    agent = two_of_one_name(kind)
    agent.model = model = ScriptedModel(["never"])
    with pytest.raises(UserError, match="two agents are named 'expert'") as caught:
        await Runner.run(agent, "go")
    assert f"one is at {paths[0]}, the other at {paths[1]}; rename" in str(caught.value)
    assert model.requests == []
    other = Agent(agent.name, model=ScriptedModel([MaxTurnsExceeded("x", kind="turns", used=1, limit=1)]))
    with pytest.raises(MaxTurnsExceeded) as stopped:
        await Runner.run(other, "go")
    with pytest.raises(UserError, match="two agents are named 'expert'"):
        await Runner.run(agent, stopped.value.state)


async def test_one_agent_may_be_reached_on_many_ways() -> None:
    expert = expert_with("solved")
    between = Agent("between", handoffs=[expert])
    expert.handoffs = [between]
    expert.tools = [between.as_tool(), Agent("expert", model=ScriptedModel(["other"])).as_tool("other")]
    agent = agent_with([between, expert], call("transfer_to_expert"))
    assert (await Runner.run(agent, "go")).final_output == "solved"


async def test_the_stream_tells_of_the_new_agent() -> None:
    expert = expert_with()
    stream = Runner.run_streamed(agent_with([expert], call("transfer_to_expert")), "go")
    told = [
        event.new_agent.name if event.type == "agent_updated_stream_event" else event.name
        async for event in stream
        if event.type != "raw_response_event"
    ]
    assert told == ["main", "handoff_requested", "handoff_occured", "expert", "message_output_created"]


async def test_of_several_handoffs_the_first_wins_and_the_rest_are_answered() -> None:
    taken: list[str] = []
    one = handoff(expert_with(), on_handoff=lambda ctx: taken.append("expert"))
    two = handoff(Agent("two"), on_handoff=lambda ctx: taken.append("two"))
    agent = agent_with([one, two], [call("transfer_to_expert"), call("transfer_to_two"), call("transfer_to_expert")])
    result = await Runner.run(agent, "go")
    assert taken == ["expert"]
    answers = list(outputs(result).values())
    assert answers[0] == "Handed over to expert."
    assert [answer.startswith("Ignored") for answer in answers] == [False, True, True]


async def test_calls_beside_a_handoff_run_first() -> None:
    world = World()
    agent = agent_with([expert_with()], [call("transfer_to_expert"), call("pay", x=1)], tools=[tool_of(world, "pay")])
    result = await Runner.run(agent, "go")
    assert outputs(result) == {"call_1_1": "Handed over to expert.", "call_1_2": "pay gave 1"}


async def test_a_handoff_comes_before_a_tools_final_result() -> None:
    agent = agent_with(
        [expert_with()],
        [call("pay", x=1), call("transfer_to_expert")],
        tools=[tool_of(World(), "pay")],
        tool_use_behavior="stop_on_first_tool",
    )
    assert (await Runner.run(agent, "go")).final_output == "solved"


async def test_a_payload_that_does_not_fit_goes_back_to_the_model() -> None:
    got: list[Any] = []

    async def taken(ctx: Any, payload: int) -> None:
        got.append(payload)

    to_expert = handoff(expert_with(), on_handoff=taken, input_type=int)
    agent = agent_with([to_expert], call("transfer_to_expert", response="x"), call("transfer_to_expert", response=3))
    result = await Runner.run(agent, "go")
    assert got == [3] and result.final_output == "solved"
    assert "arguments are invalid" in outputs(result)["call_1_1"]
    assert outputs(result)["call_2_1"] == "Handed over to expert."


async def test_an_invalid_first_handoff_leaves_the_way_to_a_valid_second() -> None:
    to_one = handoff(Agent("one"), on_handoff=lambda ctx, payload: None, input_type=int)
    agent = agent_with([to_one, expert_with()], [call("transfer_to_one", response="x"), call("transfer_to_expert")])
    assert (await Runner.run(agent, "go")).final_output == "solved"


async def test_an_approval_blocks_the_handoff_while_siblings_run_once() -> None:
    world = World()
    taken: list[str] = []
    to_expert = handoff(expert_with(), on_handoff=lambda ctx: taken.append("expert"))
    tools = [tool_of(world, "pay", needs_approval=True), tool_of(world, "look")]
    agent = agent_with([to_expert], [call("transfer_to_expert"), call("pay", x=1), call("look", x=2)], tools=tools)
    config = RunConfig(run_id="r")
    paused = await Runner.run(agent, "go", run_config=config)
    assert paused.last_agent is agent and not taken and world.done == {"r/call_1_3": 1}
    state = reloaded(agent, paused.to_state())
    state.reject(state.interruptions[0])
    stream = Runner.run_streamed(agent, state, run_config=config)
    names = [event.name async for event in stream if event.type == "run_item_stream_event"]
    assert names == ["tool_output", "handoff_occured", "message_output_created"]
    assert stream.final_output == "solved" and taken == ["expert"]
    assert world.done == {"r/call_1_3": 1}


async def test_a_filter_decides_what_the_next_agent_sees_and_the_history_keeps_all() -> None:
    seen: list[HandoffInputData] = []

    def only_input(data: HandoffInputData) -> HandoffInputData:
        seen.append(data)
        return data.clone(pre_handoff_items=(), new_items=())

    expert = expert_with(call("solve"), "solved", tools=[tool_of(World(), "solve")])
    agent = agent_with(
        [handoff(expert, input_filter=only_input)], call("look"), call("transfer_to_expert"), tools=[tool_of(World(), "look")]
    )
    result = await Runner.run(agent, "go")
    (data,) = seen
    assert [len(part) for part in (data.input_history, data.pre_handoff_items, data.new_items)] == [1, 2, 2]
    views = [list(request.items) for request in expert.model.requests]  # type: ignore[union-attr]
    assert [len(view) for view in views] == [1, 3]
    assert len(result.to_input_list()) == 1 + 2 + 2 + 2 + 1


async def test_a_filter_that_breaks_pairs_is_repaired() -> None:
    def half(data: HandoffInputData) -> HandoffInputData:
        calls = tuple(item for item in data.new_items if isinstance(item, FunctionCall))
        orphans = tuple(item for item in data.pre_handoff_items if isinstance(item, FunctionCallOutput))
        return HandoffInputData(data.input_history, orphans, calls)

    expert = expert_with()
    agent = agent_with(
        [handoff(expert, input_filter=half)], call("look"), call("transfer_to_expert"), tools=[tool_of(World(), "look")]
    )
    await Runner.run(agent, "go")
    items = list(expert.model.requests[0].items)  # type: ignore[union-attr]
    assert [type(item) for item in items] == [Message, FunctionCall, FunctionCallOutput]
    assert items[1].call_id == items[2].call_id  # type: ignore[union-attr]


async def test_the_runs_filter_is_for_handoffs_without_their_own() -> None:
    def nothing(data: HandoffInputData) -> HandoffInputData:
        return HandoffInputData((Message("user", "in short"),), (), ())

    expert = expert_with()
    await Runner.run(agent_with([expert], call("transfer_to_expert")), "go", run_config=RunConfig(handoff_input_filter=nothing))
    assert list(expert.model.requests[0].items) == [Message("user", "in short")]  # type: ignore[union-attr]


@pytest.mark.parametrize("what", ["on_handoff", "input_filter"])
async def test_a_callable_that_raises_is_typed_and_the_handoff_is_not_lost(what: str) -> None:
    taken: list[str] = []
    broken = True

    def on_handoff(ctx: Any) -> None:
        if broken and what == "on_handoff":
            raise ConnectionError
        taken.append("taken")

    def keep(data: HandoffInputData) -> HandoffInputData:
        if broken and what == "input_filter":
            raise ConnectionError
        return data

    agent = agent_with([handoff(expert_with(), on_handoff=on_handoff, input_filter=keep)], call("transfer_to_expert"))
    with pytest.raises(CallbackError, match=f"{what} of the handoff to agent 'expert'") as caught:
        await Runner.run(agent, "go")
    broken = False
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(agent, reloaded(agent, caught.value.state))).final_output == "solved"
    assert taken == ["taken"]


async def test_a_filter_that_returns_something_else_is_a_user_error() -> None:
    agent = agent_with([handoff(expert_with(), input_filter=lambda data: None)], call("transfer_to_expert"))  # type: ignore[arg-type,return-value]
    with pytest.raises(UserError, match="returned 'NoneType', expected a HandoffInputData"):
        await Runner.run(agent, "go")


async def test_agents_that_hand_over_for_ever_reach_the_turn_limit() -> None:
    one = Agent("one", model=ScriptedModel([call("transfer_to_two")] * 20))
    two = Agent("two", model=ScriptedModel([call("transfer_to_one")] * 20), handoffs=[one])
    one.handoffs = [two]
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(one, "go", max_turns=5)
    assert isinstance(caught.value.state, RunState)
    assert caught.value.state.current_agent == "two"
    with pytest.raises(RepeatedCallsError, match="'transfer_to_two', then 'transfer_to_one' 3 times running") as looped:
        await Runner.run(one, "go")
    assert isinstance(looped.value.state, RunState) and looped.value.state.turns == 6


async def test_a_disabled_handoff_is_not_offered_and_not_taken() -> None:
    agent = agent_with([handoff(expert_with(), is_enabled=lambda ctx, agent: False)], call("transfer_to_expert"), "alone")
    result = await Runner.run(agent, "go")
    assert result.final_output == "alone" and result.last_agent is agent
    assert agent.model.requests[0].tools == ()  # type: ignore[union-attr]


async def test_a_state_is_resumed_through_the_agent_it_began_with() -> None:
    expert = expert_with(call("pay", x=1), "paid", tools=[tool_of(World(), "pay", needs_approval=True)])
    agent = agent_with([expert], call("transfer_to_expert"))
    state = (await Runner.run(agent, "go")).to_state()
    assert state.current_agent == "expert"
    with pytest.raises(StateMismatchError, match="expected to go on with that one and got 'expert'"):
        await Runner.run(expert, state)
    with pytest.raises(StateMismatchError, match="at agent 'expert'"):
        await Runner.run(agent.clone(handoffs=[]), state)
    state.approve(state.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "paid"


async def test_replacing_the_input_begins_with_the_first_agent_again() -> None:
    expert = expert_with(ConnectionError("broken"))
    agent = agent_with([expert], call("transfer_to_expert"), "never mind")
    with pytest.raises(ModelError, match="ConnectionError") as caught:
        await Runner.run(agent, "go")
    state = caught.value.state
    assert isinstance(state, RunState)
    state.replace_input("something else")
    result = await Runner.run(agent, state)
    assert result.final_output == "never mind" and result.last_agent is agent
    assert [item.agent.name for item in result.new_items] == ["main"]
