from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, AgentHooks, RunConfig, RunHooks, Runner, RunState
from agentsdk.core.state import fold
from agentsdk.errors import HookError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import HandedOff, ModelReplied
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


class Watch(RunHooks[Any]):
    """Notes every call; `breaks` names the hook that raises."""

    def __init__(self, breaks: str = "") -> None:
        self.seen: list[str] = []
        self.breaks = breaks

    def _note(self, name: str, about: object) -> None:
        self.seen.append(f"{name} {about}")
        if name == self.breaks:
            raise ConnectionError("the watcher is gone")

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        self._note("agent_start", agent.name)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        self._note("agent_end", output)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str, input_items: Any) -> None:
        self._note("llm_start", f"{agent.name} {len(input_items)}")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self._note("llm_end", f"{agent.name} {context.usage.requests}")

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        self._note("handoff", f"{from_agent.name} {to_agent.name}")

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self._note("tool_start", f"{tool.name} {context.tool_call_id}")

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self._note("tool_end", f"{tool.name} {result}")


class WatchAgent(AgentHooks[Any]):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_start(self, context: Any, agent: Any) -> None:
        self.seen.append("start")

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        self.seen.append(f"end {output}")

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str, input_items: Any) -> None:
        self.seen.append("llm_start")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.seen.append("llm_end")

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        self.seen.append(f"handoff from {source.name}")

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.seen.append(f"tool_start {tool.name}")

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self.seen.append(f"tool_end {tool.name}")


def agents(world: World) -> tuple[Agent[Any, Any], Agent[Any, Any]]:
    second = Agent("second", model=ScriptedModel(["done"] * 9), hooks=WatchAgent())
    replies = {1: call("add", x=1), 3: call("transfer_to_second")}
    model = ScriptedModel([lambda request: replies[len(request.items)]] * 9)
    return Agent("first", model=model, tools=[tool_of(world, "add")], handoffs=[second], hooks=WatchAgent()), second


ORDER = [
    "agent_start first",
    "llm_start first 1",
    "llm_end first 1",
    "tool_start add call_1_1",
    "tool_end add add gave 1",
    "llm_start first 3",
    "llm_end first 2",
    "handoff first second",
    "agent_start second",
    "llm_start second 5",
    "llm_end second 3",
    "agent_end done",
]


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_hooks_come_in_order_each_with_what_it_is_about(streamed: bool) -> None:
    hooks = Watch()
    first, second = agents(World())
    await (Runner.run_streamed(first, "go", hooks=hooks) if streamed else Runner.run(first, "go", hooks=hooks))
    assert hooks.seen == ORDER
    assert first.hooks.seen == ["start", "llm_start", "llm_end", "tool_start add", "tool_end add", "llm_start", "llm_end"]  # type: ignore[union-attr]
    assert second.hooks.seen == ["handoff from first", "start", "llm_start", "llm_end", "end done"]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["agent_start", "llm_start", "llm_end", "tool_start", "tool_end", "handoff", "agent_end"])
async def test_a_hook_that_raises_is_typed_and_the_run_loses_and_repeats_nothing(name: str) -> None:
    world, hooks = World(), Watch(name)
    first, _ = agents(world)
    config = RunConfig(run_id="r")
    with pytest.raises(HookError, match=f"hook 'on_{name}' raised ConnectionError") as caught:
        await Runner.run(first, "go", hooks=hooks, run_config=config)
    assert isinstance(caught.value.__cause__, ConnectionError)
    state: Any = caught.value.state
    for _ in range(20):
        try:
            result = await Runner.run(first, reloaded(first, state), hooks=hooks, run_config=config)
            break
        except HookError as error:
            state = error.state
        hooks.breaks = ""
    assert result.final_output == "done" and not result.interruptions
    assert world.done == {"r/call_1_1": 1}
    assert result.usage.requests == 3
    repeated = {one for one in hooks.seen if hooks.seen.count(one) > 1}
    assert repeated <= {one for one in hooks.seen if one.startswith(name)}, "only the hook that failed is called again"


async def test_no_hook_is_called_again_on_resume() -> None:
    hooks = Watch()
    first, _ = agents(World())
    result = await Runner.run(first, "go", hooks=hooks)
    log = list(result.to_state().value.log)
    for length in range(1, len(log) + 1):
        if length < len(log) and isinstance(log[length], HandedOff):
            continue  # a handoff is one append
        again = Watch()
        first, _ = agents(World())
        state = reloaded(first, RunState(fold(log[:length])))
        resumed = await Runner.run(first, state, hooks=again)
        if resumed.interruptions:
            state = resumed.to_state()
            state.provide_result(state.interruptions[0], result="add gave 1")
            resumed = await Runner.run(first, state, hooks=again)
        assert resumed.final_output == "done"
        assert again.seen == [one for one in ORDER if one in again.seen], "in order, each at most once"
        replied = sum(one.startswith("llm_end") for one in again.seen)
        assert replied == 3 - sum(isinstance(event, ModelReplied) for event in log[:length])


async def test_a_paused_nested_run_does_not_start_its_tool_twice() -> None:
    hooks = Watch()
    helper = Agent(
        "helper", model=ScriptedModel([call("dig", x=1), "dug"]), tools=[tool_of(World(), "dig", needs_approval=True)]
    )
    agent = Agent("main", model=ScriptedModel([call("helper", input="dig"), "done"]), tools=[helper.as_tool()])
    state = (await Runner.run(agent, "go", hooks=hooks)).to_state()
    state.approve(state.interruptions[0])
    await Runner.run(agent, state, hooks=hooks)
    assert hooks.seen.count("tool_start helper call_1_1") == 1
    assert hooks.seen.count("tool_end helper dug") == 1
    assert hooks.seen.count("tool_start dig call_1_1") == 1


async def test_what_the_model_is_sent_is_shown_to_hooks_without_copying_the_history() -> None:
    shown: list[Any] = []

    class Watching(RunHooks[Any]):
        async def on_llm_start(self, context: Any, agent: Any, system_prompt: str, input_items: Any) -> None:
            shown.append(input_items)

    model = ScriptedModel([call("read", x=1), "done"])
    await Runner.run(Agent("main", model=model, tools=[tool_of(World(), "read")]), "go", hooks=Watching())
    assert [len(items) for items in shown] == [1, 3]
    assert all(items is request.items for items, request in zip(shown, model.requests, strict=True))
