"""`ToolCallingModel`: every tool is called with arguments that fit it, and the final answer fits the output type."""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from agentsdk import Agent, AgentOutputSchema, ModelSettings, RunConfig, Runner, UserError, function_tool
from agentsdk.testing import ToolCallingModel
from agentsdk.testing.example_values import example_of
from agentsdk.types.items import FunctionCall

pytestmark = pytest.mark.anyio


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.5


class Leaf(BaseModel):
    name: str
    weight: Annotated[float, Field(ge=1, le=2)]


class Tree(BaseModel):
    leaf: Leaf
    branches: list[Tree] = []


class Movie(TypedDict):
    title: str
    year: int


PLAIN = [
    *(str, int, float, bool, None, date, datetime, timedelta, UUID, Color, Point, Leaf, Tree, Movie),
    Literal["a", "b", 3],
    Annotated[int, Field(gt=3, lt=5)],
    Annotated[int, Field(ge=-7, multiple_of=5)],
    Annotated[float, Field(gt=0, lt=0.001)],
    Annotated[str, Field(min_length=30)],
    Annotated[str, Field(max_length=2)],
    Annotated[str, Field(pattern="^[A-Z]{3}$")],
]
types = st.recursive(
    st.sampled_from(PLAIN),
    lambda inner: st.one_of(
        inner.map(lambda one: list[one]),  # type: ignore[valid-type]
        inner.map(lambda one: Annotated[list[one], Field(min_length=2, max_length=3)]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda two: two[0] | two[1] if two[0] is not None and _joins(two) else two[0]),
        st.tuples(inner, inner).map(lambda two: tuple[two[0], two[1]]),  # type: ignore[valid-type]
    ),
    max_leaves=4,
)


def _joins(two: tuple[Any, Any]) -> bool:
    try:
        _ = two[0] | two[1]
    except TypeError:
        return False
    return True


@given(kinds=st.lists(types, min_size=1, max_size=4), seed=st.integers(0, 1_000))
def test_arguments_of_any_function_fit_it(kinds: list[Any], seed: int) -> None:
    def body(**arguments: object) -> str:
        return ""

    parameters = ", ".join(f"p{n}: kinds[{n}]" for n in range(len(kinds)))
    scope: dict[str, Any] = {"kinds": kinds}
    exec(f"def body({parameters}) -> str:\n    return ''", scope)
    tool = function_tool(scope["body"], strict_mode=False)
    arguments = example_of(tool.params_json_schema, random.Random(seed), "tool")
    tool.bind(arguments)
    assert arguments == example_of(tool.params_json_schema, random.Random(seed), "tool")


@given(kind=types, seed=st.integers(0, 1_000))
def test_an_answer_of_any_type_fits_it(kind: Any, seed: int) -> None:
    import msgspec

    schema = AgentOutputSchema[Any](kind, strict_json_schema=False)
    if schema.spec is not None:
        value = example_of(schema.spec.schema, random.Random(seed), "output")
        schema.validate(msgspec.json.encode(value).decode())


ran: list[tuple[str, object]] = []


@function_tool(effect="none")
def measure(point: Point, color: Color) -> str:
    ran.append(("measure", (type(point).__name__, color)))
    return "measured"


@function_tool(effect="none")
def wait(seconds: Annotated[int, Field(ge=1, le=3)]) -> str:
    ran.append(("wait", 1 <= seconds <= 3))
    return "waited"


async def test_a_run_calls_every_tool_and_ends_with_its_type() -> None:
    ran.clear()
    model = ToolCallingModel()
    result = await Runner.run(Agent("main", model=model, tools=[measure, wait], output_type=Leaf), "go")
    assert isinstance(result.final_output, Leaf) and sorted(name for name, _ in ran) == ["measure", "wait"]
    assert len(model.requests) == 2
    again = await Runner.run(Agent("main", model=ToolCallingModel(), tools=[measure, wait], output_type=Leaf), "go")
    assert calls(again) == calls(result)


def calls(result: Any) -> list[tuple[str, str]]:
    return [(item.name, item.arguments) for item in result.to_state().items() if isinstance(item, FunctionCall)]


async def test_it_hands_over_and_drives_the_next_agent_too() -> None:
    ran.clear()
    expert = Agent("expert", model=ToolCallingModel(), tools=[wait])
    result = await Runner.run(Agent("main", model=ToolCallingModel(), tools=[measure], handoffs=[expert]), "go")
    assert ([name for name, _ in ran], result.last_agent.name) == (["measure", "wait"], "expert")
    assert result.final_output == "done"


async def test_one_call_a_reply_where_that_is_asked_for() -> None:
    ran.clear()
    config = RunConfig(model_settings=ModelSettings(parallel_tool_calls=False))
    model = ToolCallingModel(text="so be it")
    result = await Runner.run(Agent("main", model=model, tools=[measure, wait]), "go", run_config=config)
    assert (result.final_output, len(model.requests), len(ran)) == ("so be it", 3, 2)


async def test_a_choice_of_tool_is_kept() -> None:
    for choice, expected in (("none", []), ("wait", ["wait"])):
        config = RunConfig(model_settings=ModelSettings(tool_choice=choice))
        agent = Agent("main", model=ToolCallingModel(), tools=[measure, wait], tool_use_behavior="stop_on_first_tool")
        result = await Runner.run(agent, "go", run_config=config)
        assert [name for name, _ in calls(result)] == expected


async def test_arguments_may_be_given_where_a_schema_says_too_little() -> None:
    @function_tool
    def find(code: Annotated[str, Field(pattern="^qq-[0-9]{2}$")]) -> str:
        return code

    with pytest.raises(UserError, match="tool 'find' has a schema with the pattern"):
        await Runner.run(Agent("main", model=ToolCallingModel(), tools=[find]), "go")
    model = ToolCallingModel(arguments={"find": {"code": "qq-12"}})
    assert (await Runner.run(Agent("main", model=model, tools=[find]), "go")).final_output == "done"


async def test_a_stream_shows_its_calls() -> None:
    stream = Runner.run_streamed(Agent("main", model=ToolCallingModel(), tools=[wait]), "go")
    seen = [event.name async for event in stream.stream_events() if event.type == "run_item_stream_event"]
    assert seen == ["tool_called", "tool_output", "message_output_created"]


@pytest.mark.parametrize("arguments", [{"seed": "1"}, {"text": 7}, {"arguments": {"f": 7}}])
def test_what_is_given_wrong_is_a_user_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        ToolCallingModel(**arguments)
    assert repr(ToolCallingModel(seed=3)) == "ToolCallingModel(seed=3, 0 requests)"


def test_a_recursive_schema_ends() -> None:
    schema = AgentOutputSchema(Tree, strict_json_schema=False)
    assert schema.spec is not None
    for seed in range(50):
        Tree.model_validate(example_of(schema.spec.schema, random.Random(seed), "output"))
