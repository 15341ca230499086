"""`Agent` as an object: how it is made, changed, copied and subclassed. What it does is shown where it runs."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import pytest

from agentsdk import Agent, ModelSettings, Runner, StopAtTools, UserError, function_tool
from agentsdk.guardrails import InputGuardrail, OutputGuardrail
from agentsdk.hooks import AgentHooks
from agentsdk.models import Prompt
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolRetrySettings
from agentsdk.toolsets import ToolRegistry


@function_tool
def add(a: int, b: int) -> int:
    return a + b


def allow(*given: Any) -> Any:
    """A guardrail that is never called."""


GIVEN: dict[str, Any] = {
    "name": "A",
    "instructions": "Add.",
    "tools": [add],
    "handoffs": (Agent("B"),),
    "model": "m",
    "model_settings": ModelSettings(temperature=0.5),
    "output_type": int,
    "input_guardrails": [InputGuardrail(allow, "in")],
    "output_guardrails": [OutputGuardrail(allow, "out")],
    "hooks": AgentHooks[Any](),
    "tool_use_behavior": StopAtTools(["add"]),
    "handoff_description": "Adds.",
    "reset_tool_choice": False,
    "toolsets": [ToolRegistry[Any]()],
    "tool_timeout": 30.0,
    "tool_retry": ToolRetrySettings(max_retries=1),
    "prompt": Prompt("pmpt_1"),
    "output_validators": [lambda context, output: None],
    "max_output_retries": 3,
}


def values(agent: Agent[Any, Any]) -> dict[str, object]:
    return {field.name: getattr(agent, field.name) for field in fields(agent)}


def is_same(agent: Agent[Any, Any], expected: dict[str, Any]) -> bool:
    given = values(agent)
    return given.keys() >= expected.keys() and all(given[name] is value for name, value in expected.items())


def test_it_takes_its_fields_in_their_order_with_their_types_and_defaults() -> None:
    parameters = inspect.signature(Agent).parameters
    declared = fields(Agent)
    assert [*parameters] == [field.name for field in declared] == [*GIVEN]
    assert [parameter.annotation for parameter in parameters.values()] == [field.type for field in declared]
    name, *others = declared
    assert parameters[name.name].default is inspect.Parameter.empty
    made = Agent("A")
    for field in others:
        if field.default is MISSING:
            assert getattr(made, field.name) == []
        else:
            assert parameters[field.name].default is field.default is getattr(made, field.name)


def test_each_field_is_kept_as_it_was_given() -> None:
    assert is_same(Agent(**GIVEN), GIVEN)
    assert is_same(Agent(*GIVEN.values()), GIVEN)
    assert is_same(replace(Agent(**GIVEN), name="C"), GIVEN | {"name": "C"})
    with pytest.raises(TypeError, match=r"Agent\.__init__\(\) got an unexpected keyword argument 'tool'"):
        Agent(name="A", tool=[add])  # type: ignore[call-arg]


@pytest.mark.anyio
async def test_the_lists_of_one_agent_are_its_own_and_may_grow() -> None:
    one, other = Agent[Any, str]("one", model=ScriptedModel(["1"])), Agent[Any, str]("other", model=ScriptedModel(["2"]))
    assert (await Runner.run(one, "go")).final_output == "1"
    assert isinstance(one.tools, list)
    assert isinstance(one.handoffs, list)
    one.tools.append(add)
    one.handoffs.append(other)
    assert (other.tools, other.handoffs) == ([], [])
    one.model = model = ScriptedModel(["3"])
    assert (await Runner.run(one, "go")).final_output == "3"
    assert [tool.name for tool in model.requests[0].tools] == ["add", "transfer_to_other"]


@pytest.mark.anyio
async def test_a_field_that_is_set_counts_from_the_next_run_on() -> None:
    agent = Agent[Any, Any]("A", tools=[add], model=ScriptedModel([call("add", a=1, b=2), "done", call("add", a=1, b=2)]))
    assert (await Runner.run(agent, "go")).final_output == "done"
    agent.tool_use_behavior = "stop_on_first_tool"
    assert (await Runner.run(agent, "go")).final_output == "3"


@pytest.mark.parametrize("field", [name for name in GIVEN if name != "name"])
def test_a_wrong_field_is_refused_when_it_is_given_and_when_it_is_set(field: str) -> None:
    wrong: Any = object()
    with pytest.raises(UserError, match=f"^agent 'A' has {field}=<object>, expected "):
        Agent(**GIVEN | {field: wrong})
    agent = Agent(**GIVEN)
    with pytest.raises(UserError, match=f"^agent 'A' has {field}=<object>, expected "):
        setattr(agent, field, wrong)
    assert is_same(agent, GIVEN)


def test_an_agent_without_a_name_is_called_by_its_kind() -> None:
    with pytest.raises(UserError, match=r"^Agent\(name=''\), expected a non-empty str"):
        Agent("")
    with pytest.raises(UserError, match=r"^Agent\(name=5\), expected a non-empty str"):
        Agent(5)  # type: ignore[arg-type]


def pickled(agent: Agent[Any, str]) -> Agent[Any, str]:
    again: Agent[Any, str] = pickle.loads(pickle.dumps(agent))
    return again


@pytest.mark.parametrize("copied", [copy, pickled])
def test_a_copy_is_changed_by_itself(copied: Callable[[Agent[Any, str]], Any]) -> None:
    agent = Agent[Any, str]("A", instructions="Add.", model_settings=ModelSettings(temperature=0.5))
    twin = copied(agent)
    assert values(twin) == values(agent)
    twin.name = "B"
    assert agent.name == "A"
    with pytest.raises(UserError, match="agent 'B' has tools=5"):
        twin.tools = 5


def test_a_deep_copy_has_lists_of_its_own() -> None:
    agent = Agent("A")
    deepcopy(agent).tools.append(add)  # type: ignore[attr-defined]
    assert agent.tools == []


@dataclass(eq=False)
class Clerk(Agent[Any, str]):
    """An agent with a default of its own and one field more."""

    handoff_description: str = "Writes."
    desk: int = 1


class Named(Agent[Any, str]):
    def __init__(self, **options: Any) -> None:
        super().__init__("named", **options)
        self.note = "kept"


def test_subclasses_are_checked_as_agents_are() -> None:
    clerk = Clerk("C", desk=2)
    assert (clerk.desk, clerk.handoff_description, clerk.tools) == (2, "Writes.", [])
    moved = clerk.clone(desk=3)
    assert (type(moved), moved.desk, moved.name) == (Clerk, 3, "C")
    with pytest.raises(UserError, match="agent 'C' has tools=5"):
        Clerk("C", tools=5)  # type: ignore[arg-type]
    named = Named(tools=[add])
    assert (named.name, named.tools, named.note) == ("named", [add], "kept")
    with pytest.raises(UserError, match="agent 'named' has hooks=5"):
        Named(hooks=5)
