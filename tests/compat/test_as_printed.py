"""Small programs, held to what openai-agents 0.24 printed for them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk.compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelSettings,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    ToolApprovalItem,
    ToolCallItem,
    ToolCallOutputItem,
    ToolsToFinalOutputResult,
    function_tool,
    input_guardrail,
)
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio


class Point(BaseModel):
    x: int


@function_tool
def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@function_tool
def number() -> int:
    return 4


@function_tool(needs_approval=True)
def publish(text: str) -> str:
    """Publish."""
    return f"ok {text}"


def called(name: str, call_id: str = "c1", **arguments: Any) -> list[Any]:
    return [function_call(name, arguments, call_id=call_id)]


def said(text: str) -> list[Any]:
    return [assistant_message(text)]


def short(entries: Any) -> list[str]:
    """Entries of an input, in a few words each."""
    return [_short(entry) for entry in entries]


def _short(entry: dict[str, Any]) -> str:
    match entry.get("type"):
        case "function_call":
            return f"{entry['name']}{entry['arguments']}#{entry['call_id']}"
        case "function_call_output":
            return f"{entry['output']}#{entry['call_id']}"
        case _:
            content = entry["content"]
            return f"{entry['role']}: {content if isinstance(content, str) else content[0]['text']}"


@pytest.mark.parametrize("reply", [[], [assistant_message("")], [assistant_message(" ")]])
async def test_a_reply_of_nothing_is_the_final_output(reply: list[Any]) -> None:
    model = ScriptedModel([reply])
    result = await Runner.run(Agent(name="A", model=model), "hi", max_turns=1)
    assert (result.final_output.strip(), len(model.calls), len(result.new_items)) == ("", 1, len(reply))
    streamed = Runner.run_streamed(Agent(name="A", model=ScriptedModel([reply])), "hi")
    assert len([event async for event in streamed.stream_events() if event.type == "run_item_stream_event"]) == len(reply)
    assert streamed.final_output.strip() == ""


async def test_items_say_where_their_tool_is_from() -> None:
    inner = Agent(name="Inner", model=ScriptedModel([said("in")]))
    model = ScriptedModel([[*called("number"), *called("ask", "c2", input="x")], said("done")])
    agent = Agent(name="A", model=model, tools=[number, inner.as_tool("ask", "asks")])
    result = await Runner.run(agent, "hi")
    kept = [item for item in result.new_items if isinstance(item, ToolCallItem | ToolCallOutputItem)]
    origins = [item.tool_origin.to_json_dict() for item in kept if item.tool_origin is not None]
    nested = {"type": "agent_as_tool", "agent_name": "Inner", "agent_tool_name": "ask"}
    assert origins == [{"type": "function"}, nested, {"type": "function"}, nested]
    assert [item.description for item in kept if isinstance(item, ToolCallItem)] == ["", "asks"]


async def test_entries_have_their_fields_in_openai_agents_order() -> None:
    model = ScriptedModel([called("number"), said("done")])
    result = await Runner.run(Agent(name="A", model=model, tools=[number]), "hi")
    sent: Any = model.calls[1].input
    assert [list(entry) for entry in (sent[0], sent[2])] == [["content", "role"], ["call_id", "output", "type"]]
    assert list(result.to_input_list()[2]) == ["call_id", "output", "type"]


async def test_instructions_of_a_callable_that_gives_none() -> None:
    def nothing(context: Any, agent: Any) -> Any:
        return None

    model = ScriptedModel([said("a"), said("b")])
    await Runner.run(Agent(name="A", instructions=nothing, model=model), "hi")
    await Runner.run(Agent(name="A", instructions="", model=model), "hi")
    assert [call.system_instructions for call in model.calls] == [None, ""]


async def test_what_a_tool_gives_as_the_final_output() -> None:
    def final(context: Any, results: list[Any]) -> ToolsToFinalOutputResult:
        return ToolsToFinalOutputResult(is_final_output=True, final_output=[result.output for result in results])

    def agent(behavior: Any, kind: Any = None) -> Agent[Any]:
        model = ScriptedModel([called("number")])
        return Agent(name="A", model=model, tools=[number], tool_use_behavior=behavior, output_type=kind)

    assert (await Runner.run(agent("stop_on_first_tool"), "hi")).final_output == "4"
    assert (await Runner.run(agent(final), "hi")).final_output == "[4]"
    assert (await Runner.run(agent("stop_on_first_tool", Point), "hi")).final_output == 4


async def test_the_message_of_a_limit_that_allows_no_turn() -> None:
    for turns in (0, -1):
        with pytest.raises(MaxTurnsExceeded, match=rf"^Max turns \({turns}\) exceeded$"):
            await Runner.run(Agent(name="A", model=ScriptedModel([said("x")])), "hi", max_turns=turns)


async def test_a_result_with_a_session_has_the_whole_conversation() -> None:
    seen: list[list[str]] = []

    @input_guardrail
    def look(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        seen.append(short(given))
        return GuardrailFunctionOutput(None, False)

    session = SQLiteSession("s")
    agent = Agent(name="A", model=ScriptedModel([said("one"), said("two"), said("three")]), input_guardrails=[look])
    first = await Runner.run(agent, "q1", session=session)
    assert short(first.input) == ["user: q1"]
    second = await Runner.run(agent, "q2", session=session)
    assert short(second.input) == ["user: q1", "assistant: one", "user: q2"]
    assert short(second.to_input_list()) == ["user: q1", "assistant: one", "user: q2", "assistant: two"]
    streamed = Runner.run_streamed(agent, "q3", session=session)
    assert streamed.input == "q3"
    async for _ in streamed.stream_events():
        pass
    assert short(streamed.input)[-2:] == ["assistant: two", "user: q3"]
    assert seen[1] == ["user: q1", "assistant: one", "user: q2"]


async def test_a_session_input_callback_may_repeat_what_the_history_says() -> None:
    def last(history: list[Any], new: list[Any]) -> list[Any]:
        return [{"role": "system", "content": "extra"}, *history[-2:], *new]

    session = SQLiteSession("s")
    agent = Agent(name="A", model=ScriptedModel([said("one"), said("two")]))
    await Runner.run(agent, "q", session=session)
    result = await Runner.run(agent, "q", session=session, run_config=RunConfig(session_input_callback=last))
    assert short(result.input) == ["system: extra", "user: q", "assistant: one", "user: q"]
    kept = ["user: q", "assistant: one", "system: extra", "user: q", "assistant: two"]
    assert short(await session.get_items()) == kept


async def test_a_session_keeps_the_input_that_a_guardrail_has_stopped() -> None:
    @input_guardrail
    def stop(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, True)

    session = SQLiteSession("s")
    agent = Agent(name="A", model=ScriptedModel([said("one")]), input_guardrails=[stop, stop])
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, "q", session=session)
    assert short(await session.get_items()) == ["user: q"]


async def test_new_items_keep_the_calls_that_waited() -> None:
    model = ScriptedModel([called("publish", text="a"), said("done")])
    agent = Agent(name="A", model=model, tools=[publish])
    paused = await Runner.run(agent, "hi")
    assert [item.type for item in paused.new_items] == ["tool_call_item", "tool_approval_item"]
    state = await RunState.from_string(agent, paused.to_state().to_string())
    state.approve(state.get_interruptions()[0])
    result = await Runner.run(agent, state)
    kinds = ["tool_call_item", "tool_approval_item", "tool_call_output_item", "message_output_item"]
    assert [item.type for item in result.new_items] == kinds
    waited = result.new_items[1]
    assert isinstance(waited, ToolApprovalItem) and waited.call_id == "c1" and waited.agent is agent
    assert short(result.to_input_list()) == ["user: hi", 'publish{"text":"a"}#c1', "ok a#c1", "assistant: done"]


async def test_a_state_keeps_what_nested_runs_have_spent() -> None:
    inner = Agent(name="Inner", model=ScriptedModel([called("publish", "p1", text="a"), said("in")]), tools=[publish])
    model = ScriptedModel([called("ask", "c1", input="x"), said("done")])
    agent = Agent(name="A", model=model, tools=[inner.as_tool("ask", "asks")])
    paused = await Runner.run(agent, "hi")
    assert paused.context_wrapper.usage.requests == 2
    state = await RunState.from_string(agent, paused.to_state().to_string())
    state.approve(state.get_interruptions()[0])
    assert (await Runner.run(agent, state)).context_wrapper.usage.requests == 4


async def test_results_as_text() -> None:
    result = await Runner.run(Agent(name="A", model=ScriptedModel([said("done")])), "hi")
    assert str(result).splitlines() == [
        "RunResult:",
        '- Last agent: Agent(name="A", ...)',
        "- Final output (str):",
        "    done",
        "- 1 new item(s)",
        "- 1 raw response(s)",
        "- 0 input guardrail result(s)",
        "- 0 output guardrail result(s)",
    ]
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(Agent(name="A", model=ScriptedModel([called("number")]), tools=[number]), "hi", max_turns=1)
    lines = str(raised.value.run_data).splitlines()
    assert lines[:4] == ["RunErrorDetails:", '- Last agent: Agent(name="A", ...)', "- 2 new item(s)", "- 1 raw response(s)"]


async def test_the_input_of_an_agent_as_a_tool_with_parameters_is_json() -> None:
    inner_model = ScriptedModel([said("in")])
    tool = Agent(name="Inner", model=inner_model).as_tool("ask", "asks", parameters=Point)
    await Runner.run(Agent(name="A", model=ScriptedModel([called("ask", x=1), said("e")]), tools=[tool]), "hi")
    assert inner_model.calls[0].input == [{"content": '{"x": 1}', "role": "user"}]


def test_reasoning_given_as_a_dict() -> None:
    settings = ModelSettings(reasoning={"effort": "low"})
    merged = ModelSettings().resolve(settings)
    assert settings.reasoning is not None and settings.reasoning.effort == "low"
    assert merged.reasoning == settings.reasoning


async def test_a_stream_has_its_trace() -> None:
    result = Runner.run_streamed(
        Agent(name="A", model=ScriptedModel([said("x")])), "hi", run_config=RunConfig(workflow_name="W")
    )
    async for _ in result.stream_events():
        pass
    assert result.trace.name == "W"
