"""An agent as a tool with typed input, a session and hooks of its own."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_serializer, field_validator
from typing_extensions import TypedDict

from agentsdk import (
    Agent,
    AgentHooks,
    MemoryRunStore,
    MemorySession,
    Message,
    ModelRequest,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    RunState,
    Session,
    ToolCallOutputItem,
    ToolContext,
    Usage,
    UserError,
)
from agentsdk.core.codec import decode_events
from agentsdk.core.state import fold
from agentsdk.errors import CallbackError, SessionError
from agentsdk.events import ResponseCompleted
from agentsdk.items import FunctionCall, FunctionCallOutput, InputItem, Item
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import to_response
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


@dataclass
class Trip:
    city: str
    days: int = 3


class Report(BaseModel):
    """Words that the tool has of its own."""

    about: Trip
    tone: str = Field(description="dry or warm", alias="inTone")

    @field_validator("tone")
    @classmethod
    def known(cls, tone: str) -> str:
        if tone not in ("dry", "warm"):
            raise ValueError("no such tone")
        return tone


class Point(TypedDict):
    x: int


def helper(*replies: Any, **fields: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel(replies or ["helped"] * 9)
    return Agent("helper", model=model, **fields), model


def caller(tool: Any, *replies: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel([*replies, "done"])
    return Agent("main", model=model, tools=[tool]), model


def given(model: ScriptedModel, request: int = 0) -> list[object]:
    return [item.content for item in model.requests[request].all_items if isinstance(item, Message)]


async def asked(arguments: dict[str, Any], *replies: Any, **options: Any) -> tuple[list[object], str]:
    """What the nested run was given for these arguments, and the call's result."""
    agent, model = helper(*replies)
    main, _ = caller(agent.as_tool(**options), call("helper", **arguments))
    result = await Runner.run(main, "go")
    output = next(item.output for item in result.new_items if isinstance(item, ToolCallOutputItem))
    return given(model) if model.requests else [], str(output)


async def test_the_schema_of_a_type_becomes_the_tools() -> None:
    agent, _ = helper()
    assert agent.as_tool(parameters=Trip).params_json_schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "description": "Default: 3"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    schema = agent.as_tool(parameters=Report).params_json_schema
    assert set(schema["properties"]) == {"about", "inTone"}
    assert "description" not in schema
    assert agent.as_tool(parameters=Point).params_json_schema["required"] == ["x"]
    assert agent.as_tool().params_json_schema["required"] == ["input"]


async def test_without_a_builder_the_input_is_the_text_or_the_object_as_json() -> None:
    assert await asked({"input": "Where?"}) == (["Where?"], "helped")
    assert (await asked({"city": "Zürich"}, parameters=Trip))[0] == ['{\n  "city": "Zürich",\n  "days": 3\n}']
    report = {"about": {"city": "Rome", "days": 1}, "inTone": "dry"}
    (text,), _ = await asked(report, parameters=Report)
    assert text == '{\n  "about": {\n    "city": "Rome",\n    "days": 1\n  },\n  "inTone": "dry"\n}'
    assert (await asked({"x": 4}, parameters=Point))[0] == ['{\n  "x": 4\n}']


async def test_a_builder_gets_the_context_and_the_object_and_gives_text_or_items() -> None:
    seen: list[tuple[str, object]] = []

    def text(context: ToolContext[Any], trip: Trip) -> str:
        seen.append((context.tool_name, trip))
        return f"{trip.days} days in {trip.city}"

    async def items(context: ToolContext[Any], trip: Trip) -> list[InputItem]:
        await asyncio.sleep(0)
        return [Message("user", "Plan this."), {"role": "user", "content": trip.city}]

    def louder(context: ToolContext[Any], asked: str) -> str:
        return asked.upper()

    assert (await asked({"city": "Rome", "days": 2}, parameters=Trip, input_builder=text))[0] == ["2 days in Rome"]
    assert seen == [("helper", Trip("Rome", 2))]
    assert (await asked({"city": "Rome"}, parameters=Trip, input_builder=items))[0] == ["Plan this.", "Rome"]
    assert (await asked({"input": "hey"}, input_builder=louder))[0] == ["HEY"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"days": 2}, "city: Field required"),
        ({"city": "Rome", "days": "2"}, "days: Input should be a valid integer"),
        ({"city": "Rome", "day": 2}, "day: unknown, expected only ['city', 'days']"),
        ({"city": 5, "day": 2}, "city: Input should be a valid string"),
    ],
)
async def test_arguments_that_do_not_fit_go_to_the_model(arguments: dict[str, Any], problem: str) -> None:
    inputs, told = await asked(arguments, parameters=Trip)
    assert inputs == []
    assert problem in told


async def test_what_a_validator_says_goes_to_the_model() -> None:
    wrong = {"about": {"city": "Rome", "days": 1}, "inTone": "loud"}
    inputs, told = await asked(wrong, parameters=Report)
    assert inputs == [] and "inTone: Value error, no such tone" in told


class Unwritable(BaseModel):
    x: int

    @field_serializer("x")
    def never(self, x: int) -> int:
        raise ConnectionError("no")


class Free(BaseModel):
    values: dict[str, Any]


class Shapeless:
    pass


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (Shapeless, "parameters=Shapeless of an agent as a tool has no JSON schema"),
        (str, "parameters=str of an agent as a tool has no fields"),
        (Free, "parameters=Free of an agent as a tool has no strict JSON schema"),
    ],
)
async def test_a_type_without_a_schema_is_refused_before_any_request(parameters: Any, message: str) -> None:
    agent, _ = helper()
    main, model = caller(agent.as_tool(parameters=parameters))
    with pytest.raises(UserError, match=re.escape(message)):
        await Runner.run(main, "go")
    assert model.requests == []


def raising(context: ToolContext[Any], given: Any) -> str:
    raise ConnectionError("gone")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_builder": raising}, "input_builder of tool 'helper' raised ConnectionError"),
        ({"input_builder": lambda context, given: None}, "input_builder of tool 'helper' returned what is no input"),
        ({"input_builder": lambda context, given: [5]}, "input_builder of tool 'helper' returned what is no input"),
        ({"input_builder": lambda context, given: []}, "input_builder of tool 'helper' returned no items"),
        ({"parameters": Unwritable}, "an object of 'Unwritable' could not be written as JSON (PydanticSerializationError)"),
        ({"session": lambda context: raising(context, 1)}, "session of tool 'helper' raised ConnectionError"),
        ({"session": lambda context: "s"}, "session of tool 'helper' returned 'str', expected a Session"),
    ],
)
async def test_a_callable_that_fails_stops_the_run_which_goes_on_once_it_does_not(
    options: dict[str, Any], message: str
) -> None:
    agent, model = helper()
    arguments: dict[str, Any] = {"x": 1} if "parameters" in options else {"input": "hey"}
    main, _ = caller(agent.as_tool(**options), call("helper", **arguments))
    with pytest.raises(CallbackError, match=re.escape(message)) as caught:
        await Runner.run(main, "go")
    assert isinstance(caught.value.state, RunState) and model.requests == []
    parameters = options.get("parameters")
    main.tools = [agent.as_tool(parameters=parameters, input_builder=lambda context, given: "built", session=None)]
    assert (await Runner.run(main, caught.value.state)).final_output == "done"
    assert given(model) == ["built"]


async def test_the_input_is_recorded_so_a_resumed_run_asks_no_builder() -> None:
    built: Counter[str] = Counter()

    def build(context: ToolContext[Any], trip: Trip) -> str:
        built[context.tool_call_id] += 1
        return f"{trip.city}, asked {built[context.tool_call_id]} times"

    world = World()
    agent, model = helper(call("dig", x=1), "dug", tools=[tool_of(world, "dig", needs_approval=True)])
    main, _ = caller(agent.as_tool(parameters=Trip, input_builder=build), call("helper", city="Rome", days=1))
    state = (await Runner.run(main, "go")).to_state()
    state.approve(state.interruptions[0])
    result = await Runner.run(main, reloaded(main, state))
    assert result.final_output == "done"
    assert set(built.values()) == {1}
    assert given(model, 1)[0] == "Rome, asked 1 times"


async def test_edited_arguments_are_checked_by_the_type() -> None:
    agent, model = helper()
    tool = agent.as_tool(parameters=Trip, needs_approval=True)
    main, _ = caller(tool, call("helper", city="Rome", days=1))
    state = (await Runner.run(main, "go")).to_state()
    state.approve(state.interruptions[0], arguments={"city": "Paris", "days": 2})
    assert (await Runner.run(main, state)).final_output == "done"
    assert given(model) == ['{\n  "city": "Paris",\n  "days": 2\n}']


async def test_one_builders_source_is_part_of_what_an_approval_is_for() -> None:
    agent, _ = helper()
    assert agent.as_tool(input_builder=raising).fingerprint != agent.as_tool().fingerprint


# A session of its own.


async def test_the_nested_run_goes_on_with_its_session_and_is_added_to_it() -> None:
    session = MemorySession("helper's")
    world = World()
    agent, model = helper("first", call("dig", x=1), "second", tools=[tool_of(world, "dig")])
    main, _ = caller(agent.as_tool(session=session), call("helper", input="one"), call("helper", input="two"))
    await Runner.run(main, "go")
    assert given(model, 1) == ["one", "first", "two"]
    items = await session.get_items()
    assert [item.content for item in items if isinstance(item, Message)] == ["one", "first", "two", "second"]
    assert [type(item) for item in items[3:5]] == [FunctionCall, FunctionCallOutput]


async def test_a_callable_gives_each_call_its_session_or_none() -> None:
    sessions = {"Ann": MemorySession("ann")}

    async def of_user(context: ToolContext[str]) -> Session | None:
        await asyncio.sleep(0)
        return sessions.get(context.context)

    agent, model = helper()
    tool = agent.as_tool(session=of_user)
    for user in ("Ann", "Bob", "Ann"):
        main, _ = caller(tool, call("helper", input=f"by {user}"))
        await Runner.run(main, "go", context=user)
    assert [given(model, request) for request in range(3)] == [["by Ann"], ["by Bob"], ["by Ann", "helped", "by Ann"]]


async def test_calls_of_a_reply_follow_each_other_on_a_session() -> None:
    agent, model = helper()
    tool = agent.as_tool(session=MemorySession("helper's"))
    main, _ = caller(tool, [call("helper", input="one"), call("helper", input="two")])
    await Runner.run(main, "go")
    assert [given(model, request) for request in range(2)] == [["one"], ["one", "helped", "two"]]
    assert tool.clone(resource="mine").resource == "mine"


async def test_calls_of_two_agents_on_one_session_follow_each_other() -> None:
    session = MemorySession("shared")
    (first, _), (second, model) = helper("done"), helper("done")
    tools = [first.as_tool(session=session), second.as_tool("other").clone(session=session)]
    main = Agent("main", model=ScriptedModel([[call("helper", input="one"), call("other", input="two")], "done"]), tools=tools)
    await Runner.run(main, "go")
    assert [item.text for item in model.requests[0].items if isinstance(item, Message)] == ["one", "done", "two"]


async def test_a_run_that_waits_has_its_turns_in_the_session_and_adds_the_rest() -> None:
    session, world = MemorySession("helper's"), World()
    tools = [tool_of(world, "dig"), tool_of(world, "sell", needs_approval=True)]
    agent, _ = helper(call("dig", x=1), call("sell", x=1), "sold", tools=tools)
    main, _ = caller(agent.as_tool(session=session), call("helper", input="one"))
    state = (await Runner.run(main, "go")).to_state()
    assert [type(item) for item in await session.get_items()] == [Message, FunctionCall, FunctionCallOutput]
    state.approve(state.interruptions[0])
    await Runner.run(main, reloaded(main, state))
    names = [type(item) for item in await session.get_items()]
    assert names == [Message, FunctionCall, FunctionCallOutput, FunctionCall, FunctionCallOutput, Message]


async def test_a_nested_run_that_failed_leaves_its_whole_turns_in_the_session() -> None:
    session, world = MemorySession("helper's"), World()
    agent, _ = helper(call("dig", x=1), call("dig", x=2), tools=[tool_of(world, "dig")])
    main, _ = caller(agent.as_tool(session=session, max_turns=1), call("helper", input="one"))
    result = await Runner.run(main, "go")
    assert result.final_output == "done"
    assert [type(item) for item in await session.get_items()] == [Message, FunctionCall, FunctionCallOutput]


class Breaking(MemorySession):
    """Fails at its `at`-th operation, before or after it has done it."""

    def __init__(self, at: int, after: bool) -> None:
        super().__init__("helper's")
        self.at = at
        self.after = after

    async def get_items(self, limit: int | None = None) -> list[Item]:
        self._step(False)
        items = await super().get_items(limit)
        self._step(True)
        return items

    async def add_items(self, items: Sequence[InputItem]) -> None:
        self._step(False)
        await super().add_items(items)
        self._step(True)

    def _step(self, after: bool) -> None:
        if after == self.after:
            self.at -= 1
            if self.at == 0:
                raise OSError("the disk is gone")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 7))
async def test_whatever_operation_fails_nothing_is_lost_or_there_twice(at: int, after: bool) -> None:
    session, world = Breaking(at, after), World()
    tools = [tool_of(world, "dig", needs_approval=True)]
    agent, _ = helper("first", call("dig", x=1), "second", tools=tools)
    main, _ = caller(agent.as_tool(session=session), call("helper", input="one"), call("helper", input="two"))
    given: Any = "go"
    for _ in range(5):
        try:
            result = await Runner.run(main, given)
        except SessionError as error:
            assert isinstance(error.state, RunState)
            given = reloaded(main, error.state)
            continue
        given = result.to_state()
        if not given.interruptions:
            break
        given = reloaded(main, given)
        given.approve(given.interruptions[0])
    assert result.final_output == "done"
    items = await session.get_items()
    assert [item.content for item in items if isinstance(item, Message)] == ["one", "first", "two", "second"]
    assert world.done.total() == 1


async def test_a_replay_leaves_the_session_alone_and_one_with_changes_has_its_history() -> None:
    session = MemorySession("helper's")
    await session.add_items([Message("user", "before"), Message("assistant", "yes")])
    agent, model = helper("first", "second", "third")
    main, _ = caller(agent.as_tool(session=session), call("helper", input="one"), call("helper", input="two"))
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    await Runner.run(main, "go", run_config=config)
    held = await session.get_items()
    assert len(held) == 6
    assert (await Runner.replay(main, "r", run_config=config)).divergence is None
    same = await Runner.replay(main, "r", change=main.clone(), run_config=config)
    assert same.divergence is None and same.asked == 0
    changed = agent.clone(instructions="Be brief.")
    twin = main.clone(tools=[changed.as_tool(session=session)])
    replayed = await Runner.replay(main, "r", change=twin, run_config=config)
    assert replayed.asked >= 1
    assert given(model, 2) == ["before", "yes", "one"]
    assert await session.get_items() == held


# Hooks of its own.


class Told(RunHooks[Any]):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_agent_start(self, context: RunContextWrapper[Any], agent: Agent[Any, Any]) -> None:
        self.seen.append(f"start {agent.name}")

    async def on_agent_end(self, context: RunContextWrapper[Any], agent: Agent[Any, Any], output: Any) -> None:
        self.seen.append(f"end {agent.name}")

    async def on_tool_end(self, context: ToolContext[Any], agent: Agent[Any, Any], tool: Any, result: object) -> None:
        self.seen.append(f"{tool.name} of {agent.name}")


class ToldAgent(AgentHooks[Any]):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_start(self, context: RunContextWrapper[Any], agent: Agent[Any, Any]) -> None:
        self.seen.append("start")

    async def on_end(self, context: RunContextWrapper[Any], agent: Agent[Any, Any], output: Any) -> None:
        self.seen.append("end")


async def test_hooks_are_told_of_the_nested_run_and_what_is_nested_in_it() -> None:
    whole, own, its = Told(), Told(), ToldAgent()
    inner = Agent("inner", model=ScriptedModel(["in"]))
    agent, _ = helper(call("inner", input="x"), "helped", tools=[inner.as_tool()], hooks=its)
    main, _ = caller(agent.as_tool(hooks=own), call("helper", input="x"))
    await Runner.run(main, "go", hooks=whole)
    nested = ["start helper", "start inner", "end inner", "inner of helper", "end helper"]
    assert own.seen == nested
    assert whole.seen == ["start main", *nested, "helper of main", "end main"]
    assert its.seen == ["start", "end"]


async def test_no_hook_is_told_again_on_resume() -> None:
    own, world = Told(), World()
    agent, _ = helper(call("dig", x=1), "dug", tools=[tool_of(world, "dig", needs_approval=True)])
    main, _ = caller(agent.as_tool(hooks=own), call("helper", input="x"))
    state = (await Runner.run(main, "go")).to_state()
    state.approve(state.interruptions[0])
    await Runner.run(main, reloaded(main, state))
    assert own.seen == ["start helper", "dig of helper", "end helper"]


class Seen(MemorySession):
    """Notes the run's log and its own items after each operation, which are what a process killed there leaves."""

    def __init__(self, left: list[tuple[list[bytes], list[Item]]], store: MemoryRunStore) -> None:
        super().__init__("helper's")
        self._left = left
        self._store = store

    async def note(self) -> None:
        self._left.append((await self._store.read("r"), await self.get_items()))

    async def add_items(self, items: Sequence[InputItem]) -> None:
        await super().add_items(items)
        await self.note()


@pytest.mark.parametrize("durability", ["sync", "batch"])
async def test_killed_anywhere_its_session_holds_everything_once(durability: Any) -> None:
    left: list[tuple[list[bytes], list[Item]]] = []

    class Store(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: Any) -> int:
            posted = await super().append(run_id, expected_rev, events, summary)
            await session.note()
            return posted

    store = Store()
    session = Seen(left, store)
    dig = tool_of(World(), "dig", "none")

    def agents(session: MemorySession) -> Agent[Any, Any]:
        agent = Agent("helper", model=Answering({1: "first", 3: call("dig", x=1), 5: "second"}), tools=[dig])
        replies = {1: call("helper", input="one"), 3: call("helper", input="two"), 5: "done"}
        return Agent("main", model=Answering(replies), tools=[agent.as_tool(session=session)])

    config = RunConfig(store=store, run_id="r", durability=durability)
    await Runner.run(agents(session), "go", run_config=config)
    whole = await session.get_items()
    assert [item.content for item in whole if isinstance(item, Message)] == ["one", "first", "two", "second"]
    assert len(left) > 6
    for records, items in left:
        again = MemorySession("helper's")
        await again.add_items(items)
        result = await Runner.run(agents(again), RunState(fold(decode_events(records))))
        assert result.final_output == "done"
        assert await again.get_items() == whole


class Answering:
    """A model whose reply follows from how many items it is sent."""

    name = "answering"

    def __init__(self, replies: dict[int, Any]) -> None:
        self._replies = replies

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        yield ResponseCompleted(to_response(self._replies[len(request.all_items)], len(request.all_items), Usage(1, 1, 1)))


def test_a_schema_without_a_type_is_refused() -> None:
    agent, _ = helper()
    with pytest.raises(UserError, match="tool 'helper' runs an agent, so it takes no params_json_schema"):
        agent.as_tool().clone(params_json_schema={"type": "object", "properties": {"x": {"type": "string"}}})
