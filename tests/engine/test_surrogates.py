"""Lone surrogates, which no JSON carries: what a user gives that holds some is cleaned or refused, the same with and without a
store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunStore,
    ToolGuardrailFunctionOutput,
    ToolsToFinalOutputResult,
    UserError,
    function_tool,
    handoff,
    input_guardrail,
    output_guardrail,
    tool_input_guardrail,
    tool_output_guardrail,
)
from agentsdk.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ODD = "x\ud800"


def tool(description: str = "d", result: str = "r", **options: Any) -> FunctionTool[Any]:
    async def body() -> str:
        return result

    return function_tool(body, name_override="do", description_override=description, **options)


def judge(decorated: Any, info: object, **options: Any) -> Any:
    async def judged(context: Any, agent: Any, value: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(info, False)

    return decorated(judged, **options)


@tool_input_guardrail
async def odd_input(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.reject_content(message=ODD, output_info=ODD)


@tool_output_guardrail
async def odd_output(data: Any) -> ToolGuardrailFunctionOutput:
    return ToolGuardrailFunctionOutput.reject_content(message=ODD, output_info={ODD: ODD})


def final(context: Any, results: Any) -> ToolsToFinalOutputResult:
    return ToolsToFinalOutputResult(True, ODD)


def to_other(**options: Any) -> Any:
    return handoff(Agent[Any, Any](name="b", model=ScriptedModel(["done"])), tool_name_override="do", **options)


CLEANED: dict[str, Callable[[], dict[str, Any]]] = {
    "instructions": lambda: {"instructions": ODD},
    "made instructions": lambda: {"instructions": lambda context, agent: ODD},
    "description of a tool": lambda: {"tools": [tool(ODD)]},
    "description of a tool that may ask": lambda: {"tools": [tool(ODD, needs_approval=lambda *_: False)]},
    "result": lambda: {"tools": [tool(result=ODD)]},
    "handoff": lambda: {"handoffs": [to_other(tool_description_override=ODD)]},
    "input verdict": lambda: {"input_guardrails": [judge(input_guardrail, ODD)]},
    "output verdict": lambda: {"output_guardrails": [judge(output_guardrail, {ODD: [ODD]})]},
    "tool input verdict": lambda: {"tools": [tool(tool_input_guardrails=[odd_input])]},
    "tool output verdict": lambda: {"tools": [tool(tool_output_guardrails=[odd_output])]},
    "final output": lambda: {"tools": [tool()], "tool_use_behavior": final},
}
REFUSED: dict[str, Callable[[], dict[str, Any]]] = {
    "an agent": lambda: {"name": ODD},
    "an input guardrail": lambda: {"input_guardrails": [judge(input_guardrail, 1, name=ODD)]},
    "an output guardrail": lambda: {"output_guardrails": [judge(output_guardrail, 1, name=ODD)]},
}


async def run(store: RunStore | None, fields: dict[str, Any]) -> tuple[str, list[str]]:
    """What the run says in the end, and its whole conversation as it is saved."""
    replies = [call("do"), "done"] if "tools" in fields else [call("do")] if "handoffs" in fields else ["done"]
    one = Agent[Any, Any](**{"name": "a", **fields}, model=ScriptedModel(replies))
    result = await Runner.run(one, "go", run_config=RunConfig(store=store))
    result.to_state().to_string()
    return result.final_output, [str(item) for item in result.to_input_list()]


@pytest.mark.parametrize("given", CLEANED)
async def test_texts_are_cleaned(given: str) -> None:
    with_store = await run(MemoryRunStore(), CLEANED[given]())
    assert with_store == await run(None, CLEANED[given]())
    assert with_store[0] == ("x\ufffd" if given == "final output" else "done")


@pytest.mark.parametrize("given", REFUSED)
async def test_names_are_refused_before_anything_runs(given: str) -> None:
    for store in (MemoryRunStore(), None):
        with pytest.raises(UserError, match=f"{given} is named .*, expected text without lone surrogates"):
            await run(store, REFUSED[given]())
