"""Settings of runs that change what a model is sent, how long it may take, and what is told of a call."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from agentsdk.compat.openai_agents import (
    Agent,
    CustomTool,
    GuardrailFunctionOutput,
    ModelSettings,
    ModelTimeoutError,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    ShellTool,
    SQLiteSession,
    UserError,
    function_tool,
    handoff,
    output_guardrail,
)
from agentsdk.compat.openai_agents._bridge.openai_types import built_item
from agentsdk.compat.openai_agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio


@function_tool
async def add(a: int, b: int) -> int:
    return a + b


def called(number: int) -> list[Any]:
    return [function_call("add", {"a": number, "b": 1}, call_id=f"call_{number}")]


async def test_a_run_goes_on_from_its_last_reply_without_sending_it_again() -> None:
    steps = [
        ModelStep(output=called(1), response_id="r1"),
        ModelStep(output=called(2), response_id="r2"),
        ModelStep(output=[assistant_message("done")], response_id="r3"),
    ]
    model = ScriptedModel(steps)
    await Runner.run(Agent("A", tools=[add], model=model), "Add.", auto_previous_response_id=True)
    assert [call.previous_response_id for call in model.calls] == [None, "r1", "r2"]
    assert [len(call.input) for call in model.calls] == [1, 1, 1]
    assert model.calls[1].input[0]["type"] == "function_call_output"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_that_takes_too_long(streamed: bool) -> None:
    stopped: list[str] = []

    async def slow(call: Any) -> Any:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            stopped.append("cancelled")
            raise

    agent = Agent("A", model=ScriptedModel([ModelStep.respond(slow)]), model_settings=ModelSettings(timeout=0.02))
    with pytest.raises(ModelTimeoutError) as late:
        if streamed:
            async for _ in Runner.run_streamed(agent, "x").stream_events():
                pass
        else:
            await Runner.run(agent, "x")
    assert late.value.timeout_seconds == 0.02 and stopped == ["cancelled"]
    agent.model = ScriptedModel([[assistant_message("in time")]])
    assert (await Runner.run(agent, "x")).final_output == "in time"
    with pytest.raises(ValueError, match="expected finite seconds"):
        ModelSettings(timeout=0)


async def test_ids_of_reasoning_are_left_out_where_that_is_wanted() -> None:
    thought = built_item({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]})
    model = ScriptedModel([[thought, *called(1)], [assistant_message("2")]])
    config = RunConfig(reasoning_item_id_policy="omit")
    result = await Runner.run(Agent("A", tools=[add], model=model), "x", run_config=config)
    assert "id" not in model.calls[1].input[1] and model.calls[1].input[1]["summary"]
    assert [item.get("id") for item in result.to_input_list() if item.get("type") == "reasoning"] == [None]
    with pytest.raises(ValueError, match="reasoning_item_id_policy"):
        RunConfig(reasoning_item_id_policy="drop")  # type: ignore[arg-type]  # pyright: ignore


async def test_tools_and_handoffs_of_one_name(caplog: pytest.LogCaptureFixture) -> None:
    @function_tool(name_override="add")
    async def other(a: int, b: int) -> str:
        return "the other"

    agent = Agent("A", tools=[add, other], model=ScriptedModel([called(1), [assistant_message("ok")]]))
    with caplog.at_level(logging.WARNING, "openai.agents"):
        result = await Runner.run(agent, "x")
    assert result.new_items[1].output == "the other"  # type: ignore[union-attr]
    assert "of one name" in caplog.text
    config = RunConfig(tool_name_collision_policy="error")
    with pytest.raises(UserError, match="several tools or handoffs named 'add'"):
        await Runner.run(agent, "x", run_config=config)
    target = Agent[Any]("B", model=ScriptedModel([[assistant_message("B")]]))
    both = Agent("C", tools=[add], handoffs=[handoff(target, tool_name_override="add")], model=ScriptedModel([called(1)]))
    with pytest.raises(UserError, match="several tools or handoffs"):
        await Runner.run(both, "x", run_config=config)
    assert (await Runner.run(both, "x")).last_agent is target


async def test_a_session_keeps_no_output_that_a_guardrail_has_blocked() -> None:
    @output_guardrail
    def never(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    async def kept(**settings: Any) -> str:
        model = ScriptedModel([called(1)])
        agent = Agent("A", tools=[add], model=model, tool_use_behavior="stop_on_first_tool", output_guardrails=[never])
        session = SQLiteSession("s")
        with pytest.raises(OutputGuardrailTripwireTriggered):
            await Runner.run(agent, "x", session=session, run_config=RunConfig(**settings))
        items = await session.get_items()
        session.close()
        return str(items[-1]["output"])

    assert await kept() == "The output was blocked by a guardrail."
    assert await kept(output_guardrail_blocked_message="gone") == "gone"
    told = await kept(output_guardrail_blocked_message=lambda args: f"{args.guardrail_name} of {args.agent.name}")
    assert told == "never of A"
    with pytest.raises(ValueError, match="non-empty"):
        RunConfig(output_guardrail_blocked_message="")


async def test_an_async_formatter_says_what_the_model_is_told_of_a_rejected_call() -> None:
    @function_tool(needs_approval=True)
    def remove(path: str) -> str:
        return "removed"

    async def tell(args: Any) -> str:
        await asyncio.sleep(0)
        return f"no {args.tool_name}, {args.call_id}"

    model = ScriptedModel([[function_call("remove", {"path": "a"}, call_id="c1")], [assistant_message("ok")]])
    agent = Agent("A", tools=[remove], model=model)
    config = RunConfig(tool_error_formatter=tell)
    result = await Runner.run(agent, "x", run_config=config)
    state = result.to_state()
    state.reject(result.interruptions[0])
    await Runner.run(agent, state, run_config=config)
    assert model.last_call is not None and "no remove, c1" in model.last_call.input[-1]["output"]


def shell_call(call_id: str) -> Any:
    action = {"commands": ["ls"], "timeout_ms": None, "max_output_length": None}
    return built_item({"type": "shell_call", "id": call_id, "call_id": call_id, "status": "completed", "action": action})


async def test_on_approval_decides_in_place_of_a_person() -> None:
    ran: list[str] = []
    asked: list[Any] = []

    def execute(request: Any) -> str:
        ran.append(request.data.call_id)
        return "files"

    async def decide(context: Any, item: Any) -> Any:
        asked.append((item.name, item.call_id))
        return {"approve": item.call_id == "c1", "reason": "not this one"}

    tool = ShellTool(executor=execute, needs_approval=True, on_approval=decide)
    model = ScriptedModel([[shell_call("c1")], [shell_call("c2")], [assistant_message("ok")]])
    result = await Runner.run(Agent("A", tools=[tool], model=model), "x")
    assert result.final_output == "ok" and not result.interruptions
    assert ran == ["c1"] and asked == [("shell", "c1"), ("shell", "c2")]
    assert "not this one" in str(model.calls[2].input[-1])


async def test_on_approval_of_a_custom_tool_and_one_that_says_nothing() -> None:
    def echo(context: Any, text: str) -> str:
        return text

    def call() -> Any:
        return built_item({"type": "custom_tool_call", "id": "c", "call_id": "c", "name": "echo", "input": "hi"})

    tool = CustomTool("echo", "Echoes.", echo, needs_approval=True, on_approval=lambda context, item: {"approve": True})
    agent = Agent("A", tools=[tool], model=ScriptedModel([[call()], [assistant_message("ok")]]))
    result = await Runner.run(agent, "x")
    assert result.new_items[1].output == "hi"  # type: ignore[union-attr]
    tool.on_approval = lambda context, item: None  # type: ignore[assignment,return-value]  # pyright: ignore
    agent.model = ScriptedModel([[call()]])
    with pytest.raises(UserError, match="on_approval of tool 'echo' returned None"):
        await Runner.run(agent, "x")
