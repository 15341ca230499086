"""Calls in the order that their tools declare: beside each other unless one says otherwise, also where one of them waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCallOutput,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    ToolError,
    ToolGuardrailFunctionOutput,
    ToolOutputGuardrailTripwireTriggered,
    UserError,
    function_tool,
    handoff,
    tool_output_guardrail,
)
from agentsdk.core.codec import decode_events
from agentsdk.errors import CallbackError, ToolCallLimitExceededError
from agentsdk.events import CallsOrdered, RunEvent, ToolFinished, ToolsIntended
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ask_user
from agentsdk.toolsets import ToolRegistry
from tests.engine.recorded import stored

pytestmark = pytest.mark.anyio


class Desk:
    """Notes when calls begin and end, and how many were beside each other."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.running = self.most = 0

    def tool(self, name: str, steps: int = 3, **options: Any) -> FunctionTool[Any]:
        async def body(x: int = 0) -> str:
            self.log.append(f"{name}{x}")
            self.running += 1
            self.most = max(self.most, self.running)
            for _ in range(steps):
                await asyncio.sleep(0)
            self.running -= 1
            self.log.append(f"/{name}{x}")
            return f"{name}{x} is done"

        return function_tool(body, name_override=name, **options)


def agent_with(tools: Sequence[FunctionTool[Any]], *replies: Any, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel([*replies, "done"]), tools=tools, **fields)


async def run(tools: Sequence[FunctionTool[Any]], *calls: Any, config: RunConfig = RunConfig()) -> RunState:
    result = await Runner.run(agent_with(tools, list(calls)), "go", run_config=config)
    return result.to_state()


def outputs_of(state: RunState) -> list[str]:
    return [str(item.output) for item in state.items() if isinstance(item, FunctionCallOutput)]


def events_of(state: RunState, kind: type[RunEvent]) -> list[Any]:
    return [event for event in state.value.log if isinstance(event, kind)]


async def test_a_sequential_call_runs_alone_and_results_keep_the_models_order() -> None:
    desk = Desk()
    tools = [desk.tool("read"), desk.tool("move", sequential=True)]
    state = await run(tools, call("read", x=1), call("read", x=2), call("move", x=3), call("read", x=4), call("read", x=5))
    assert desk.log == [
        *("read1", "read2", "/read1", "/read2"),
        *("move3", "/move3"),
        *("read4", "read5", "/read4", "/read5"),
    ]
    assert outputs_of(state) == [f"{name} is done" for name in ("read1", "read2", "move3", "read4", "read5")]


async def test_calls_on_one_resource_keep_the_models_order_beside_those_on_others() -> None:
    desk = Desk()
    tools = [desk.tool("slow", 9, resource="db"), desk.tool("quick", 1, resource="db"), desk.tool("other", 1, resource="file")]
    await run(tools, call("slow", x=1), call("quick", x=2), call("other", x=3))
    assert desk.log == ["slow1", "other3", "/other3", "/slow1", "quick2", "/quick2"]


async def test_a_resource_may_follow_from_the_arguments() -> None:
    desk = Desk()

    def account(arguments: dict[str, Any]) -> str | None:
        return f"account {arguments['x'] % 2}" if arguments["x"] < 9 else None

    tools = [desk.tool("pay", resource=account)]
    await run(tools, *[call("pay", x=x) for x in (1, 2, 3, 9)])
    assert desk.log[:3] == ["pay1", "pay2", "pay9"]
    assert desk.log.index("/pay1") < desk.log.index("pay3")


async def test_a_call_after_a_tool_waits_for_its_calls_wherever_the_model_put_them() -> None:
    desk = Desk()
    tools = [desk.tool("write_file"), desk.tool("run_tests", after=("write_file",))]
    await run(tools, call("run_tests", x=1), call("write_file", x=2), call("write_file", x=3), call("run_tests", x=4))
    assert desk.log[:2] == ["write_file2", "write_file3"]
    assert desk.log[2:4] == ["/write_file2", "/write_file3"]
    assert desk.log[4:6] == ["run_tests1", "run_tests4"]


async def test_without_calls_of_the_tool_before_there_is_nothing_to_wait_for() -> None:
    desk = Desk()
    tools = [desk.tool("write_file"), desk.tool("run_tests", after=["write_file"])]
    state = await run(tools, call("run_tests", x=1), call("run_tests", x=2))
    assert desk.most == 2 and events_of(state, CallsOrdered) == []


async def test_tools_that_say_nothing_run_beside_each_other_and_nothing_is_recorded() -> None:
    desk = Desk()
    state = await run([desk.tool("read")], *[call("read", x=x) for x in range(5)])
    assert desk.most == 5 and events_of(state, CallsOrdered) == []


async def test_a_waiting_call_does_not_take_the_place_of_one_that_can_run() -> None:
    desk = Desk()
    tools = [desk.tool("write_file"), desk.tool("run_tests", after=("write_file",))]
    calls = [call("run_tests", x=1), call("run_tests", x=2), call("write_file", x=3)]
    state = await run(tools, *calls, config=RunConfig(max_tool_concurrency=1))
    assert desk.most == 1 and [name for name in desk.log if name[0] != "/"] == ["write_file3", "run_tests1", "run_tests2"]
    assert len(outputs_of(state)) == 3


async def test_a_call_that_failed_or_does_not_fit_is_over_for_those_behind_it() -> None:
    desk = Desk()

    def breaks() -> None:
        raise ValueError("no")

    tools = [function_tool(breaks), desk.tool("next", after=("breaks", "read"), sequential=True), desk.tool("read")]
    state = await run(tools, call("breaks"), call("read", y=1), call("next", x=1))
    assert desk.log == ["next1", "/next1"]
    assert outputs_of(state)[2] == "next1 is done"


async def test_calls_behind_one_that_ends_the_run_do_not_begin_and_do_so_when_it_goes_on() -> None:
    desk = Desk()

    def breaks() -> None:
        raise ValueError("no")

    tools = [
        function_tool(breaks, failure_error_function=None),
        desk.tool("next", after=("breaks",)),
        desk.tool("last", after=("next",)),
        desk.tool("read"),
    ]
    calls = [call("breaks"), call("last", x=1), call("next", x=1), call("read", x=1)]
    agent = agent_with(tools, calls)
    with pytest.raises(ToolError) as caught:
        await Runner.run(agent, "go")
    assert desk.log == ["read1", "/read1"]
    state = caught.value.state
    assert state.value.turn.intended == ("call_1_1", "call_1_4")
    result = await Runner.run(agent, state)
    assert result.final_output == "done" and desk.log[2:] == ["next1", "/next1", "last1", "/last1"]


async def test_calls_behind_a_result_that_a_guardrail_stops_do_not_begin() -> None:
    @tool_output_guardrail
    def never(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.raise_exception()

    desk = Desk()
    tools = [desk.tool("read", tool_output_guardrails=[never]), desk.tool("next", after=("read",))]
    with pytest.raises(ToolOutputGuardrailTripwireTriggered):
        await run(tools, call("next", x=1), call("read", x=1))
    assert desk.log == ["read1", "/read1"]


# Calls that wait for a person hold those behind them.


def waits_for_the_person(state: RunState) -> list[str]:
    return [item.tool_name for item in state.interruptions]


@pytest.mark.parametrize("approves", [True, False])
async def test_calls_behind_one_that_waits_for_approval_wait_too(approves: bool) -> None:
    desk = Desk()
    tools = [
        desk.tool("write_file", needs_approval=True),
        desk.tool("run_tests", after=("write_file",)),
        desk.tool("report", after=("run_tests",)),
        desk.tool("read"),
    ]
    calls = [call("report", x=1), call("run_tests", x=1), call("write_file", x=1), call("read", x=1)]
    agent = agent_with(tools, calls)
    state = (await Runner.run(agent, "go")).to_state()
    assert waits_for_the_person(state) == ["write_file"]
    assert desk.log == ["read1", "/read1"]
    state = RunState.from_string(agent, state.to_string())
    (item,) = state.interruptions
    state.approve(item) if approves else state.reject(item)
    result = await Runner.run(agent, state)
    assert result.final_output == "done"
    written = ["write_file1", "/write_file1"] if approves else []
    assert desk.log[2:] == [*written, "run_tests1", "/run_tests1", "report1", "/report1"]


async def test_a_stored_run_whose_calls_all_wait_is_given_as_it_stands() -> None:
    desk, store = Desk(), MemoryRunStore()
    tools = [desk.tool("write_file", needs_approval=True), desk.tool("run_tests", after=("write_file",))]
    config = RunConfig(store=store)
    agent = agent_with(tools, [call("run_tests", x=1), call("write_file", x=1)])
    assert waits_for_the_person((await Runner.drive(agent, "r", "go", run_config=config)).to_state()) == ["write_file"]
    length = len(await store.read("r"))
    assert waits_for_the_person((await Runner.drive(agent, "r", run_config=config)).to_state()) == ["write_file"]
    assert len(await store.read("r")) == length
    replay = await Runner.replay(agent, "r", run_config=config)
    assert (replay.divergence, replay.steps) == (None, 1)


async def test_calls_behind_one_whose_arguments_are_edited_are_ordered_anew() -> None:
    desk = Desk()

    def file(arguments: dict[str, Any]) -> str:
        return f"file {arguments['x']}"

    tools = [desk.tool("write", needs_approval=True, resource=file), desk.tool("read", resource=file)]
    agent = agent_with(tools, [call("write", x=1), call("read", x=1), call("read", x=2)])
    state = (await Runner.run(agent, "go")).to_state()
    assert desk.log == ["read2", "/read2"]
    (item,) = state.interruptions
    state.approve(item, arguments={"x": 7})
    await Runner.run(agent, state)
    assert desk.log[2:] == ["write7", "read1", "/write7", "/read1"]


async def test_calls_behind_one_in_doubt_wait_until_it_is_settled() -> None:
    desk, store = Desk(), MemoryRunStore()
    tools = [desk.tool("pay"), desk.tool("report", after=("pay",))]
    agent = agent_with(tools, [call("report", x=1), call("pay", x=1)])
    await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r"))
    log = list(decode_events(await store.read("r")))
    begun = next(at for at, event in enumerate(log) if isinstance(event, ToolsIntended)) + 1
    assert log[begun - 1] == ToolsIntended(("call_1_2",), log[begun - 1].at)  # type: ignore[union-attr]
    again = Desk()
    agent = agent_with([again.tool("pay"), again.tool("report", after=("pay",))])
    config = await stored(log[:begun])
    state = (await Runner.resume(agent, "r", run_config=config)).to_state()
    assert waits_for_the_person(state) == ["pay"] and again.log == []
    state.provide_result(state.interruptions[0], result="paid")
    result = await Runner.run(agent, state)
    assert again.log == ["report1", "/report1"] and outputs_of(result.to_state()) == ["report1 is done", "paid"]


async def test_calls_behind_a_nested_run_that_waits_for_a_person_wait_too() -> None:
    desk = Desk()
    helper = Agent("helper", model=ScriptedModel([call("pay", x=1), "helped"]), tools=[desk.tool("pay", needs_approval=True)])
    tools: list[FunctionTool[Any]] = [
        helper.as_tool(),
        desk.tool("report", after=("helper",)),
        desk.tool("last", sequential=True),
    ]
    agent = agent_with(tools, [call("report", x=1), call("helper", input="help"), call("last", x=1)])
    state = (await Runner.run(agent, "go")).to_state()
    assert desk.log == [] and waits_for_the_person(state) == ["pay"]
    state.approve(state.interruptions[0])
    result = await Runner.run(agent, state)
    assert result.final_output == "done"
    assert desk.log == ["pay1", "/pay1", "report1", "/report1", "last1", "/last1"]


async def test_calls_behind_an_external_one_wait_for_its_answer() -> None:
    desk = Desk()
    agent = agent_with(
        [ask_user, desk.tool("book", after=("ask_user",))], [call("book", x=1), call("ask_user", question="When?")]
    )
    state = (await Runner.run(agent, "go")).to_state()
    assert desk.log == [] and waits_for_the_person(state) == ["ask_user"]
    state.answer(state.interruptions[0], "now")
    result = await Runner.run(agent, state)
    assert desk.log == ["book1", "/book1"] and result.final_output == "done"


async def test_an_agent_as_tool_may_be_ordered() -> None:
    desk = Desk()
    helper = Agent("helper", model=ScriptedModel(["helped"]))
    state = await run(
        [desk.tool("read"), helper.as_tool(after=("read",), sequential=True)], call("helper", input="help"), call("read", x=1)
    )
    assert outputs_of(state) == ["helped", "read1 is done"]
    finished = [event.call_id for event in state.value.log if isinstance(event, ToolFinished)]
    assert finished == ["call_1_2", "call_1_1"]


async def test_a_handoff_beside_ordered_calls_is_taken() -> None:
    desk = Desk()
    other = Agent("other", model=ScriptedModel(["solved"]))
    agent = agent_with(
        [desk.tool("move", sequential=True)],
        [call("move", x=1), call("transfer_to_other"), call("move", x=2)],
        handoffs=[handoff(other)],
    )
    result = await Runner.run(agent, "go")
    assert result.final_output == "solved" and desk.most == 1


async def test_of_a_limit_that_the_calls_of_a_reply_pass_none_begins() -> None:
    desk = Desk()
    agent = agent_with([desk.tool("move", sequential=True)], [call("move", x=x) for x in range(3)])
    with pytest.raises(ToolCallLimitExceededError) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(limits=RunLimits(tool_calls=2)))
    assert desk.log == []
    result = await Runner.run(agent, caught.value.state, run_config=RunConfig(limits=RunLimits(tool_calls=3)))
    assert result.final_output == "done" and len(desk.log) == 6


async def test_a_run_cancelled_while_calls_wait_has_begun_none_of_them() -> None:
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    desk = Desk()
    tools = [function_tool(hang), desk.tool("next", after=("hang",)), desk.tool("last", sequential=True)]
    stream = Runner.run_streamed(agent_with(tools, [call("next", x=1), call("hang"), call("last", x=1)]), "go")
    async with stream:
        await begun.wait()
    assert desk.log == []
    turn = stream.to_state().value.turn
    assert turn is not None and turn.intended == ("call_1_2",)


async def test_many_calls_behind_many_are_one_line_each() -> None:
    desk = Desk()
    tools = [desk.tool("write", 0), desk.tool("check", 0, after=("write",))]
    count = 400
    state = await run(tools, *[call("write", x=x) for x in range(count)], *[call("check", x=x) for x in range(count)])
    (order,) = events_of(state, CallsOrdered)
    assert sum(len(wait.calls) + len(wait.tools) for wait in order.waits) == count
    assert len(outputs_of(state)) == 2 * count


# What is wrong is said before the first request.


def never(request: Any) -> Any:
    raise AssertionError("the model was asked")


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ({"a": ("b",), "b": ("a",)}, "tools of agent 'main' wait for each other, each comes after the next: 'a' -> 'b' -> 'a'"),
        ({"a": ("a",), "b": ()}, "each comes after the next: 'a' -> 'a'"),
        ({"a": ("c",), "b": ()}, "tool 'a' of agent 'main' comes after 'c', expected tools of the same agent"),
    ],
    ids=["cycle", "itself", "unknown"],
)
async def test_an_order_that_cannot_be_kept_is_refused_before_any_request(after: dict[str, tuple[str, ...]], says: str) -> None:
    desk = Desk()
    tools = [desk.tool(name, after=names) for name, names in after.items()]
    agent = Agent("main", model=ScriptedModel([never]), tools=tools)
    with pytest.raises(UserError, match=says):
        await Runner.run(agent, "go")
    with pytest.raises(UserError, match=says):
        await Runner.run(Agent("first", model=ScriptedModel([never]), handoffs=[agent]), "go")


async def test_tools_of_toolsets_that_wait_for_each_other_are_refused_when_they_are_offered() -> None:
    desk = Desk()
    registry = ToolRegistry[Any]([desk.tool("a", after=("b",)), desk.tool("b", after=("a", "absent"))])
    with pytest.raises(UserError, match="'a' -> 'b' -> 'a'"):
        await Runner.run(Agent("main", model=ScriptedModel([never]), toolsets=[registry]), "go")


async def test_a_renamed_toolset_keeps_its_order() -> None:
    desk = Desk()
    registry = ToolRegistry[Any]([desk.tool("write"), desk.tool("check", after=("write",))])
    calls = [call("fs_check", x=1), call("fs_write", x=1)]
    agent = Agent("main", model=ScriptedModel([calls, "done"]), toolsets=[registry.prefixed("fs_")])
    result = await Runner.run(agent, "go")
    assert result.final_output == "done" and desk.log == ["write1", "/write1", "check1", "/check1"]


def breaks(arguments: dict[str, Any]) -> str:
    raise KeyError("secret")


def counts(arguments: dict[str, Any]) -> Any:
    return 5


@pytest.mark.parametrize(
    ("resource", "error", "says"),
    [
        (breaks, CallbackError, "resource of tool 'read' raised KeyError"),
        (counts, UserError, "resource of tool 'read' returned 'int', expected the name of a resource, or None"),
    ],
)
async def test_a_resource_that_is_wrong_ends_the_run_before_anything_begins(
    resource: Any, error: type[Exception], says: str
) -> None:
    desk = Desk()
    with pytest.raises(error, match=says) as caught:
        await run([desk.tool("read", resource=resource)], call("read", x=1), call("read", x=2))
    assert desk.log == [] and "secret" not in str(caught.value)


async def later(arguments: dict[str, Any]) -> str:
    return "db"


@pytest.mark.parametrize(
    "make",
    [
        lambda: function_tool(print, sequential=1),  # type: ignore[call-overload]
        lambda: function_tool(print, after="write_file"),
        lambda: function_tool(print, after=("",)),
        lambda: function_tool(print, resource=""),
        lambda: function_tool(print, resource=later),  # type: ignore[call-overload]
    ],
)
def test_what_says_nothing_of_an_order_is_refused_where_it_is_given(make: Callable[[], object]) -> None:
    with pytest.raises(UserError, match="expected"):
        make()
