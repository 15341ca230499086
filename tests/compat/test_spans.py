"""The spans of a run, held to what openai-agents 0.24 told its processors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentsdk.compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelResponse,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    Span,
    Trace,
    TracingProcessor,
    Usage,
    function_tool,
    input_guardrail,
    output_guardrail,
    set_trace_processors,
)
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call
from agentsdk.compat.openai_agents.tracing import generation_span, get_current_span

pytestmark = pytest.mark.anyio


class Told(TracingProcessor):
    """Keeps each span that has ended, under the name of the one around it."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.ended: list[tuple[str, str]] = []
        self.data: dict[str, dict[str, Any]] = {}
        self.errors: dict[str, Any] = {}

    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...

    def on_span_start(self, span: Span[Any]) -> None:
        data = span.span_data
        named = [getattr(data, name, None) for name in ("name", "turn", "from_agent", "model")]
        self.names[span.span_id] = f"{data.type} {next((one for one in named if one), '')}"

    def on_span_end(self, span: Span[Any]) -> None:
        name = self.names[span.span_id]
        self.ended.append((name, self.names.get(span.parent_id or "", "")))
        self.data[name] = span.span_data.export()
        if span.error is not None:
            self.errors[name] = span.error


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told()
    set_trace_processors([made])
    yield made
    set_trace_processors([])


@function_tool
def look() -> str:
    span = get_current_span()
    return "" if span is None else str(span.span_data.type)


def passes(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, False)


def trips(context: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, True)


def usage(requests: int) -> Usage:
    return Usage(requests=requests, input_tokens=10, output_tokens=5, total_tokens=15)


class Spending(ScriptedModel):
    """Each reply of it takes ten tokens, and five."""

    async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
        reply = await super().get_response(*args, **named)
        return ModelResponse(reply.output, usage(1), reply.response_id)


def called(name: str) -> list[Any]:
    return [function_call(name, {}, call_id=f"call {name}")]


async def test_a_run_has_spans_for_its_turns_tools_guardrails_and_handoffs(told: Told) -> None:
    second = Agent[Any](name="B", model=Spending([[assistant_message("bb")]]))
    first = Agent[Any](name="A", model=Spending([called("look"), called("transfer_to_b")]), tools=[look])
    first.handoffs, first.input_guardrails = [second], [input_guardrail(passes)]
    result = await Runner.run(first, "hi", run_config=RunConfig(workflow_name="W"))
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == ["function"]
    assert told.ended == [
        ("guardrail passes", "turn 1"),
        ("function look", "turn 1"),
        ("turn 1", "agent A"),
        ("handoff A", "turn 2"),
        ("turn 2", "agent A"),
        ("agent A", "task W"),
        ("turn 3", "agent B"),
        ("agent B", "task W"),
        ("task W", ""),
    ]
    of_turn = {"input_tokens": 10, "output_tokens": 5, "cached_input_tokens": 0, "cache_write_input_tokens": 0}
    assert told.data["turn 1"]["data"] == {"sdk_span_type": "turn", "turn": 1, "agent_name": "A", "usage": of_turn}
    of_run = {**of_turn, "input_tokens": 30, "output_tokens": 15, "requests": 3, "total_tokens": 45}
    assert told.data["task W"]["data"] == {"sdk_span_type": "task", "name": "W", "usage": of_run}
    assert told.data["agent A"] == {"type": "agent", "name": "A", "handoffs": ["B"], "tools": ["look"], "output_type": "str"}
    assert told.data["handoff A"] == {"type": "handoff", "from_agent": "A", "to_agent": "B"}
    assert told.data["guardrail passes"] == {"type": "guardrail", "name": "passes", "triggered": False}
    assert told.errors == {}


async def test_each_error_is_told_by_one_span(told: Told) -> None:
    def agent(replies: Any, **fields: Any) -> Agent[Any]:
        return Agent(name="A", model=ScriptedModel(replies), **fields)

    said = [[assistant_message("x")]]
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent(said, input_guardrails=[input_guardrail(trips)]), "hi")
    tripped = {"message": "Guardrail tripwire triggered", "data": {"guardrail": "trips"}}
    assert told.errors == {"turn 1": tripped} and told.data["guardrail trips"]["triggered"] is True
    told.errors.clear()
    with pytest.raises(OutputGuardrailTripwireTriggered):
        await Runner.run(agent(said, output_guardrails=[output_guardrail(trips)]), "hi")
    assert told.errors == {"agent A": tripped}
    told.errors.clear()
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(agent([called("look")], tools=[look]), "hi", max_turns=1)
    assert told.errors == {"agent A": {"message": "Max turns exceeded", "data": {"max_turns": 1}}}


async def test_what_a_tool_raises_is_told_by_its_span(told: Told) -> None:
    @function_tool
    def told_of() -> str:
        raise ValueError("secret")

    @function_tool(failure_error_function=None)
    def fatal() -> str:
        raise ValueError("known")

    model = ScriptedModel([called("told_of"), [assistant_message("x")]])
    await Runner.run(Agent(name="A", model=model, tools=[told_of]), "hi")
    error = {"tool_name": "told_of", "error": "ValueError"}
    assert told.errors == {"function told_of": {"message": "Error running tool (non-fatal)", "data": error}}
    told.errors.clear()
    with pytest.raises(Exception, match="known"):
        await Runner.run(Agent(name="A", model=ScriptedModel([called("fatal")]), tools=[fatal]), "hi")
    assert told.errors["function fatal"] == {"message": "Error running tool", "data": {"tool_name": "fatal", "error": "known"}}
    assert told.errors["agent A"] == {"message": "Error in agent run", "data": {"error": "Error running tool fatal: known"}}


async def test_a_model_of_the_program_s_own_tells_of_its_requests_itself(told: Told) -> None:
    class Telling(ScriptedModel):
        async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
            with generation_span(model="mine"):
                return await super().get_response(*args, **named)

    await Runner.run(Agent(name="A", model=Telling([[assistant_message("x")]])), "hi")
    assert told.ended[0] == ("generation mine", "turn 1")
    assert sum(name.startswith("generation") for name, _ in told.ended) == 1


async def test_a_nested_run_counts_in_the_spans_around_it(told: Told) -> None:
    inner = Agent[Any](name="Inner", model=Spending([[assistant_message("in")]]))
    model = Spending([[function_call("ask", {"input": "x"}, call_id="c")], [assistant_message("x")]])
    await Runner.run(Agent(name="A", model=model, tools=[inner.as_tool("ask", "asks")]), "hi")
    assert ("task Agent workflow", "function ask") in told.ended
    assert told.data["task Agent workflow"]["data"]["usage"]["requests"] == 3
