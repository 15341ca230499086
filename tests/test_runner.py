from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from agentsdk import (
    Agent,
    AgentsException,
    Message,
    RunConfig,
    RunLimits,
    Runner,
    RunResult,
    RunState,
    Usage,
    UserError,
    function_tool,
)
from agentsdk.errors import StateMismatchError
from agentsdk.testing import ScriptedModel, call
from tests.scenarios import World, agent_of, reloaded, tool_of

pytestmark = pytest.mark.anyio


def test_run_sync_gives_the_result() -> None:
    result = Runner.run_sync(agent_of(World(), ["hello"]), "go")
    assert result.final_output == "hello"


async def test_a_stream_can_be_awaited_for_its_result() -> None:
    result = await Runner.run_streamed(agent_of(World(), ["hello"]), "go")
    assert isinstance(result, RunResult) and result.final_output == "hello"


async def test_nothing_starts_before_the_stream_is_used() -> None:
    world = World()
    stream = Runner.run_streamed(agent_of(world, ["hello"]), "go")
    assert not world.asked and not stream.is_complete
    await stream
    assert world.asked and stream.is_complete


@pytest.mark.parametrize(
    "given",
    [
        "go",
        [Message("user", "go")],
        [{"role": "user", "content": "go"}],
        [{"type": "message", "role": "user", "content": "go"}],
    ],
    ids=["text", "items", "dicts", "typed dicts"],
)
async def test_input_is_text_items_or_dicts(given: Any) -> None:
    model = ScriptedModel(["hello"])
    await Runner.run(Agent("main", model=model), given)
    assert list(model.requests[0].items) == [Message("user", "go")]


async def test_input_that_is_none_of_these_is_a_user_error() -> None:
    agent = agent_of(World(), ["hello"])
    with pytest.raises(UserError, match="given the input 'int'"):
        await Runner.run(agent, 3)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"input\[0\]"):
        await Runner.run(agent, [3])  # type: ignore[list-item]
    with pytest.raises(UserError, match="expected an Agent first"):
        await Runner.run("go", agent)  # type: ignore[arg-type]


async def test_an_orphan_in_the_input_is_repaired() -> None:
    model = ScriptedModel(["hello"])
    await Runner.run(
        Agent("main", model=model),
        [{"role": "user", "content": "go"}, {"type": "function_call_output", "call_id": "x", "output": "?"}],
    )
    assert list(model.requests[0].items) == [Message("user", "go")]


async def test_the_context_reaches_tools_and_is_not_in_the_state() -> None:
    from agentsdk import RunContextWrapper

    def who(ctx: RunContextWrapper[dict[str, str]]) -> str:
        return ctx.context["name"]

    agent = Agent("main", model=ScriptedModel([call("who"), "done"]), tools=[function_tool(who)])
    result = await Runner.run(agent, "go", context={"name": "ada", "key": "canary-secret"})
    assert result.to_input_list()[2]["output"] == "ada"
    assert "canary-secret" not in result.to_state().to_string()


async def test_max_turns_is_short_for_the_limit_and_comes_before_it() -> None:
    for options in ({"run_config": RunConfig(limits=RunLimits(turns=1))}, {"max_turns": 1}):
        with pytest.raises(AgentsException, match="took 1 turns"):
            await Runner.run(agent_of(World(), [call("add"), "x"], tools=[tool_of(World(), "add")]), "go", **options)  # type: ignore[arg-type]
    config = RunConfig(limits=RunLimits(turns=1))
    agent = agent_of(World(), [call("add"), "x"], tools=[tool_of(World(), "add")])
    assert (await Runner.run(agent, "go", max_turns=2, run_config=config)).final_output == "x"
    with pytest.raises(UserError, match="turns=0"):
        await Runner.run(agent, "go", max_turns=0)


async def test_a_finished_state_gives_its_output_again_and_asks_nothing() -> None:
    agent = agent_of(World(), ['{"response": [1]}'], output_type=list[int])
    state = (await Runner.run(agent, "go")).to_state()
    world = World()
    silent = agent_of(world, [], output_type=list[int])
    result = await Runner.run(silent, reloaded(silent, state))
    assert result.final_output == [1] and not world.asked


async def test_a_state_can_be_resumed_more_than_once() -> None:
    world = World()
    agent = agent_of(world, [call("pay", x=1), "paid"], tools=[tool_of(world, "pay", needs_approval=True)])
    state = (await Runner.run(agent, "go")).to_state()
    text = state.to_string()
    state.approve(state.interruptions[0])
    assert (await Runner.run(agent, state)).final_output == "paid"
    other_world = World()
    other = agent_of(other_world, [call("pay", x=1), "paid"], tools=[tool_of(other_world, "pay", needs_approval=True)])
    rejected = RunState.from_string(other, text)
    rejected.reject(rejected.interruptions[0])
    assert (await Runner.run(other, rejected)).final_output == "paid"
    assert sum(world.done.values()) == 1 and not other_world.done


async def test_a_state_of_another_agent_is_a_mismatch() -> None:
    state = (await Runner.run(agent_of(World(), ["hello"]), "go")).to_state()
    with pytest.raises(StateMismatchError, match="expected to go on with that one and got 'other'"):
        await Runner.run(agent_of(World(), [], "other"), state)


async def test_a_hundred_turns_go_through() -> None:
    replies: list[Any] = [call("add", x=n) for n in range(100)]
    world = World()
    result = await Runner.run(agent_of(world, [*replies, "done"], tools=[tool_of(world, "add")]), "go", max_turns=101)
    assert result.turns == 101 and len(world.done) == 100
    assert result.usage == Usage(101, 1010, 505)


PROCESS = """
import asyncio, sys
from agentsdk import Agent, RunState, Runner, function_tool
from agentsdk.testing import ScriptedModel, call

@function_tool(needs_approval=True)
def pay(amount: int) -> str:
    "Pay."
    print("paid", amount, file=sys.stderr)
    return "ok"

first = len(sys.argv) == 1
agent = Agent("cashier", model=ScriptedModel([call("pay", amount=5)] if first else ["It is paid."]), tools=[pay])

async def main():
    if first:
        print((await Runner.run(agent, "Pay 5.")).to_state().to_string())
    else:
        state = RunState.from_string(agent, sys.stdin.read())
        state.approve(state.interruptions[0])
        print((await Runner.run(agent, state)).final_output)

asyncio.run(main())
"""


def test_a_run_paused_in_one_process_is_finished_in_another() -> None:
    first = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, check=True)
    assert json.loads(first.stdout)["version"] >= 1 and not first.stderr
    second = subprocess.run(
        [sys.executable, "-c", PROCESS, "resume"], input=first.stdout, capture_output=True, text=True, check=True
    )
    assert (second.stdout, second.stderr) == ("It is paid.\n", "paid 5\n")
