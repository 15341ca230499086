"""Tools of toolsets in a program: found by a function, called like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunResult,
    ToolApprovalItem,
    ToolContext,
    ToolInDoubtItem,
    function_tool,
)
from agentsdk.events import ModelReplied
from agentsdk.items import FunctionCallOutput
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import CodeTool
from agentsdk.toolsets import Toolset, ToolsetContext
from tests.engine.recorded import RUN_ID, stored

pytestmark = pytest.mark.anyio

ran: list[str] = []
"""The tools whose bodies ran."""


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@function_tool(effect="none")
def note(text: str) -> str:
    """Note a text."""
    return text


class Many(Toolset[Any]):
    """Some tools, as a server has them."""

    name = "many"

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        return SERVED


async def serve(ctx: ToolContext[Any], arguments: str) -> str:
    ran.append(ctx.tool_name)
    return '{"rows":[1,2]}'


def served(name: str, description: str) -> FunctionTool[Any]:
    schema: dict[str, object] = {"type": "object", "properties": {"table": {"type": "string"}}, "required": ["table"]}
    return FunctionTool(name, description, schema, serve, needs_approval=name == "drop-table")


SERVED = [served("list-rows", "All rows of a table."), served("drop-table", "Delete a table."), served("now", "The time.")]


def outcome(result: RunResult[str]) -> FunctionCallOutput:
    assert result.final_output == "Done."
    return next(item for item in result.to_state().value.transcript if isinstance(item, FunctionCallOutput))


async def told(code: str) -> str | tuple[object, ...]:
    model = ScriptedModel([call("run_code", code=code), "Done."])
    agent = Agent[Any, str]("Coder", model=model, tools=[CodeTool([note], toolsets=[Many()])])
    return outcome(await Runner.run(agent, "Go.")).output


async def test_they_are_found_and_called() -> None:
    tool = CodeTool([note], toolsets=[Many()])
    assert "async def note(" in tool.description and "list_rows" not in tool.description
    assert "async def find_functions(words: str) -> str:" in tool.description
    found = await told("print(await find_functions('the rows'))")
    assert found == 'async def list_rows(table: str) -> Any:\n    """All rows of a table."""\n'
    assert await told("(await list_rows('t'))['rows']") == "[1,2]"
    assert ran == ["list-rows"]
    assert await told("await find_functions('zebra')") == "None fits. There are: list_rows, drop_table, now"


async def test_a_call_of_one_waits_for_a_person_also_in_another_process() -> None:
    code = "a = await list_rows('t')\nb = await drop_table('t')\n[a['rows'], b['rows']]"
    model, config = ScriptedModel([call("run_code", code=code)]), RunConfig(store=MemoryRunStore(), run_id="r")
    agent = Agent[Any, str]("Coder", model=model, tools=[CodeTool(toolsets=[Many()])])
    await Runner.run(agent, "Go.", run_config=config)
    state = await Runner.load("r", run_config=config)
    (item,) = state.interruptions
    assert isinstance(item, ToolApprovalItem) and item.tool_name == "drop-table"
    state.approve(item)
    await Runner.decide(state, run_config=config)
    other = Agent[Any, str]("Coder", model=ScriptedModel(["Done."]), tools=[CodeTool(toolsets=[Many()])])
    result = await Runner.resume(other, "r", run_config=config)
    assert outcome(result).output == "[[1,2],[1,2]]" and ran == ["list-rows", "drop-table"]
    assert (await Runner.replay(other, "r", run_config=config)).divergence is None


async def test_a_run_goes_on_wherever_it_was_cut() -> None:
    first = Agent[Any, str](
        "Coder",
        model=ScriptedModel([call("run_code", code="await find_functions('rows')\nlen(await list_rows('t'))"), "Done."]),
        tools=[CodeTool(toolsets=[Many()])],
    )
    log = list((await Runner.run(first, "Go.", run_config=RunConfig(run_id=RUN_ID))).to_state().value.log)
    replied = next(at for at, event in enumerate(log) if isinstance(event, ModelReplied))
    for cut in range(replied + 1, len(log)):
        other = Agent[Any, str]("Coder", model=ScriptedModel(["Done."]), tools=[CodeTool(toolsets=[Many()])])
        result = await Runner.resume(other, RUN_ID, run_config=await stored(log[:cut]))
        for item in result.interruptions:
            state = result.to_state()
            assert isinstance(item, ToolInDoubtItem) and item.tool_name == "list-rows"
            state.provide_result(item, result='{"rows":[1,2]}')
            result = await Runner.run(other, state)
        assert outcome(result).output == "1", f"cut at {cut}"
