"""How the model is brought to its final output, and what becomes of one that does not fit."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import BaseModel

from agentsdk import (
    Agent,
    AgentOutputSchema,
    FunctionCallOutput,
    Message,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    UserError,
    function_tool,
    handoff,
)
from agentsdk.errors import InvalidOutputError, LimitExceededError
from agentsdk.models import Thinking
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import ToolRegistry
from agentsdk.types.items import FunctionCall, OutputText
from agentsdk.types.spec import OUTPUT_TOOL, OutputMode
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


class City(BaseModel):
    name: str
    people: int


class Unknown(BaseModel):
    why: str


ROME = City(name="Rome", people=2)
FITS = '{"name":"Rome","people":2}'
EVERY = get_args(OutputMode)


def output(**arguments: object) -> FunctionCall:
    return call(OUTPUT_TOOL, **arguments)


def agent_of(model: ScriptedModel, mode: OutputMode, kind: Any = City, **fields: Any) -> Agent[Any, Any]:
    return Agent("main", model=model, output_type=AgentOutputSchema(kind, mode=mode), **fields)


def told(request: ModelRequest) -> tuple[bool, bool, bool]:
    """Whether the model is told of the output by its adapter, by a tool, and by the instructions."""
    by_tool = any(tool.name == OUTPUT_TOOL for tool in request.tools)
    return request.output is not None, by_tool, '"people"' in request.instructions


@pytest.mark.parametrize(
    ("mode", "ways"),
    [
        ("native", (True, False, False)),
        ("json", (True, False, False)),
        ("tool", (False, True, False)),
        ("prompted", (False, False, True)),
    ],
)
async def test_the_model_is_told_in_one_way(mode: OutputMode, ways: tuple[bool, bool, bool]) -> None:
    model = ScriptedModel([output(name="Rome", people=2) if mode == "tool" else FITS])
    result = await Runner.run(agent_of(model, mode, instructions="Be exact."), "Rome?")
    assert result.final_output == ROME
    (request,) = model.requests
    assert told(request) == ways
    assert request.instructions.startswith("Be exact.")
    assert request.output is None or request.output.mode == mode


async def test_the_prompt_follows_what_the_run_adds() -> None:
    model = ScriptedModel([FITS])
    await Runner.run(agent_of(model, "prompted"), "Rome?", run_config=RunConfig(instructions="Be exact."))
    first, _, prompt = model.requests[0].instructions.partition("\n\n")
    assert first == "Be exact."
    assert prompt.startswith("Give your final answer as JSON")


# By a call


async def test_the_call_is_answered_and_ends_the_run() -> None:
    model = ScriptedModel([[Message("assistant", "Here it is."), output(name="Rome", people=2)]])
    result = await Runner.run(agent_of(model, "tool"), "Rome?")
    assert result.final_output == ROME
    assert [item["type"] for item in result.to_input_list()[1:]] == ["message", "function_call", "function_call_output"]
    assert "taken" in str(result.to_input_list()[-1]["output"])


async def test_a_call_that_does_not_fit_is_told_so_as_its_result() -> None:
    model = ScriptedModel([output(name="Rome"), output(name="Rome", people=2)])
    result = await Runner.run(agent_of(model, "tool"), "Rome?")
    assert (result.final_output, result.turns) == (ROME, 2)
    last = model.requests[1].items[-1]
    assert isinstance(last, FunctionCallOutput)
    assert last.is_error and "people: Field required" in str(last.output)


async def test_text_in_place_of_the_call_is_taken_if_it_fits() -> None:
    model = ScriptedModel(["Rome is nice.", FITS])
    result = await Runner.run(agent_of(model, "tool"), "Rome?")
    assert (result.final_output, result.turns) == (ROME, 2)
    last = model.requests[1].items[-1]
    assert isinstance(last, Message)
    assert last.text.endswith("Answer again, by calling the tool 'final_result'.")


@pytest.mark.parametrize("wrong", ["Rome is nice.", output(name="Rome")], ids=["text", "call"])
async def test_it_gives_up_when_the_retries_are_spent_and_can_be_resumed(wrong: Any) -> None:
    agent = agent_of(ScriptedModel([wrong, wrong, output(name="Rome", people=2)]), "tool")
    with pytest.raises(InvalidOutputError) as caught:
        await Runner.run(agent, "Rome?")
    assert caught.value.output == (wrong if isinstance(wrong, str) else wrong.arguments)
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(agent, reloaded(agent, caught.value.state))).final_output == ROME


async def test_other_calls_come_first_and_the_output_is_asked_for_again() -> None:
    world = World()
    both = [output(name="Paris", people=3), call("look", x=1)]
    model = ScriptedModel([both, output(name="Rome", people=2)])
    result = await Runner.run(agent_of(model, "tool", tools=[tool_of(world, "look")]), "Rome?")
    assert (result.final_output, sum(world.done.values())) == (ROME, 1)
    results = [item for item in model.requests[1].items if isinstance(item, FunctionCallOutput)]
    assert ["were other calls" in str(item.output) for item in results] == [True, False]


async def test_of_two_outputs_the_first_counts() -> None:
    model = ScriptedModel([[output(name="Rome", people=2), output(name="Paris", people=3)]])
    result = await Runner.run(agent_of(model, "tool"), "Rome?")
    assert result.final_output == ROME
    assert "another one before" in str(result.to_input_list()[-1]["output"])


async def test_a_handoff_comes_before_the_output() -> None:
    other = Agent("other", model=ScriptedModel(["by other"]))
    model = ScriptedModel([[output(name="Rome", people=2), call("transfer_to_other")]])
    result = await Runner.run(agent_of(model, "tool", handoffs=[handoff(other)]), "Rome?")
    assert result.final_output == "by other"


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        (ModelSettings(), "required"),
        (ModelSettings(tool_choice="auto"), "auto"),
        (ModelSettings(thinking="low"), None),
        (ModelSettings(thinking=Thinking(budget=2000)), None),
        (ModelSettings(thinking=False), "required"),
    ],
    ids=str,
)
async def test_the_model_must_call_unless_it_thinks(settings: ModelSettings, choice: str | None) -> None:
    model = ScriptedModel([output(name="Rome", people=2)])
    await Runner.run(agent_of(model, "tool", model_settings=settings), "Rome?")
    assert model.requests[0].settings.tool_choice == choice


async def test_a_last_answer_is_text_of_the_schema() -> None:
    model = ScriptedModel([call("look", x=1), FITS])
    config = RunConfig(limits=RunLimits(turns=1), on_limit="finalize")
    result = await Runner.run(agent_of(model, "tool", tools=[tool_of(World(), "look")]), "Rome?", run_config=config)
    assert result.final_output == ROME
    last = model.requests[-1]
    assert last.output is not None and last.output.mode == "native"
    assert last.settings.tool_choice == "none"


async def test_the_output_is_no_tool_call_to_the_limits() -> None:
    model = ScriptedModel([call("look", x=1), output(name="Rome", people=2)])
    config = RunConfig(limits=RunLimits(tool_calls=1))
    result = await Runner.run(agent_of(model, "tool", tools=[tool_of(World(), "look")]), "Rome?", run_config=config)
    assert result.final_output == ROME
    with pytest.raises(LimitExceededError):
        again = ScriptedModel([call("look", x=1), call("look", x=2)])
        await Runner.run(agent_of(again, "tool", tools=[tool_of(World(), "look")]), "Rome?", run_config=config)


async def test_it_is_shown_while_it_grows() -> None:
    model = ScriptedModel([[call("look", x=1), output(name="Oslo", people=1)], output(name="Rome by the sea", people=2)])
    run = Runner.run_streamed(agent_of(model, "tool", tools=[tool_of(World(), "look")]), "Rome?")
    shown: list[Any] = [value async for value in run.stream_output()]
    assert shown[-1] == {"name": "Rome by the sea", "people": 2}
    assert run.final_output == City(name="Rome by the sea", people=2)


@pytest.mark.parametrize("place", ["tools", "handoffs", "toolsets", "run"])
async def test_its_name_is_taken(place: str) -> None:
    taken = tool_of(World(), OUTPUT_TOOL)
    model = ScriptedModel([FITS])
    given: dict[str, Any] = {"tools": [taken], "toolsets": [ToolRegistry[Any]([taken])]}
    given["handoffs"] = [handoff(Agent("b"), tool_name_override=OUTPUT_TOOL)]
    fields = {place: given[place]} if place in given else {}
    config = RunConfig(tools=[taken] if place == "run" else ())
    with pytest.raises(UserError, match="'final_result', expected another name"):
        await Runner.run(agent_of(model, "tool", **fields), "go", run_config=config)
    native = Agent("main", model=ScriptedModel(["ok"]), **fields)
    assert (await Runner.run(native, "go", run_config=config)).final_output == "ok"


# Types


@pytest.mark.parametrize("mode", EVERY)
async def test_several_types_are_one_of_them(mode: OutputMode) -> None:
    said = {"response": {"why": "There is none."}}
    model = ScriptedModel([output(**said) if mode == "tool" else '{"response":{"why":"There is none."}}'])
    schema = AgentOutputSchema([City, Unknown], mode=mode)
    agent = Agent[None, City | Unknown]("main", model=model, output_type=schema)
    assert (await Runner.run(agent, "Atlantis?")).final_output == Unknown(why="There is none.")


async def test_an_agent_takes_a_list_of_types() -> None:
    model = ScriptedModel(['{"response":7}'])
    agent = Agent[None, City | int]("main", model=model, output_type=[City, int])
    assert (await Runner.run(agent, "go")).final_output == 7


async def test_text_may_be_given_by_a_call() -> None:
    result = await Runner.run(agent_of(ScriptedModel([output(response="hi")]), "tool", str), "go")
    assert result.final_output == "hi"


@pytest.mark.parametrize(
    "make",
    [
        lambda: AgentOutputSchema(City, mode="tools"),  # type: ignore[arg-type]
        lambda: AgentOutputSchema([]),
        lambda: AgentOutputSchema(["City", "Unknown"]),  # type: ignore[list-item]
        lambda: AgentOutputSchema(City, strict_json_schema=1),  # type: ignore[arg-type]
        lambda: Agent("main", output_type=["City"]),  # type: ignore[list-item]
        lambda: Agent("main", output_type=[]),
    ],
)
def test_what_is_no_type_or_mode_is_refused(make: Any) -> None:
    with pytest.raises(UserError, match=r"output_type|mode|strict_json_schema"):
        make()


async def test_a_final_tool_result_is_the_output_whatever_the_mode() -> None:
    @function_tool
    def find() -> City:
        """Find."""
        return ROME

    for mode in EVERY:
        agent = agent_of(ScriptedModel([call("find")]), mode, tools=[find], tool_use_behavior="stop_on_first_tool")
        assert (await Runner.run(agent, "go")).final_output == ROME


async def test_the_texts_of_a_message_are_read_as_one() -> None:
    parts = tuple(OutputText(text) for text in ('{"name":"Rome",', '"people":2}'))
    model = ScriptedModel([ModelResponse((Message("assistant", parts),))])
    assert (await Runner.run(agent_of(model, "prompted"), "go")).final_output == ROME
