"""What is made late, so that a run costs little: it is there whenever the program looks, and the same object each time."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel, TypeAdapter

from agentsdk import ModelResponse as OwnResponse
from agentsdk import Usage as OwnUsage
from agentsdk.compat.openai_agents import Agent, RunConfig, RunContextWrapper, RunHooks, Runner, Usage, function_tool
from agentsdk.compat.openai_agents.testing import ScriptedModel, assistant_message, function_call
from agentsdk.compat.openai_agents.tracing import get_current_trace
from agentsdk.compat.openai_agents.usage import InputTokensDetails, deserialize_usage, serialize_usage
from benchmarks.compat.cost import Named, add, own_replies

pytestmark = pytest.mark.anyio


class _Keeps(RunHooks[Any]):
    """Keeps the usage that it was shown first."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.tokens: list[int] = []

    async def on_agent_start(self, context: RunContextWrapper[Any], agent: Any) -> None:
        self.usage = context.usage

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Any, tool: Any, result: Any) -> None:
        assert self.usage is context.usage
        self.tokens.append(context.usage.total_tokens)


async def test_a_usage_that_was_kept_counts_along() -> None:
    hooks = _Keeps()
    agent = Agent("Adder", tools=[function_tool(add)], model=Named(own_replies(2)))
    result = await Runner.run(agent, "Go on.", hooks=hooks)
    assert hooks.usage is result.context_wrapper.usage
    assert hooks.tokens == [15, 30] and result.context_wrapper.usage.total_tokens == 45
    assert len(result.context_wrapper.usage.request_usage_entries) == 3


async def test_parts_of_a_usage_count_along_whenever_they_are_looked_at() -> None:
    replies = [OwnResponse(one.output, OwnUsage(1, 10, 5, 4, 3, 2), one.finish, one.response_id) for one in own_replies(2)]
    seen: list[Usage] = []
    copies: list[Usage] = []

    @function_tool
    def add(context: RunContextWrapper[Any], a: int, b: int) -> int:
        """Add two numbers."""
        seen.append(context.usage)
        copies.append(copy.copy(context.usage))
        if len(seen) == 2:
            assert len(context.usage.request_usage_entries) == 2
            assert context.usage.input_tokens_details.cached_tokens == 8
        return a + b

    result = await Runner.run(Agent("Adder", tools=[add], model=Named(replies)), "Go on.")
    usage = result.context_wrapper.usage
    assert all(one is usage for one in seen)
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.total_tokens) == (3, 30, 15, 45)
    assert usage.input_tokens_details == InputTokensDetails(12, 9) and usage.output_tokens_details.reasoning_tokens == 6
    assert [entry.input_tokens_details.cached_tokens for entry in usage.request_usage_entries] == [4, 4, 4]
    assert copies[0].input_tokens_details == InputTokensDetails(4, 3) and len(copies[0].request_usage_entries) == 1
    assert usage == copy.deepcopy(usage) == pickle.loads(pickle.dumps(usage))
    assert deserialize_usage(serialize_usage(usage)) == usage


async def test_a_usage_is_one_object_also_of_a_copied_context() -> None:
    seen: list[RunContextWrapper[Any]] = []

    @function_tool
    def keep(context: RunContextWrapper[Any]) -> str:
        """Keep the context."""
        seen.append(copy.copy(context))
        return "kept"

    model = ScriptedModel([[function_call("keep", {}, call_id="call")], [assistant_message("done")]])
    result = await Runner.run(Agent("A", tools=[keep], model=model), "x")
    assert seen[0].usage is result.context_wrapper.usage


async def test_a_usage_that_the_program_sets_is_counted_in() -> None:
    context: RunContextWrapper[None] = RunContextWrapper(None)
    kept = context.usage
    await Runner.run(Agent("A", model=Named(own_replies(0))), "x", context=context)
    assert context.usage is kept and kept.total_tokens == 15


async def test_the_trace_of_a_run_of_which_nobody_is_told() -> None:
    seen: list[tuple[str, str | None, Any]] = []

    def look(context: RunContextWrapper[Any], agent: Any) -> str:
        trace = get_current_trace()
        assert trace is not None and trace.trace_id == trace.trace_id
        exported = trace.export()
        assert exported is not None and exported["id"] == trace.trace_id
        seen.append((trace.name, exported["group_id"], exported["metadata"]))
        return "Be brief."

    agent = Agent("A", instructions=look, model=Named(own_replies(0)))
    config = RunConfig(workflow_name="Mine", group_id="group", trace_metadata={"a": "b"})
    await Runner.run(agent, "x", run_config=config)
    assert seen == [("Mine", "group", {"a": "b"})]
    assert get_current_trace() is None


async def _text_delta() -> Any:
    result = Runner.run_streamed(Agent("A", model=Named(own_replies(0))), "x")
    found = [event.data async for event in result.stream_events() if event.type == "raw_response_event"]
    return next(event for event in found if event.type == "response.output_text.delta")


async def test_a_text_delta_is_openai_s_whatever_is_asked_of_it() -> None:
    event = await _text_delta()
    whole = ResponseTextDeltaEvent.model_construct(**event.model_dump())
    assert isinstance(event, ResponseTextDeltaEvent) and isinstance(event, BaseModel)
    match event:
        case ResponseTextDeltaEvent(delta=delta):
            assert delta == "word "
        case _:
            pytest.fail("it matches")
    assert event == whole and whole == event and event == await _text_delta()
    assert repr(event) == repr(whole).replace(type(whole).__name__, type(event).__name__)
    assert sorted(dict(event)) == sorted(dict(whole)) == sorted(vars(event))
    assert event.model_dump_json() == whole.model_dump_json()
    assert not hasattr(event, "no_such_field")


async def test_a_text_delta_is_copied_and_written_as_openai_s() -> None:
    event = await _text_delta()
    for made in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert type(made) is ResponseTextDeltaEvent and made == event
    adapter: TypeAdapter[Any] = TypeAdapter(ResponseTextDeltaEvent)
    assert adapter.dump_python(adapter.validate_python(event)) == event.model_dump()
    event.item_id = "message"
    assert event.model_dump()["item_id"] == "message"
