"""Typed as documented: both checkers read these files, nothing runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from agentsdk import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    Item,
    OutputGuardrail,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailData,
    ToolOutputGuardrailData,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.guardrails import ToolInputGuardrail, ToolOutputGuardrail
from agentsdk.types.items import Part


@dataclass
class User:
    name: str


@input_guardrail
def checks_input(context: RunContextWrapper[User], agent: Agent[User, Any], items: tuple[Item, ...]) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(context.context.name, bool(items))


@input_guardrail(name="first", run_in_parallel=False)
async def checks_first(
    context: RunContextWrapper[User], agent: Agent[User, Any], items: tuple[Item, ...]
) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, False)


@output_guardrail
async def checks_output(context: RunContextWrapper[User], agent: Agent[User, Any], output: int) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, output > 5)


@output_guardrail(name="named")
def checks_named(context: RunContextWrapper[User], agent: Agent[User, Any], output: str) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, bool(output))


@tool_input_guardrail
def checks_call(data: ToolInputGuardrailData[User]) -> ToolGuardrailFunctionOutput:
    assert_type(data.context.context, User)
    assert_type(data.agent.name, str)
    return ToolGuardrailFunctionOutput.reject_content(data.context.tool_arguments)


@tool_output_guardrail
async def checks_result(data: ToolOutputGuardrailData[User]) -> ToolGuardrailFunctionOutput:
    assert_type(data.output, str | tuple[Part, ...])
    return ToolGuardrailFunctionOutput.allow()


assert_type(checks_input, InputGuardrail[User])
assert_type(checks_first, InputGuardrail[User])
assert_type(checks_output, OutputGuardrail[User])
assert_type(checks_named, OutputGuardrail[User])
assert_type(checks_call, ToolInputGuardrail[User])
assert_type(checks_result, ToolOutputGuardrail[User])
assert_type(Agent(name="x", input_guardrails=[checks_input, checks_first]), Agent[User, str])
assert_type(Agent(name="x", output_guardrails=(checks_output,), output_type=int), Agent[User, int])


@input_guardrail  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
def takes_too_little(context: RunContextWrapper[User]) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, False)


# Must be an error: an unused ignore is one for both checkers.
Agent[int, str](name="x", input_guardrails=[checks_input])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
