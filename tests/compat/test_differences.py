"""What openai-agents' own tests hold of its public names, and a program may lean on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from agentsdk.compat.openai_agents import (
    Agent,
    AgentOutputSchema,
    ModelResponse,
    ModelSettings,
    RunContextWrapper,
    RunErrorHandlerResult,
    RunHooks,
    Runner,
    Usage,
    apply_diff,
    function_tool,
)
from agentsdk.compat.openai_agents.function_schema import function_schema
from agentsdk.compat.openai_agents.mcp import MCPServerManager
from agentsdk.compat.openai_agents.memory import SessionABC
from agentsdk.compat.openai_agents.models.default_models import get_default_model, get_default_model_settings
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call
from agentsdk.compat.openai_agents.tool_context import ToolContext

pytestmark = pytest.mark.anyio


def test_agents_that_give_no_settings_have_those_of_their_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_DEFAULT_MODEL", raising=False)
    assert get_default_model() == "gpt-5.6-luna"
    low = Agent(name="A", model="gpt-5").model_settings
    assert low.reasoning is not None and low.reasoning.effort == "low" and low.verbosity == "low"
    clone = Agent(name="A", model="gpt-5").clone(model="gpt-5.4-mini").model_settings
    assert clone.reasoning is not None and clone.reasoning.effort == "none"
    assert Agent(name="A", model="gpt-4.1").model_settings == ModelSettings()
    assert Agent(name="A", model=ScriptedModel([])).model_settings == ModelSettings()
    given = ModelSettings(temperature=0.3)
    assert Agent(name="A", model="gpt-5", model_settings=given).clone(model="gpt-5.4").model_settings == given
    assert get_default_model_settings("gpt-5-mini") == ModelSettings(verbosity="low")
    assert get_default_model_settings("gpt-5.1-chat-latest") == ModelSettings()


def test_settings_that_there_are_not_are_named_with_their_place() -> None:
    with pytest.raises(TypeError, match=r"Unknown model settings in retry\.backoff: initial_delai"):
        Agent(name="A", model_settings={"retry": {"backoff": {"initial_delai": 1}}})
    with pytest.raises(TypeError, match="Unknown model settings in retry: max_retry"):
        Agent(name="A", model_settings={"retry": {"max_retry": 1}})


async def test_a_rejected_call_is_told_the_program_s_own_words() -> None:
    @function_tool(needs_approval=True)
    def remove(path: str) -> str:
        return "removed"

    model = ScriptedModel([[function_call("remove", {"path": "a"}, call_id="c")], [assistant_message("ok")]])
    agent = Agent(name="A", tools=[remove], model=model)
    result = await Runner.run(agent, "x")
    state = result.to_state()
    state.reject(result.interruptions[0], rejection_message="not today")
    result = await Runner.run(agent, state)
    assert model.last_call is not None and model.last_call.input[-1]["output"] == "not today"
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert outputs == ["not today"]


class _LateId(SessionABC):
    """Its id is known once it has been asked for items."""

    def __init__(self) -> None:
        self._items: list[Any] = []

    @property
    def session_id(self) -> str:  # type: ignore[override]  # pyright: ignore
        raise ValueError("not yet")

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return list(self._items)

    async def add_items(self, items: list[Any]) -> None:
        self._items += items

    async def pop_item(self) -> Any | None:
        return self._items.pop()

    async def clear_session(self) -> None:
        self._items.clear()


async def test_a_session_whose_id_is_not_known_yet() -> None:
    session = _LateId()
    await Runner.run(Agent(name="A", model=ScriptedModel([[assistant_message("hi")]])), "x", session=session)
    assert len(await session.get_items()) == 2


def test_a_context_is_written_as_json() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(RunContextWrapper[dict[str, str]])
    made = adapter.dump_python(RunContextWrapper({"user": "Ada"}), mode="json")
    assert made["usage"]["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 10**400])
def test_a_manager_s_times_are_checked_also_when_they_are_set(seconds: float) -> None:
    with pytest.raises(ValueError, match="connect_timeout_seconds"):
        MCPServerManager([], connect_timeout_seconds=seconds)
    manager = MCPServerManager([])
    with pytest.raises(ValueError, match="cleanup_timeout_seconds"):
        manager.cleanup_timeout_seconds = seconds
    assert manager.cleanup_timeout_seconds == 10.0
    with pytest.raises(TypeError, match="connect_timeout_seconds"):
        manager.connect_timeout_seconds = True


def test_descriptions_and_defaults_of_parameters() -> None:
    def order(count: Annotated[int, "of the annotation"], price: Annotated[float, Field(default=5.0, ge=0)]) -> None:
        """Order.

        Args:
            count: Of the docstring.
        """

    schema = function_schema(order, strict_json_schema=False)
    fields = schema.params_json_schema["properties"]
    assert fields["count"]["description"] == "Of the docstring."
    assert fields["price"]["default"] == 5.0 and schema.params_json_schema["required"] == ["count"]


async def test_a_nested_run_has_the_context_of_its_call_and_hooks_see_the_first_input() -> None:
    seen: list[Any] = []

    class Told(RunHooks[Any]):
        async def on_agent_start(self, context: Any, agent: Any) -> None:
            seen.append(context.turn_input)

    def instructions(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        assert isinstance(context, ToolContext)
        seen.append((context.tool_name, context.tool_call_id, context.tool_call is not None))
        return "Be brief."

    inner = Agent(name="Inner", instructions=instructions, model=ScriptedModel([[assistant_message("done")]]))
    steps = [[function_call("ask", {"input": "go"}, call_id="c")], [assistant_message("ok")]]
    outer = Agent(name="Outer", tools=[inner.as_tool("ask", "Asks.")], model=ScriptedModel(steps))
    await Runner.run(outer, "hello", hooks=Told())
    assert seen == [[{"content": "hello", "role": "user"}], ("ask", "c", True)]


def test_the_name_of_an_output_type_shows_its_values() -> None:
    assert AgentOutputSchema(list[Literal["ok", "done"]]).name() == "list[Literal['ok', 'done']]"


class _Summary(BaseModel):
    text: str


async def test_what_an_error_handler_gives_is_shown_as_the_model_would_have_written_it() -> None:
    agent = Agent(name="A", model=ScriptedModel([]), output_type=_Summary)
    handlers: Any = {"max_turns": lambda data: RunErrorHandlerResult(final_output=_Summary(text="ok"))}
    result = Runner.run_streamed(agent, "x", max_turns=0, error_handlers=handlers)
    events = [event async for event in result.stream_events()]
    assert [getattr(event, "name", "") for event in events if event.type == "run_item_stream_event"] == [
        "message_output_created"
    ]
    assert result.new_items[-1].raw_item.content[0].text == '{"text":"ok"}'
    listed = Agent(name="A", model=ScriptedModel([]), output_type=list[str])
    handlers = {"max_turns": lambda data: ["a"]}
    done = await Runner.run(listed, "x", max_turns=0, error_handlers=handlers)
    assert done.final_output == ["a"] and done.new_items[-1].raw_item.content[0].text == '{"response":["a"]}'


def test_new_files_and_replayed_items() -> None:
    assert apply_diff("", "+hello\n+", mode="create") == "hello\n"
    assert apply_diff("", "+hello\r\n+world", mode="create") == "hello\r\nworld"
    reply = ModelResponse([{"type": "apply_patch_call", "created_by": "x"}], Usage(), None)
    assert reply.to_input_items() == [{"type": "apply_patch_call"}]
