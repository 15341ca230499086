"""The list of a model that plans as it goes: its rules, who sees it, and that it is there wherever the run goes on."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import Agent, FunctionTool, RunConfig, Runner, RunState, UserError, function_tool
from agentsdk.events import ToolProgressStreamEvent
from agentsdk.items import ToolCallOutputItem
from agentsdk.patterns import Todo, todo_tool, todos_of
from agentsdk.stores import SQLiteRunStore
from agentsdk.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def items(*given: tuple[str, str]) -> list[dict[str, str]]:
    return [{"text": text, "status": status} for text, status in given]


FIRST = items(("read", "in_progress"), ("write", "pending"))
SECOND = items(("read", "done"), ("write", "in_progress"), ("send", "pending"))


def writer(*replies: Any, tools: Any = ()) -> Agent[Any, Any]:
    return Agent(name="Writer", tools=[todo_tool(), *tools], model=ScriptedModel([*replies, "Done."]))


async def test_each_call_gives_the_list_anew_and_the_model_reads_it() -> None:
    result = await Runner.run(writer(call("todo", items=FIRST), call("todo", items=SECOND)), "Write.")
    shown = [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    assert shown == ["1. [>] read\n2. [ ] write", "1. [x] read\n2. [>] write\n3. [ ] send"]
    assert todos_of(result) == [Todo(**one) for one in SECOND]  # type: ignore[arg-type]
    assert todos_of(result.to_state().items()) == todos_of(result)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (items(("a", "in_progress"), ("b", "done"), ("c", "in_progress")), "1, 3 are in_progress, expected one at most"),
        (items(*[("x", "pending")] * 31), "there are 31, expected 30 at most"),
        (items(("a", "pending"), ("x" * 201, "pending")), "2 are too long, expected 200 characters at most"),
        (items(("a", "later")), "items[0].status"),
        (items(("", "pending")), "items[0].text"),
        ([{"text": "a"}], "items[0].status"),
    ],
)
async def test_what_breaks_a_rule_goes_back_to_the_model_and_the_list_stays(given: Any, why: str) -> None:
    result = await Runner.run(writer(call("todo", items=FIRST), call("todo", items=given)), "Write.")
    outputs = [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    assert why in str(outputs[1]) and "The call was not run." in str(outputs[1])
    assert [one.text for one in todos_of(result)] == ["read", "write"]


async def test_who_reads_the_stream_sees_the_list() -> None:
    async with Runner.run_streamed(writer(call("todo", items=FIRST)), "Write.") as run:
        seen = [event.data async for event in run.stream_events() if isinstance(event, ToolProgressStreamEvent)]
        assert seen == [tuple(todos_of(run))]


async def test_the_list_comes_back_in_another_process(tmp_path: Any) -> None:
    @function_tool(needs_approval=True)
    def send() -> str:
        """Send it."""
        return "sent"

    store = SQLiteRunStore(tmp_path / "runs.db")
    config = RunConfig(store=store, run_id="r")
    await Runner.run(writer(call("todo", items=FIRST), call("send"), tools=[send]), "Write.", run_config=config)
    await store.aclose()
    again = RunConfig(store=SQLiteRunStore(tmp_path / "runs.db"), run_id="r")
    state = await Runner.load("r", run_config=again)
    assert [one.status for one in todos_of(state)] == ["in_progress", "pending"]
    assert todos_of(RunState.from_string(writer(tools=[send]), state.to_string())) == todos_of(state)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=again)
    resumed = await Runner.resume(writer(call("todo", items=SECOND), tools=[send]), "r", run_config=again)
    assert [one.status for one in todos_of(resumed)] == ["done", "in_progress", "pending"]
    assert again.store is not None
    await again.store.aclose()  # type: ignore[attr-defined]


async def test_it_goes_on_in_a_further_run_of_the_conversation() -> None:
    first = await Runner.run(writer(call("todo", items=FIRST)), "Write.")
    second = await Runner.run(writer(), [*first.to_input_list(), {"role": "user", "content": "Go on."}])
    assert todos_of(second) == todos_of(first) != []


async def test_of_two_lists_in_one_reply_the_last_one_counts() -> None:
    result = await Runner.run(writer([call("todo", items=FIRST), call("todo", items=SECOND)]), "Write.")
    assert len(todos_of(result)) == 3


async def test_names_and_bounds_are_ones_own() -> None:
    tool = todo_tool(name="tasks", max_items=1, max_chars=3)
    model = ScriptedModel([call("tasks", items=items(("abc", "done"))), call("tasks", items=items(("abcd", "done"))), "Done."])
    result = await Runner.run(Agent(name="A", tools=[tool], model=model), "Go.")
    assert todos_of(result, name="tasks") == [Todo(text="abc", status="done")] and todos_of(result) == []
    assert tool.effect == "none" and isinstance(tool, FunctionTool)
    for wrong in ({"name": "a b"}, {"max_items": 0}, {"max_chars": -1}):
        with pytest.raises(UserError):
            todo_tool(**wrong)  # type: ignore[arg-type]


async def test_an_empty_list_is_a_list() -> None:
    result = await Runner.run(writer(call("todo", items=FIRST), call("todo", items=[])), "Write.")
    assert todos_of(result) == []
    outputs = [item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    assert outputs[1] == "nothing to do"
