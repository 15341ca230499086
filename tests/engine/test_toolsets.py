"""Toolsets in runs: asked once a turn, recorded where they changed, taken from the record on resume."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    FunctionTool,
    Inbox,
    Message,
    ModelRequest,
    ModelResponse,
    RunConfig,
    Runner,
    UserError,
    function_tool,
)
from agentsdk.errors import StateMismatchError, ToolsetError
from agentsdk.events import ToolsetChanged
from agentsdk.stores import MemoryRunStore
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import ToolRegistry, Toolset, ToolsetContext
from agentsdk.types.events import RunEvent

pytestmark = pytest.mark.anyio


def echo(name: str, **options: Any) -> FunctionTool[Any]:
    @function_tool(name_override=name, **options)
    def body(x: int = 0) -> str:
        """Say it again."""
        return f"{name} {x}"

    return body


class Turns(Toolset[Any]):
    """Offers the tools of the turn's number, and counts how often it was asked."""

    def __init__(self, *turns: Sequence[Any], name: str = "turns") -> None:
        self.name = name
        self.asked = 0
        self._turns = turns

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        self.asked += 1
        return self._turns[min(context.turn, len(self._turns)) - 1]

    async def find_tool(self, context: ToolsetContext[Any], name: str) -> FunctionTool[Any] | None:
        return next((tool for tools in self._turns for tool in tools if tool.name == name), None)


def names(request: ModelRequest) -> list[str]:
    return [tool.name for tool in request.tools]


def changes(log: Sequence[RunEvent]) -> list[tuple[list[str], tuple[str, ...]]]:
    return [([tool.name for tool in event.added], event.removed) for event in log if isinstance(event, ToolsetChanged)]


async def test_the_model_sees_what_the_toolset_offers_in_each_turn() -> None:
    a, b, c = echo("a"), echo("b"), echo("c")
    model = ScriptedModel([call("a", x=1), call("b", x=2), "done"])
    toolset = Turns([b, a], [a, c, b], [c])
    agent = Agent[None, str](name="A", model=model, tools=[echo("own")], toolsets=[toolset])
    result = await Runner.run(agent, "go")
    assert [names(request) for request in model.requests] == [["own", "b", "a"], ["own", "b", "a", "c"], ["own", "c"]]
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == ["a 1", "b 2"]
    assert changes(result.to_state().value.log) == [(["b", "a"], ()), (["c"], ()), ([], ("b", "a"))]


async def test_a_toolset_that_answers_the_same_is_recorded_once() -> None:
    model = ScriptedModel([call("a", x=1), call("a", x=2), "done"])
    toolset = Turns([echo("a")])
    result = await Runner.run(Agent[None, str](name="A", model=model, toolsets=[toolset]), "go")
    assert changes(result.to_state().value.log) == [(["a"], ())]
    assert toolset.asked == 3


async def test_an_equal_tool_made_anew_each_turn_is_no_change() -> None:
    class Fresh(Toolset[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
            return [echo("a")]

    model = ScriptedModel([call("a", x=1), "done"])
    result = await Runner.run(Agent[None, str](name="A", model=model, toolsets=[Fresh()]), "go")
    assert changes(result.to_state().value.log) == [(["a"], ())]


async def test_instructions_of_toolsets_and_of_the_run_follow_the_agents() -> None:
    model = ScriptedModel(["done"])
    registry = ToolRegistry[Any]([echo("a")], name="r", instructions="Use a.")
    agent = Agent[None, str](name="A", instructions="Be brief.", model=model, toolsets=[registry])
    await Runner.run(agent, "go", run_config=RunConfig(instructions="Today is Monday."))
    assert model.requests[0].instructions == "Be brief.\n\nUse a.\n\nToday is Monday."


async def test_tools_and_toolsets_of_a_run() -> None:
    model, inner = ScriptedModel([call("ask", input="x"), call("extra", x=3), "done"]), ScriptedModel(["inner"])
    nested = Agent[None, str](name="N", model=inner)
    agent = Agent[None, str](name="A", model=model, tools=[nested.as_tool("ask", "Ask.")])
    config = RunConfig(tools=[echo("extra")], toolsets=[Turns([echo("more")])])
    result = await Runner.run(agent, "go", run_config=config)
    assert result.final_output == "done"
    assert names(model.requests[0]) == ["ask", "extra", "more"]
    assert names(inner.requests[0]) == []


async def test_a_changed_registry_enters_at_the_next_turn() -> None:
    registry = ToolRegistry[Any](name="r")

    @registry.register
    def learn() -> str:
        """Learn a tool."""
        registry.register(echo("new"))
        return "learnt"

    model = ScriptedModel([[call("learn"), call("new", x=1)], call("new", x=2), "done"])
    result = await Runner.run(Agent[None, str](name="A", model=model, toolsets=[registry]), "go")
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs == ["Error: there is no tool named 'new'. Tools there are: learn.", "learnt", "new 2"]


async def test_the_turn_that_a_toolset_is_told_is_that_of_the_call() -> None:
    turns: list[int] = []

    class Found(Turns):
        async def find_tool(self, context: ToolsetContext[Any], name: str) -> FunctionTool[Any] | None:
            turns.append(context.turn)
            return await super().find_tool(context, name)

    toolset = Found([echo("free")], [echo("free"), echo("pay", needs_approval=True)])
    agent = Agent[None, str](name="A", model=ScriptedModel([call("free"), call("pay"), "done"]), toolsets=[toolset])
    state = (await Runner.run(agent, "go")).to_state()
    state.approve(state.interruptions[0])
    await Runner.run(agent, state)
    assert turns == [2]


async def test_an_approved_call_of_a_toolset_runs_in_another_process() -> None:
    def made(asked: list[str]) -> tuple[Agent[None, str], Turns]:
        toolset = Turns([echo("pay", needs_approval=True), echo("free")])
        return Agent[None, str](
            name="A", model=ScriptedModel([[call("free", x=1), call("pay", x=2)], "done"]), toolsets=[toolset]
        ), toolset

    store = MemoryRunStore()
    agent, toolset = made([])
    paused = await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r"))
    [item] = paused.interruptions
    assert item.tool_name == "pay"
    state = paused.to_state()
    other, elsewhere = made([])
    other.model = ScriptedModel(["done"])
    state.approve(item)
    result = await Runner.run(other, state, run_config=RunConfig(store=store))
    assert [item.output for item in result.new_items if item.type == "tool_call_output_item"] == ["free 1", "pay 2"]
    assert (toolset.asked, elsewhere.asked) == (1, 1)  # elsewhere only for the turn after


async def test_a_toolset_that_lost_the_tool_of_an_approved_call_says_so() -> None:
    toolset = Turns([echo("pay", needs_approval=True)])
    agent = Agent[None, str](name="A", model=ScriptedModel([call("pay", x=2)]), toolsets=[toolset])
    paused = await Runner.run(agent, "go")
    state = paused.to_state()
    state.approve(paused.interruptions[0])
    agent.toolsets = [Turns([echo("other")])]
    with pytest.raises(StateMismatchError, match="'pay', which agent 'A' no longer has"):
        await Runner.run(agent, state)


async def test_a_tool_that_changed_while_its_approval_waited_is_asked_for_again() -> None:
    agent = Agent[None, str](
        name="A", model=ScriptedModel([call("pay", x=2), "done"]), toolsets=[Turns([echo("pay", needs_approval=True)])]
    )
    paused = await Runner.run(agent, "go")
    state = paused.to_state()
    state.approve(paused.interruptions[0])
    agent.toolsets = [Turns([echo("pay", needs_approval=True, effect="idempotent")])]
    again = await Runner.run(agent, state)
    assert [item.tool_name for item in again.interruptions] == ["pay"]


async def test_replay_asks_no_toolset() -> None:
    toolset = Turns([echo("a")], [echo("b")])
    agent = Agent[None, str](name="A", model=ScriptedModel([call("a", x=1), call("b", x=1), "done"]), toolsets=[toolset])
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await Runner.run(agent, "go", run_config=config)
    asked = toolset.asked
    replayed = await Runner.replay(agent, "r", run_config=config)
    assert replayed.divergence is None
    assert replayed.turns == 3
    assert toolset.asked == asked


async def test_a_replay_with_changes_reuses_what_toolsets_gave() -> None:
    model = ScriptedModel([call("a", x=1), "done", call("a", x=1), "done"])

    def made(text: str) -> Agent[None, str]:
        registry = ToolRegistry[Any]([echo("a")], name="r", instructions=text)
        return Agent[None, str](name="A", model=model, toolsets=[registry])

    config = RunConfig(store=MemoryRunStore(), run_id="r", instructions="Go.")
    await Runner.run(made("Use a."), "go", run_config=config)
    same = await Runner.replay(made("Use a."), "r", change=made("Use a."), run_config=config)
    assert (same.divergence, same.reused, same.asked) == (None, 2, 0)
    other = await Runner.replay(made("Use a."), "r", change=made("Use b."), run_config=config)
    assert other.divergence is not None
    assert "instructions" in str(other.divergence)


async def test_a_tool_that_a_filter_hid_is_refused() -> None:
    def hide(request: ModelRequest) -> ModelRequest:
        return structs.replace(request, tools=tuple(tool for tool in request.tools if tool.name == "add"))

    ran: list[str] = []

    @function_tool
    def find() -> str:
        ran.append("find")
        return "found"

    model = ScriptedModel([[call("find"), call("add", x=1)], "done"])
    agent = Agent[None, str](name="A", model=model, tools=[find, echo("add")])
    config = RunConfig(call_model_input_filter=hide, store=MemoryRunStore(), run_id="r")
    result = await Runner.run(agent, "go", run_config=config)
    hidden, shown = [item for item in result.new_items if item.type == "tool_call_output_item"]
    assert ran == []
    assert "'find'" in str(hidden.output)
    assert shown.output == "add 1"
    assert (await Runner.replay(agent, "r", run_config=config)).divergence is None


class Raises(Toolset[Any]):
    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        raise self._error


class Hangs(Toolset[Any]):
    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        await asyncio.Event().wait()
        raise AssertionError


class Gives(Toolset[Any]):
    def __init__(self, given: Any, text: Any = "") -> None:
        self._given, self._text = given, text

    async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
        return self._given

    async def get_instructions(self, context: ToolsetContext[Any]) -> str:
        return self._text


nested = Agent[None, str](name="N")


@pytest.mark.parametrize(
    ("toolset", "says"),
    [
        (Raises(ValueError("secret")), "toolset 'tools' raised ValueError in get_tools"),
        (Raises(TimeoutError()), "toolset 'tools' raised TimeoutError in get_tools"),
        (Hangs(), r"toolset 'tools' did not answer get_tools within 0.01 seconds"),
        (Gives(None), "gave a 'NoneType', expected a list of tools"),
        (Gives("tools"), "gave a 'str', expected a list of tools"),
        (Gives([len]), "offers a 'builtin_function_or_method', expected tools"),
        (Gives([nested.as_tool("n", "Ask.")]), "offers agent 'N' as a tool"),
        (Gives([], 3), "gave a 'int' as its instructions"),
    ],
)
async def test_a_toolset_that_fails_is_a_typed_error_from_which_the_run_goes_on(toolset: Toolset[Any], says: str) -> None:
    agent = Agent[None, str](name="A", model=ScriptedModel(["done"]), toolsets=[toolset])
    with pytest.raises(ToolsetError, match=says) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(toolset_timeout=0.01))
    assert "secret" not in str(caught.value)
    agent.toolsets = []
    assert caught.value.state is not None
    assert (await Runner.run(agent, caught.value.state)).final_output == "done"


async def test_a_cancelled_run_cancels_the_toolset_it_waits_for() -> None:
    agent = Agent[None, str](name="A", model=ScriptedModel(["done"]), toolsets=[Hangs()])
    run = asyncio.create_task(Runner.run(agent, "go"))
    for _ in range(20):
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


@pytest.mark.parametrize(
    ("tools", "toolsets", "of_run", "says"),
    [
        ([], [Gives([echo("a"), echo("a")])], {}, "toolset 'tools' offers two tools named 'a'"),
        ([echo("a")], [Gives([echo("a")])], {}, "two tools named 'a', by the agent and by toolset 'tools'"),
        ([echo("a")], [], {"tools": [echo("a")]}, r"two tools named 'a', by the agent and by RunConfig\(tools=...\)"),
        ([], [], {"tools": [echo("a"), echo("a")]}, r"two tools named 'a', by RunConfig\(tools=...\) and by RunConfig"),
        ([], [Turns([echo("a")]), Gives([echo("a")])], {}, "by toolset 'turns' and by toolset 'tools'"),
        ([], [Gives([]), Gives([])], {}, "two toolsets named 'tools'"),
        ([], [Gives([])], {"toolsets": [Gives([])]}, "two toolsets named 'tools'"),
    ],
)
async def test_names_that_clash_are_refused(
    tools: list[FunctionTool[Any]], toolsets: list[Toolset[Any]], of_run: dict[str, Any], says: str
) -> None:
    model = ScriptedModel(["done"])
    agent = Agent[None, str](name="A", model=model, tools=tools, toolsets=toolsets)
    with pytest.raises(UserError, match=says):
        await Runner.run(agent, "go", run_config=RunConfig(**of_run))
    assert model.requests == []


async def test_what_is_no_toolset_is_refused_where_it_is_given() -> None:
    with pytest.raises(UserError, match=r"agent 'A' has toolsets\[0\]=.*expected a Toolset"):
        Agent[None, str](name="A", toolsets=[echo("a")])  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"RunConfig\(toolsets=.*expected"):
        RunConfig(toolsets=3)  # type: ignore[arg-type]


async def test_a_toolset_is_given_the_run() -> None:
    seen: list[tuple[object, ...]] = []

    class Looks(Toolset[str]):
        async def get_tools(self, context: ToolsetContext[str]) -> Sequence[FunctionTool[str]]:
            seen.append(
                (context.context, context.agent.name, context.turn, len(context.items), list(context.offered), context.run_id)
            )
            return [echo("a")]

    agent = Agent[str, str](name="A", model=ScriptedModel([call("a", x=1), "done"]), toolsets=[Looks()])
    await Runner.run(agent, "go", context="ctx", run_config=RunConfig(run_id="r"))
    assert seen == [("ctx", "A", 1, 1, [], "r"), ("ctx", "A", 2, 3, ["a"], "r")]


async def test_a_last_answer_is_asked_with_the_toolsets_tools() -> None:
    model = ScriptedModel([call("a", x=1), ModelResponse((), finish="stop"), "done"])
    agent = Agent[None, str](name="A", model=model, toolsets=[Turns([echo("a")])])
    assert (await Runner.run(agent, "go")).final_output == "done"
    assert names(model.requests[2]) == ["a"]


async def test_what_a_toolset_notes_is_recorded_and_given_to_it_again() -> None:
    seen: list[str] = []

    class Notes(Toolset[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
            seen.append(context.note)
            context.note = ["first", "first", "second"][context.turn - 1]
            return [echo("a")]

    toolset = Notes().prefixed("my_")
    agent = Agent[None, str](name="A", model=ScriptedModel([call("my_a", x=1), call("my_a", x=2), "done"]), toolsets=[toolset])
    result = await Runner.run(agent, "go")
    assert seen == ["", "first", "first"]
    events = [event for event in result.to_state().value.log if isinstance(event, ToolsetChanged)]
    assert [(len(event.added), event.note) for event in events] == [(1, "first"), (0, "second")]


async def test_a_note_that_is_no_text_is_refused() -> None:
    class Notes(Toolset[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
            context.note = 3  # type: ignore[assignment]
            return []

    with pytest.raises(ToolsetError, match="set a 'int' as its note, expected a text"):
        await Runner.run(Agent[None, str](name="A", model=ScriptedModel(["done"]), toolsets=[Notes()]), "go")


async def test_a_message_that_has_arrived_is_seen_by_the_toolset_of_its_turn() -> None:
    seen: list[list[str]] = []

    class Looks(Toolset[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
            seen.append([item.text for item in context.items if isinstance(item, Message)])
            return [echo("a")]

    inbox = Inbox()

    def say(request: ModelRequest) -> Any:
        inbox.put("hurry")
        return call("a", x=1)

    agent = Agent[None, str](name="A", model=ScriptedModel([say, "done"]), toolsets=[Looks()])
    await Runner.run(agent, "go", run_config=RunConfig(inbox=inbox))
    assert seen == [["go"], ["go", "hurry"]]


@pytest.mark.parametrize("kind", [tuple, list])
async def test_tools_that_change_in_place_are_offered_as_they_are(kind: Any) -> None:
    a, b = echo("a"), echo("b")
    given = [[a], [a, b], [b, a], [b]]

    class Gives(Toolset[Any]):
        tools: list[Any] = []

        async def get_tools(self, context: ToolsetContext[Any]) -> Sequence[FunctionTool[Any]]:
            self.tools[:] = given[context.turn - 1]
            return kind(self.tools) if kind is tuple else self.tools

    model = ScriptedModel([call("a"), call("a"), call("b"), "done"])
    await Runner.run(Agent[None, str](name="A", model=model, toolsets=[Gives()]), "go")
    assert [names(request) for request in model.requests] == [["a"], ["a", "b"], ["a", "b"], ["b"]]
