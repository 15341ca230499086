"""Guardrails: checks of a run's input, its output and single tool calls, and what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.define.agent import InputGuardrail, OutputGuardrail
from agentsdk.define.guardrail import input_guardrail, output_guardrail
from agentsdk.define.guardrail_output import GuardrailFunctionOutput, GuardrailResult, ToolGuardrailFunctionOutput
from agentsdk.define.tool_guardrail import (
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.types.lazy import lazy_names

__all__ = [
    "GuardrailFunctionOutput",
    "GuardrailResult",
    "InputGuardrail",
    "OutputGuardrail",
    "ToolGuardrailFunctionOutput",
    "ToolInputGuardrail",
    "ToolInputGuardrailData",
    "ToolOutputGuardrail",
    "ToolOutputGuardrailData",
    "input_guardrail",
    "output_guardrail",
    "tool_input_guardrail",
    "tool_output_guardrail",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(__name__)  # a name that is elsewhere says where
