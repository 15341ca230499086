"""Programs of openai-agents as their documentation writes them: both checkers read this file, nothing runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from agentsdk.compat.openai_agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    ItemHelpers,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunResult,
    RunResultStreaming,
    SQLiteSession,
    function_tool,
    handoff,
    input_guardrail,
    trace,
)


@dataclass
class User:
    name: str


@function_tool
async def who(ctx: RunContextWrapper[User]) -> str:
    return ctx.context.name


@function_tool(name_override="add", failure_error_function=None)
def add(a: int, b: int) -> int:
    return a + b


@input_guardrail
async def short(ctx: RunContextWrapper[User], agent: Agent[Any], input: str | list[Any]) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=len(input) > 100)


def instructions(ctx: RunContextWrapper[User], agent: Agent[User]) -> str:
    return f"Serve {ctx.context.name}."


class Hooks(RunHooks[User]):
    async def on_agent_start(self, context: RunContextWrapper[User], agent: Agent[Any]) -> None:
        print(context.context.name, agent.name)


billing = Agent[User](name="Billing", handoff_description="Bills.", model="gpt-4.1")
triage = Agent[User](
    name="Triage",
    instructions=instructions,
    tools=[who, add, billing.as_tool("ask_billing", "Asks.")],
    handoffs=[billing, handoff(billing, tool_name_override="to_billing")],
    input_guardrails=[short],
    model_settings=ModelSettings(temperature=0.2),
)
assert_type(short, InputGuardrail[User])


async def main() -> None:
    session = SQLiteSession("1")
    with trace("Workflow"):
        result = await Runner.run(
            triage, "hi", context=User("Ada"), hooks=Hooks(), session=session, run_config=RunConfig(workflow_name="w")
        )
    assert_type(result, RunResult)
    assert_type(result.final_output_as(str), str)
    print(ItemHelpers.text_message_outputs(result.new_items), result.to_input_list())
    stream = Runner.run_streamed(triage, input="hi", context=User("Ada"))
    assert_type(stream, RunResultStreaming)
    async for event in stream.stream_events():
        if event.type == "run_item_stream_event" and event.item.type == "tool_call_output_item":
            print(event.item.output)
        elif event.type == "raw_response_event":
            print(event.data.type)
        elif event.type == "agent_updated_stream_event":
            print(event.new_agent.name)
