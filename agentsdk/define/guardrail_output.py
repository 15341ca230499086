"""The outputs of guardrails: what their functions return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agentsdk.types.declared import FLAG, Fields, any_text, one_of

_OUTPUT = Fields("GuardrailFunctionOutput", tripwire_triggered=FLAG)
_TOOL_OUTPUT = Fields(
    "ToolGuardrailFunctionOutput",
    behavior=one_of("'allow', 'reject_content' or 'raise_exception'", ("allow", "reject_content", "raise_exception")),
    message=any_text("a str; it is what the model is told"),
)


@dataclass(frozen=True, slots=True)
class GuardrailFunctionOutput:
    """What a guardrail returns. `output_info` is any JSON-like detail: it is kept in the run's log."""

    output_info: Any
    tripwire_triggered: bool

    def __post_init__(self) -> None:
        _OUTPUT.check(self)


@dataclass(frozen=True, slots=True)
class ToolGuardrailFunctionOutput:
    """What a tool guardrail returns: allow the call, give the model `message` instead of its result, or stop the run."""

    output_info: Any = None
    behavior: Literal["allow", "reject_content", "raise_exception"] = "allow"
    message: str = ""

    def __post_init__(self) -> None:
        _TOOL_OUTPUT.check(self)

    @classmethod
    def allow(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Let the call, or its output, pass."""
        return cls(output_info)

    @classmethod
    def reject_content(cls, message: str, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Give the model `message` in place of the result; of an input guardrail, the tool is not run."""
        return cls(output_info, "reject_content", message)

    @classmethod
    def raise_exception(cls, output_info: Any = None) -> ToolGuardrailFunctionOutput:
        """Stop the run with a tripwire error."""
        return cls(output_info, "raise_exception")


@dataclass(frozen=True, slots=True)
class GuardrailResult:
    """What a guardrail returned, with the guardrail's name."""

    guardrail: str
    output: GuardrailFunctionOutput | ToolGuardrailFunctionOutput
