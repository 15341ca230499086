"""The decorators of the package, together. `tool` is another name of `function_tool`."""

from agentsdk.compat.openai_agents.guardrail import input_guardrail as input_guardrail
from agentsdk.compat.openai_agents.guardrail import output_guardrail as output_guardrail
from agentsdk.compat.openai_agents.tool import function_tool as function_tool
from agentsdk.compat.openai_agents.tool_guardrails import tool_input_guardrail as tool_input_guardrail
from agentsdk.compat.openai_agents.tool_guardrails import tool_output_guardrail as tool_output_guardrail

tool = function_tool

__all__ = [
    "function_tool",
    "input_guardrail",
    "output_guardrail",
    "tool",
    "tool_input_guardrail",
    "tool_output_guardrail",
]
