"""What a person declares, configures or matches on is a frozen dataclass: `dataclasses.replace` gives a checked copy of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any

import pytest

from agentsdk import (
    Agent,
    ContextCodec,
    GuardrailFunctionOutput,
    HandoffInputData,
    InputGuardrail,
    ModelPrice,
    OutputGuardrail,
    RunContextWrapper,
    RunErrorHandlerResult,
    StopAtTools,
    ToolGuardrailFunctionOutput,
    ToolsToFinalOutputResult,
    UserError,
    handoff,
)
from agentsdk.define.run_config import RunErrorHandlerInput
from agentsdk.define.tool_guardrail import ToolInputGuardrailData, ToolOutputGuardrailData
from agentsdk.guardrails import ToolInputGuardrail, ToolOutputGuardrail
from agentsdk.tools import ToolResult
from agentsdk.types.items import FunctionCallOutput


def allow(*given: Any) -> Any:
    """A guardrail that is never called."""


# Each with a change of one field, and a value which that field does not take where it is checked.
DECLARED: list[tuple[Any, str, object, object]] = [
    (StopAtTools(["save"]), "stop_at_tool_names", ["send"], 5),
    (ToolsToFinalOutputResult(True, 1), "is_final_output", False, "yes"),
    (GuardrailFunctionOutput(None, False), "tripwire_triggered", True, "yes"),
    (ToolGuardrailFunctionOutput.reject_content("no"), "behavior", "allow", "maybe"),
    (InputGuardrail(allow, "g"), "run_in_parallel", False, 1),
    (OutputGuardrail(allow, "g"), "name", "h", ""),
    (ToolInputGuardrail(allow, "g"), "name", "h", ""),
    (ToolOutputGuardrail(allow, "g"), "name", "h", ""),
    (handoff(Agent(name="B")), "is_enabled", False, 1),
    (ModelPrice(input=1, output="2.50"), "input", 2, 2.5),
    (ContextCodec[str](str, str), "decode", repr, None),
    (ToolResult("save", "{}", FunctionCallOutput("c", "saved")), "tool_name", "send", ...),
    (HandoffInputData((), (), ()), "new_items", (FunctionCallOutput("c", "saved"),), ...),
    (RunErrorHandlerResult("none"), "final_output", "some", ...),
    (RunErrorHandlerInput(UserError("x"), RunContextWrapper(None)), "error", UserError("y"), ...),
    (ToolInputGuardrailData(..., Agent(name="A")), "agent", Agent(name="B"), ...),  # type: ignore[arg-type]
    (ToolOutputGuardrailData(..., Agent(name="A"), "x"), "is_error", True, ...),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("declared", "field", "value", "wrong"), DECLARED, ids=lambda given: type(given).__name__)
def test_replace_gives_a_checked_copy(declared: Any, field: str, value: object, wrong: object) -> None:
    changed = replace(declared, **{field: value})
    assert type(changed) is type(declared)
    assert getattr(changed, field) == value
    others = [other.name for other in fields(declared) if other.name != field]
    assert all(getattr(changed, other) is getattr(declared, other) for other in others)
    if wrong is not ...:
        with pytest.raises(UserError, match=f"{field}="):
            replace(declared, **{field: wrong})


@pytest.mark.parametrize("declared", [entry[0] for entry in DECLARED], ids=lambda given: type(given).__name__)
def test_what_is_declared_is_frozen(declared: Any) -> None:
    assert is_dataclass(declared)
    with pytest.raises(FrozenInstanceError):
        setattr(declared, fields(declared)[0].name, None)


@pytest.mark.parametrize("kind", [InputGuardrail, OutputGuardrail, ToolInputGuardrail, ToolOutputGuardrail])
def test_a_generic_kind_can_be_called_with_its_parameter(kind: Callable[..., Any]) -> None:
    assert kind[int](allow, "g") == kind(allow, "g")  # type: ignore[index]
