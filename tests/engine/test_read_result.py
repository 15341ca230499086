"""`read_result`: whatever was cut can be read on, wherever the run goes on, and never in a circle."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    DropOldest,
    MemoryRunStore,
    ModelRequest,
    RunConfig,
    Runner,
    RunResult,
    RunState,
    SlidingWindow,
    SQLiteRunStore,
    TruncateToolResults,
    Usage,
    function_tool,
    read_result,
)
from agentsdk.core.overflow import result_id
from agentsdk.define.read_result import MAX_PIECE
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import ToolFinished, ViewReplaced
from agentsdk.types.items import FunctionCallOutput, Item
from tests.engine.windowed import of_kind, windowed

pytestmark = pytest.mark.anyio

LONG = "".join(f"line {number}: {number * 7919 % 10_007}\n" for number in range(3_000))
CUT = windowed(32_000, TruncateToolResults(keep_turns=0, chars=200), DropOldest())
"""Too small for `LONG` as soon as the model has seen it."""


@function_tool(effect="none")
def look() -> str:
    """Look."""
    return LONG


@function_tool(effect="none", polling=True)
def wait() -> str:
    """Wait."""
    return "waited"


def outputs(items: Any) -> list[str]:
    return [str(item.output) for item in items if isinstance(item, FunctionCallOutput)]


def read_on(request: ModelRequest) -> Any:
    """Call as the marker in the oldest result says."""
    marked = re.search(r"(\w+)\(result_id='(\w+)', offset=(\d+)\)", outputs(request.items)[0])
    assert marked is not None
    name, of, offset = marked.groups()
    return call(name, result_id=of, offset=int(offset), length=1_000)


def agent_of(*replies: Any, tools: Any = (look, wait), **fields: Any) -> Agent[Any, str]:
    return Agent("main", model=scripted(*replies), tools=list(tools), **fields)


def scripted(*replies: Any) -> ScriptedModel:
    """A model whose usage says nothing of the request's size."""
    return ScriptedModel(replies, usage=Usage(1))


def model_of(agent: Agent[Any, str]) -> ScriptedModel:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model


async def ran(*replies: Any, config: RunConfig, **fields: Any) -> tuple[Agent[Any, str], RunResult[str]]:
    agent = agent_of(*replies, **fields)
    return agent, await Runner.run(agent, "go", run_config=config)


async def test_what_the_window_cut_is_read_as_its_marker_says() -> None:
    agent, result = await ran(call("look"), call("wait"), read_on, "done", config=CUT)
    assert outputs(result.to_state().items()) == [LONG, "waited", f"[characters 150 to 1150 of {len(LONG)}]\n{LONG[150:1150]}"]
    seen = outputs(model_of(agent).requests[-1].items)
    assert len(seen[0]) < 400
    assert seen[-1].endswith(LONG[150:1150]), "the piece stays whole"
    assert result.full_results == {result_id(LONG): LONG}
    assert [tool.name for tool in model_of(agent).requests[0].tools] == ["look", "wait", "read_result"], "from the start"


async def test_the_pieces_are_not_cut_again_when_they_are_old() -> None:
    agent, result = await ran(call("look"), call("wait"), read_on, call("wait"), call("look"), call("wait"), "done", config=CUT)
    assert [event.reason for event in of_kind(result.to_state(), ViewReplaced)] == ["TruncateToolResults"] * 2
    seen = outputs(model_of(agent).requests[-1].items)
    assert seen[2].endswith(LONG[150:1150])


async def test_it_is_offered_once_a_result_was_cut_for_its_length() -> None:
    config = RunConfig(max_tool_result_chars=1_000)
    agent, result = await ran(call("wait"), call("look"), read_on_second, "done", config=config)
    offered = [[tool.name for tool in request.tools] for request in model_of(agent).requests]
    assert offered == [["look", "wait"]] * 2 + [["look", "wait", "read_result"]] * 2
    assert outputs(result.to_state().items())[-1] == f"[characters 750 to 1686 of {len(LONG)}]\n{LONG[750:1686]}"
    assert [bool(event.whole) for event in of_kind(result.to_state(), ToolFinished)] == [False, True, False]


def read_on_second(request: ModelRequest) -> Any:
    return read_on(structs.replace(request, items=type(request.items)(list(request.items)[3:])))


@pytest.mark.parametrize(
    ("config", "tools", "offered"),
    [
        (RunConfig(), [wait], False),
        (windowed(100_000, SlidingWindow(2)), [wait], False),
        (windowed(100_000, SlidingWindow(2), TruncateToolResults()), [wait], True),
        (windowed(100_000, TruncateToolResults()), [], False),
    ],
    ids=["no window", "nothing is cut", "cut", "no tools"],
)
async def test_it_is_offered_where_results_are_cut(config: RunConfig, tools: Any, offered: bool) -> None:
    agent, _ = await ran("done", config=config, tools=tools)
    assert ("read_result" in [tool.name for tool in model_of(agent).requests[0].tools]) is offered


async def test_the_tools_are_the_same_objects_in_every_run() -> None:
    agent = agent_of("done", "done")
    for _ in range(2):
        await Runner.run(agent, "go", run_config=CUT)
    first, second = model_of(agent).requests
    assert first.tools is second.tools


async def test_a_tool_of_the_agents_own_by_that_name_stands() -> None:
    @function_tool(effect="none", name_override="read_result")
    def own(x: int = 0) -> str:
        return "mine"

    _, result = await ran(call("read_result"), "done", config=CUT, tools=[own])
    assert outputs(result.to_state().items()) == ["mine"]


async def test_an_agent_may_name_it_itself() -> None:
    _, result = await ran(call("look"), read_on, "done", config=RunConfig(max_tool_result_chars=500), tools=[look, read_result])
    assert outputs(result.to_state().items())[-1].endswith(LONG[375:811])


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown id": ({"result_id": "0" * 16}, "no result has the id '0000000000000000'"),
    "no id at all": ({"result_id": "../../etc/passwd"}, "no result has the id"),
    "behind the end": ({"result_id": result_id(LONG), "offset": 10**9}, f"the result ends at character {len(LONG)}"),
    "no text": ({"result_id": 7}, "do not fit"),
}


@pytest.mark.parametrize(("arguments", "says"), BAD.values(), ids=BAD)
async def test_what_cannot_be_read_is_an_error_result(arguments: dict[str, Any], says: str) -> None:
    _, result = await ran(call("look"), call("wait"), call("read_result", **arguments), "done", config=CUT)
    *_, last = [item for item in result.to_state().items() if isinstance(item, FunctionCallOutput)]
    assert last.is_error
    assert says in str(last.output)


@pytest.mark.parametrize(("length", "gives"), [(10**9, MAX_PIECE), (0, 1), (-5, 1), (7, 7)])
async def test_a_piece_is_bounded(length: int, gives: int) -> None:
    piece = call("read_result", result_id=result_id(LONG), offset=-3, length=length)
    _, result = await ran(call("look"), call("wait"), piece, "done", config=CUT)
    *_, last = outputs(result.to_state().items())
    assert last == f"[characters 0 to {gives} of {len(LONG)}]\n{LONG[:gives]}"


async def test_a_piece_is_never_cut_itself() -> None:
    config = RunConfig(max_tool_result_chars=300)
    _, result = await ran(call("look"), read_on, "done", config=config)
    assert len(outputs(result.to_state().items())[-1]) <= 300
    assert [bool(event.whole) for event in of_kind(result.to_state(), ToolFinished)] == [True, False]


async def test_another_process_reads_on_from_the_store(tmp_path: Any) -> None:
    store = SQLiteRunStore(tmp_path / "runs.db", synchronous="NORMAL")
    config = RunConfig(store=store, run_id="r", max_tool_result_chars=300)
    with pytest.raises(Exception, match="took 1 turns"):
        await Runner.run(agent_of(call("look")), "go", max_turns=1, run_config=config)
    await store.aclose()
    again = SQLiteRunStore(tmp_path / "runs.db", synchronous="NORMAL")
    config = dataclasses.replace(config, store=again)
    result = await Runner.resume(agent_of(read_on, "done"), "r", run_config=config)
    assert outputs(result.to_state().items())[-1] == f"[characters 225 to 461 of {len(LONG)}]\n{LONG[225:461]}"
    await again.aclose()


async def test_what_the_window_cut_is_kept_where_the_run_is() -> None:
    store = MemoryRunStore()
    config = dataclasses.replace(CUT, store=store, run_id="r")
    _, result = await ran(call("look"), call("wait"), "done", config=config)
    assert result.full_results == {result_id(LONG): LONG}
    assert await store.attachment("r", result_id(LONG)) == LONG.encode()


async def test_nothing_else_that_is_kept_beside_the_run_is_read() -> None:
    store = MemoryRunStore()
    config = RunConfig(store=store, run_id="r", max_tool_result_chars=300)
    with pytest.raises(Exception, match="took 1 turns"):
        await Runner.run(agent_of(call("look")), "go", max_turns=1, run_config=config)
    await store.attach("r", "notes", b"secret")
    result = await Runner.resume(agent_of(call("read_result", result_id="notes"), "done"), "r", run_config=config)
    assert "no result has the id 'notes'" in outputs(result.to_state().items())[-1]


async def test_a_loaded_state_without_a_store_still_has_what_the_window_cut() -> None:
    agent = agent_of(call("look"), call("wait"), call("wait"))
    with pytest.raises(Exception, match="took 3 turns") as raised:
        await Runner.run(agent, "go", max_turns=3, run_config=CUT)
    state: Any = raised.value.state  # type: ignore[attr-defined]
    loaded = RunState.from_string(agent, state.to_string())
    items: list[Item] = list(loaded.value.view)
    assert len(outputs(items)[0]) < 400
    result = await Runner.run(agent_of(read_on, "done"), loaded, run_config=CUT)
    assert outputs(result.to_state().items())[-1].endswith(LONG[150:1150])


async def test_a_nested_run_reads_its_own_results() -> None:
    inner = Agent("inner", model=scripted(call("look"), call("wait"), read_on, "seen"), tools=[look, wait])
    outer = Agent("outer", model=scripted(call("inner", input="look"), "done"), tools=[inner.as_tool()])
    result = await Runner.run(outer, "go", run_config=CUT)
    assert result.final_output == "done"
    last = model_of(inner).requests[-1]
    assert outputs(last.items)[-1].endswith(LONG[150:1150])
