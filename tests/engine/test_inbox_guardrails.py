"""What arrives during a run is judged before it enters; what is refused does not, and nothing else is lost."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    Inbox,
    InputGuardrailTripwireTriggered,
    MemorySession,
    RunConfig,
    Runner,
    RunState,
    function_tool,
    handoff,
    input_guardrail,
)
from agentsdk.define.tool import stand_in
from agentsdk.errors import GuardrailFailedError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import GuardrailJudged
from tests.engine.test_inbox import agent_with, requests

pytestmark = pytest.mark.anyio


class Judge:
    """An input guardrail that refuses passwords, and raises while it is down."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.is_down = False
        self.guardrail = input_guardrail(self.judge, name="no secrets")

    def judge(self, context: Any, agent: Any, items: Any) -> GuardrailFunctionOutput:
        if self.is_down:
            raise ConnectionError("the policy service is down")
        self.judged += [item.text for item in items]
        return GuardrailFunctionOutput(None, any("password" in item.text for item in items))


@pytest.mark.parametrize("whose", ["the agent's", "the run's"])
async def test_what_passes_enters(whose: str) -> None:
    inbox, judge = Inbox(), Judge()
    agent = agent_with(inbox, "and be quick", "please")
    config = RunConfig(inbox=inbox, input_guardrails=[judge.guardrail] if whose == "the run's" else [])
    if whose == "the agent's":
        agent.input_guardrails = [judge.guardrail]
    result = await Runner.run(agent, "go", run_config=config)
    assert judge.judged == ["go", "and be quick", "please"]
    assert requests(agent) == [["go"], ["go", "and be quick", "please"]]
    assert len(result.input_guardrail_results) == 3


@pytest.mark.parametrize("saved", [False, True])
async def test_what_is_refused_does_not_enter_and_the_run_goes_on_without_it(saved: bool) -> None:
    inbox, judge, session = Inbox(), Judge(), MemorySession("s")
    agent = agent_with(inbox, "quick", "my password is swordfish", "please")
    agent.input_guardrails = [judge.guardrail]
    config = RunConfig(inbox=inbox)
    with pytest.raises(InputGuardrailTripwireTriggered, match="refused a message that arrived during the run") as caught:
        await Runner.run(agent, "go", run_config=config, session=session)
    assert caught.value.guardrail_result.guardrail == "no secrets"
    assert [message.text for message in inbox.due()] == ["quick", "please"]
    state = caught.value.state
    assert isinstance(state, RunState)
    if saved:
        state = RunState.from_string(agent, state.to_string())
    result = await Runner.run(agent, state, run_config=config, session=session)
    assert result.final_output == "done" and requests(agent)[-1] == ["go", "quick", "please"]
    assert not any("swordfish" in str(item) for item in (*result.to_input_list(), *await session.get_items()))
    refused = [event for event in state.value.log if isinstance(event, GuardrailJudged) and event.behavior != "allow"]
    assert [event.kind for event in refused] == ["added_input"]


async def test_what_a_state_was_given_is_judged_as_well() -> None:
    judge = Judge()
    agent = Agent("main", model=ScriptedModel([call("work"), "done"]), input_guardrails=[judge.guardrail])
    agent.tools = [function_tool(lambda: "worked", name_override="work", needs_approval=True)]
    state = (await Runner.run(agent, "go")).to_state()
    state.add_input("quick")
    state.add_input("my password is swordfish")
    state.approve(state.interruptions[0])
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, state)
    left = caught.value.state
    assert isinstance(left, RunState) and [message.content for message in left.added_input] == ["quick"]
    result = await Runner.run(agent, left)
    assert requests(agent) == [["go"], ["go", "quick"]] and judge.judged.count("quick") == 2
    assert "swordfish" not in str(result.to_input_list())


async def test_a_message_refused_at_the_end_leaves_the_answer_as_it_is() -> None:
    inbox, judge = Inbox(), Judge()

    class Late(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            async for event in super().stream(request):
                yield event
            inbox.put("my password is swordfish")

    model = Late(["done"])
    agent = Agent("main", model=model, input_guardrails=[judge.guardrail])
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(inbox=inbox))
    state = caught.value.state
    assert isinstance(state, RunState)
    result = await Runner.run(agent, state, run_config=RunConfig(inbox=inbox))
    assert result.final_output == "done" and len(model.requests) == 1


async def test_a_guardrail_that_fails_lets_nothing_in_and_loses_nothing() -> None:
    inbox, judge = Inbox(), Judge()
    agent = agent_with(inbox, "quick")
    agent.input_guardrails = [judge.guardrail]
    tool = agent.tools[0]

    async def down(context: Any, arguments: str) -> str:
        judge.is_down = True
        inbox.put("quick")
        return "worked"

    agent.tools = [stand_in(tool, down)]
    config = RunConfig(inbox=inbox)
    with pytest.raises(GuardrailFailedError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert [message.text for message in inbox.due()] == ["quick"]
    judge.is_down = False
    result = await Runner.run(agent, caught.value.state, run_config=config)
    assert result.final_output == "done" and requests(agent)[-1] == ["go", "quick"]


async def test_after_a_handoff_the_first_agents_guardrails_still_judge_what_arrives() -> None:
    inbox, judge = Inbox(), Judge()
    expert = agent_with(inbox, "my password is swordfish")
    first = Agent(
        "first",
        model=ScriptedModel([call("transfer_to_main")]),
        handoffs=[handoff(expert)],
        input_guardrails=[judge.guardrail],
    )
    config = RunConfig(inbox=inbox)
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(first, "go", run_config=config)
    assert judge.judged == ["go", "my password is swordfish"]
    state = caught.value.state
    assert isinstance(state, RunState)
    loaded = RunState.from_string(first, state.to_string())
    assert (await Runner.run(first, loaded, run_config=config)).final_output == "done"
