"""Programs of openai-agents, with nothing but their import lines changed: runs, tools, handoffs, streams, approvals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk.compat.openai_agents import (
    Agent,
    AgentHooks,
    AgentUpdatedStreamEvent,
    GuardrailFunctionOutput,
    HandoffInputData,
    InputGuardrailTripwireTriggered,
    ItemHelpers,
    MaxTurnsExceeded,
    ModelBehaviorError,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    RunContextWrapper,
    RunErrorHandlerInput,
    RunHooks,
    Runner,
    RunResult,
    RunState,
    SQLiteSession,
    StopAtTools,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
)
from agentsdk.compat.openai_agents.extensions import handoff_filters
from agentsdk.compat.openai_agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

pytestmark = pytest.mark.anyio


@function_tool
async def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: Its name.
    """
    return f"sunny in {city}"


def called(name: str, call_id: str = "call_1", **arguments: Any) -> list[Any]:
    return [function_call(name, arguments, call_id=call_id)]


def said(text: str) -> list[Any]:
    return [assistant_message(text)]


async def test_a_tool_is_called_and_the_result_has_its_items() -> None:
    model = ScriptedModel([called("weather", city="Rome"), said("It is sunny.")])
    agent = Agent(name="Forecaster", instructions="Be brief.", model=model, tools=[weather])
    result = await Runner.run(agent, "Weather in Rome?")
    assert result.final_output == "It is sunny."
    assert [item.type for item in result.new_items] == ["tool_call_item", "tool_call_output_item", "message_output_item"]
    assert result.new_items[1].output == "sunny in Rome"  # type: ignore[union-attr]
    assert result.new_items[0].raw_item.name == "weather"
    assert result.last_agent is agent
    assert result.input == "Weather in Rome?"
    assert result.context_wrapper.usage.requests == 2
    assert ItemHelpers.text_message_outputs(result.new_items) == "It is sunny."
    again = ScriptedModel([said("Rome.")])
    agent.model = again
    await Runner.run(agent, [*result.to_input_list(), {"role": "user", "content": "Where?"}])
    assert again.last_call is not None
    assert [item.get("type", item.get("role")) for item in again.last_call.input] == [
        "user",
        "function_call",
        "function_call_output",
        "message",
        "user",
    ]


async def test_context_dynamic_instructions_and_what_the_model_is_sent() -> None:
    seen: list[Any] = []

    def instructions(context: RunContextWrapper[dict[str, str]], agent: Agent[dict[str, str]]) -> str:
        return f"{agent.name} serves {context.context['user']}."

    @function_tool(name_override="who", failure_error_function=None)
    def who_is_it(ctx: RunContextWrapper[dict[str, str]]) -> str:
        seen.append(ctx.context)
        return ctx.context["user"]

    model = ScriptedModel([called("who"), said("Ada")])
    agent = Agent[dict[str, str]](name="Butler", instructions=instructions, tools=[who_is_it], model=model)
    context = {"user": "Ada"}
    await Runner.run(agent, "Who?", context=context)
    assert seen == [context] and seen[0] is context
    assert model.calls[0].system_instructions == "Butler serves Ada."
    assert model.calls[0].tools == [who_is_it]


class Answer(BaseModel):
    number: int


async def test_structured_output_and_one_that_does_not_fit() -> None:
    agent = Agent(name="Counter", output_type=Answer, model=ScriptedModel([said('{"number": 3}'), said("three")]))
    result = await Runner.run(agent, "How many?")
    assert result.final_output_as(Answer).number == 3
    with pytest.raises(ModelBehaviorError) as caught:
        await Runner.run(agent, "How many?")
    assert caught.value.run_data is not None
    assert caught.value.run_data.last_agent is agent


async def test_handoffs_to_each_other_declared_after_construction() -> None:
    first: Agent[Any] = Agent(name="Triage", model=ScriptedModel([called("transfer_to_billing")]))
    second: Agent[Any] = Agent(name="Billing", model=ScriptedModel([said("Paid.")]), handoffs=[first])
    first.handoffs.append(second)
    result = await Runner.run(first, "My bill?")
    assert result.last_agent is second
    assert [item.type for item in result.new_items] == ["handoff_call_item", "handoff_output_item", "message_output_item"]


async def test_a_handoff_with_input_and_a_filter() -> None:
    told: list[Any] = []

    async def on_handoff(context: RunContextWrapper[None], data: Answer) -> None:
        told.append(data)

    def only_messages(data: HandoffInputData) -> HandoffInputData:
        told.append(len(data.new_items))
        return handoff_filters.remove_all_tools(data)

    target_model = ScriptedModel([said("Done.")])
    target = Agent(name="Target", model=target_model)
    declared = handoff(target, on_handoff=on_handoff, input_type=Answer, input_filter=only_messages)
    source = Agent(name="Source", handoffs=[declared], model=ScriptedModel([called("transfer_to_target", number=7)]))
    await Runner.run(source, "Go on.")
    assert told == [2, Answer(number=7)] or told == [Answer(number=7), 2]
    assert target_model.calls[0].input == [{"content": "Go on.", "role": "user"}]


async def test_guardrails_arrive_with_their_result() -> None:
    @input_guardrail
    async def no_math(context: RunContextWrapper[None], agent: Agent[Any], input: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info={"seen": input}, tripwire_triggered="math" in str(input))

    @output_guardrail(name="polite")
    def polite(context: RunContextWrapper[None], agent: Agent[Any], output: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=output == "No.")

    model = ScriptedModel([said("Yes."), said("Yes."), said("No.")])
    agent = Agent(name="Guarded", input_guardrails=[no_math], output_guardrails=[polite], model=model)
    result = await Runner.run(agent, "Hello")
    assert [one.guardrail.get_name() for one in result.input_guardrail_results] == ["no_math"]
    with pytest.raises(InputGuardrailTripwireTriggered) as stopped:
        await Runner.run(agent, "math please")
    assert stopped.value.guardrail_result.output.output_info == {"seen": "math please"}
    model.enqueue(said("No."))
    with pytest.raises(OutputGuardrailTripwireTriggered) as refused:
        while True:
            await Runner.run(agent, "Hello")
    assert refused.value.guardrail_result.agent_output == "No."


async def test_what_callables_raise_arrives_as_it_was_raised() -> None:
    class OursError(Exception):
        pass

    class Loud(RunHooks[Any]):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            raise OursError("hook")

    def failing(context: Any, agent: Any) -> str:
        raise OursError("instructions")

    with pytest.raises(OursError, match="hook"):
        await Runner.run(Agent(name="A", model=ScriptedModel([said("x")])), "x", hooks=Loud())
    with pytest.raises(OursError, match="instructions"):
        await Runner.run(Agent(name="A", instructions=failing, model=ScriptedModel([said("x")])), "x")
    with pytest.raises(OursError, match="model"):
        await Runner.run(Agent(name="A", model=ScriptedModel([OursError("model")])), "x")


async def test_hooks_of_run_and_agent_see_the_program_s_own_objects() -> None:
    seen: list[str] = []

    class Both(RunHooks[Any]):
        async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
            seen.append(f"llm {agent.name} {len(input_items)}")

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            seen.append(f"tool {tool is weather} {context.tool_name} {result}")

        async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
            seen.append(f"handoff {from_agent.name}>{to_agent.name}")

    class Mine(AgentHooks[Any]):
        async def on_end(self, context: Any, agent: Any, output: Any) -> None:
            seen.append(f"end {agent.name} {output}")

    last = Agent(name="B", model=ScriptedModel([said("bye")]), hooks=Mine())
    steps = [called("weather", city="Oslo"), called("transfer_to_b", "call_2")]
    await Runner.run(Agent(name="A", tools=[weather], handoffs=[last], model=ScriptedModel(steps)), "x", hooks=Both())
    assert seen == [
        "llm A 1",
        "tool True weather sunny in Oslo",
        "llm A 3",
        "handoff A>B",
        "llm B 5",
        "end B bye",
    ]


async def test_a_stream_begins_at_once_and_shows_raw_events_and_items() -> None:
    model = ScriptedModel([called("weather", city="Rome"), said("Sunny.")])
    result = Runner.run_streamed(Agent(name="A", tools=[weather], model=model), "x")
    text, names = "", list[str]()
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
        elif event.type == "run_item_stream_event":
            names.append(event.name)
    assert text == "Sunny."
    assert names == ["tool_called", "tool_output", "message_output_created"]
    assert result.is_complete and result.final_output == "Sunny." and result.current_turn == 2


async def test_approvals_over_json_also_in_an_agent_used_as_a_tool() -> None:
    @function_tool(needs_approval=True)
    async def remove(path: str) -> str:
        return f"removed {path}"

    inner = Agent(name="Inner", tools=[remove], model=ScriptedModel([called("remove", path="a"), said("inner done")]))
    outer = Agent(
        name="Outer",
        tools=[inner.as_tool("clean", "Cleans."), remove],
        model=ScriptedModel([called("clean", input="go"), called("remove", "call_9", path="b"), said("all done")]),
    )
    result = await Runner.run(outer, "Clean up.", context={"user": "Ada"})
    rounds: list[tuple[str, Any]] = []
    while result.interruptions:
        assert result.final_output is None
        item = result.interruptions[0]
        rounds.append((item.agent.name, json.loads(item.arguments or "")))
        state = await RunState.from_json(outer, json.loads(json.dumps(result.to_state().to_json())))
        assert state.scope.wrapper.context == {"user": "Ada"}
        waiting = state.get_interruptions()[0]
        if waiting.agent is outer:
            state.reject(waiting, rejection_message="not today")
        else:
            state.approve(waiting)
        result = await Runner.run(outer, state)
    assert rounds == [("Inner", {"path": "a"}), ("Outer", {"path": "b"})]
    assert result.final_output == "all done"
    outputs = [getattr(item, "output", None) for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs[0] == "inner done" and "not today" in str(outputs[1])


async def test_session_limits_handlers_and_tool_use_behavior() -> None:
    session = SQLiteSession("s")
    agent = Agent(name="A", model=ScriptedModel([said("Hi Ada."), said("Ada.")]))
    await Runner.run(agent, "I am Ada.", session=session)
    await Runner.run(agent, "Who am I?", session=session)
    items = await session.get_items()
    assert [item["role"] for item in items] == ["user", "assistant", "user", "assistant"]
    session.close()

    def give_up(data: RunErrorHandlerInput[None]) -> str:
        return f"gave up after {len(data.run_data.raw_responses)}"

    looping = Agent(name="Loop", tools=[weather], model=ScriptedModel([called("weather", f"c{n}", city="X") for n in range(4)]))
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(looping, "x", max_turns=1)
    handled = await Runner.run(looping, "x", max_turns=2, error_handlers={"max_turns": give_up})
    assert handled.final_output == "gave up after 2"
    stopping = Agent(
        name="Stop",
        tools=[weather],
        tool_use_behavior=StopAtTools(stop_at_tool_names=["weather"]),
        model=ScriptedModel([called("weather", city="Bern")]),
    )
    assert (await Runner.run(stopping, "x")).final_output == "sunny in Bern"


async def test_a_tool_that_there_is_not_and_settings_given_as_dicts() -> None:
    agent = Agent(name="A", model=ScriptedModel([called("nope")]), model_settings={"temperature": 0.5})
    assert agent.model_settings.temperature == 0.5
    with pytest.raises(ModelBehaviorError, match="nope"):
        await Runner.run(agent, "x")
    agent.model = ScriptedModel([ModelStep(output=called("nope")), said("sorry")])
    lenient = RunConfig(tool_not_found_behavior="return_error_to_model", model_settings={"top_p": 0.1})  # type: ignore[arg-type]
    assert (await Runner.run(agent, "x", run_config=lenient)).final_output == "sorry"
    with pytest.raises(TypeError, match="temprature"):
        Agent(name="A", model_settings={"temprature": 1})


def test_a_result_that_a_test_makes_of_its_fields() -> None:
    agent = Agent(name="A")
    fields: dict[str, Any] = {"input": "hi", "new_items": [], "raw_responses": [], "final_output": 3, "_last_agent": agent}
    result = RunResult(**fields)
    assert result.final_output_as(int, raise_if_incorrect_type=True) == 3 and result.last_agent is agent
    assert result.to_input_list() == [{"content": "hi", "role": "user"}]
    with pytest.raises(TypeError, match="not of type str"):
        result.final_output_as(str, raise_if_incorrect_type=True)


async def test_a_formatter_says_what_the_model_is_told_of_a_rejected_call() -> None:
    @function_tool(needs_approval=True)
    def remove(path: str) -> str:
        return "removed"

    model = ScriptedModel([called("remove", path="a"), said("ok")])
    agent = Agent(name="A", tools=[remove], model=model)
    config = RunConfig(tool_error_formatter=lambda args: f"{args.kind}: {args.tool_name}")
    result = await Runner.run(agent, "x", run_config=config)
    state = result.to_state()
    state.reject(result.interruptions[0])
    await Runner.run(agent, state, run_config=config)
    assert model.last_call is not None and "approval_rejected: remove" in model.last_call.input[-1]["output"]


async def test_two_agents_of_one_name_are_told_apart() -> None:
    second: Agent[Any] = Agent(name="Same", model=ScriptedModel([said("from the second")]))
    declared = handoff(second, tool_name_override="go_on")
    first: Agent[Any] = Agent(name="Same", handoffs=[declared], model=ScriptedModel([called("go_on")]))
    result = await Runner.run(first, "x")
    assert result.last_agent is second and result.final_output == "from the second"
    assert [item.agent is second for item in result.new_items] == [False, False, True]


async def test_a_stream_that_goes_on_begins_with_the_agent_at_work() -> None:
    @function_tool(needs_approval=True)
    def send() -> str:
        return "sent"

    last: Agent[Any] = Agent(name="B", tools=[send], model=ScriptedModel([called("send"), said("done")]))
    first: Agent[Any] = Agent(name="A", handoffs=[last], model=ScriptedModel([called("transfer_to_b")]))
    begun = Runner.run_streamed(first, "x")
    seen = [event async for event in begun.stream_events()]
    assert [event.new_agent for event in seen if isinstance(event, AgentUpdatedStreamEvent)] == [first, last]

    state = begun.to_state()
    state.approve(begun.interruptions[0])
    later = Runner.run_streamed(first, state)
    went_on = [event async for event in later.stream_events()]
    told = [event.new_agent for event in went_on if isinstance(event, AgentUpdatedStreamEvent)]
    assert isinstance(went_on[0], AgentUpdatedStreamEvent) and told == [last] and later.final_output == "done"
