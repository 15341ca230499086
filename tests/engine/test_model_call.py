from __future__ import annotations

from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any

import pytest

from agentsdk import (
    Agent,
    AgentsException,
    AnthropicModel,
    CostLimitExceededError,
    FallbackModel,
    FunctionCall,
    FunctionCallOutput,
    MaxTurnsExceeded,
    Message,
    ModelBehaviorError,
    ModelError,
    ModelPrice,
    ModelRefusalError,
    ModelRequest,
    ModelResponse,
    ModelRetrySettings,
    ModelSettings,
    OutputTextDelta,
    RateLimitError,
    RunConfig,
    RunErrorHandlerInput,
    RunErrorHandlerResult,
    RunLimits,
    Runner,
    RunState,
    Usage,
    UserError,
    shared_limits,
)
from agentsdk.errors import (
    CallbackError,
    ContentFilterError,
    EmptyResponseError,
    IncompleteResponseError,
    InvalidOutputError,
    MalformedResponseError,
    ProviderUnavailableError,
    RequestLimitExceededError,
    TokenLimitExceededError,
)
from agentsdk.events import AttemptDiscarded, ResponseCompleted
from agentsdk.hosted_tools import WebSearchTool
from agentsdk.models import Prompt
from agentsdk.testing import ScriptedModel, ServerReply, call
from agentsdk.testing.anthropic_dialect import FakeAnthropicServer
from agentsdk.tools import FunctionTool
from agentsdk.toolsets import Toolset, ToolsetContext
from agentsdk.types.events import AttemptSpent, LimitReachedEvent, unnested
from agentsdk.types.items import Refusal
from tests.scenarios import World, cut, reloaded, tool_of

pytestmark = pytest.mark.anyio


def agent_with(*replies: Any, world: World | None = None, **fields: Any) -> tuple[Agent[Any, Any], ScriptedModel]:
    model = ScriptedModel(replies)
    return Agent("main", model=model, tools=[tool_of(world or World(), "add")], **fields), model


def reply(*items: Any, finish: Any = "stop") -> ModelResponse:
    return ModelResponse(items, Usage(1, 10, 5), finish)


def state_of(error: AgentsException, agent: Agent[Any, Any]) -> RunState:
    """The error's state as another process loads it."""
    assert isinstance(error.state, RunState)
    return reloaded(agent, error.state)


async def run_streamed(*args: Any, **options: Any) -> Any:
    return await Runner.run_streamed(*args, **options)


MODES = pytest.mark.parametrize("run", [Runner.run, run_streamed], ids=["run", "stream"])


@MODES
async def test_max_turns_carries_a_state_that_goes_on(run: Any) -> None:
    world = World()
    agent, model = agent_with(call("add", x=1), call("add", x=2), "sum", world=world)
    with pytest.raises(MaxTurnsExceeded, match="took 2 turns") as caught:
        await run(agent, "go", max_turns=2)
    assert len(model.requests) == 2
    state = state_of(caught.value, agent)
    assert [event for event in state.value.log if isinstance(event, LimitReachedEvent)] == [
        LimitReachedEvent("turns", "2", "2")
    ]
    result = await run(agent, state, max_turns=3)
    assert result.final_output == "sum"
    assert len(model.requests) == 3
    assert set(world.done.values()) == {1} and len(world.done) == 2


async def test_a_limit_given_on_resume_counts_the_turns_before() -> None:
    agent, model = agent_with(call("add", x=1), call("add", x=2), "sum")
    with pytest.raises(MaxTurnsExceeded) as caught:
        await Runner.run(agent, "go", max_turns=2)
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(agent, state_of(caught.value, agent), max_turns=1)
    assert len(model.requests) == 2


async def test_the_final_output_in_the_last_turn_is_no_excess() -> None:
    agent, _ = agent_with(call("add", x=1), "sum")
    assert (await Runner.run(agent, "go", max_turns=2)).final_output == "sum"


@MODES
async def test_an_error_handler_gives_the_final_output_in_place_of_the_limit(run: Any) -> None:
    agent, _ = agent_with(call("add", x=1), call("add", x=2))
    seen: list[RunErrorHandlerInput] = []

    async def handler(given: RunErrorHandlerInput) -> RunErrorHandlerResult:
        seen.append(given)
        return RunErrorHandlerResult("enough")

    result = await run(agent, "go", max_turns=2, error_handlers={"max_turns": handler})
    assert result.final_output == "enough"
    assert isinstance(seen[0].error, MaxTurnsExceeded) and isinstance(seen[0].error.state, RunState)
    assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == "enough"


async def test_an_error_handler_may_let_the_error_be() -> None:
    agent, _ = agent_with(call("add", x=1))
    with pytest.raises(MaxTurnsExceeded):
        await Runner.run(agent, "go", max_turns=1, error_handlers={"max_turns": lambda given: None})


async def test_an_error_handler_that_raises_is_a_typed_error_with_the_state() -> None:
    agent, _ = agent_with(call("add", x=1))

    def handler(given: RunErrorHandlerInput) -> RunErrorHandlerResult:
        raise ZeroDivisionError

    with pytest.raises(CallbackError, match="error handler 'max_turns'") as caught:
        await Runner.run(agent, "go", max_turns=1, error_handlers={"max_turns": handler})
    assert isinstance(caught.value.state, RunState)


async def test_refusals_and_invalid_output_have_handlers_too() -> None:
    agent, _ = agent_with(reply(Message("assistant", (Refusal("I will not"),))))
    handlers: Any = {"model_refusal": lambda given: RunErrorHandlerResult(f"refused: {given.error.refusal}")}
    result = await Runner.run(agent, "go", error_handlers=handlers)
    assert result.final_output == "refused: I will not"

    agent, _ = agent_with("no", "no", output_type=int)
    handlers = {"invalid_final_output": lambda given: RunErrorHandlerResult(0)}
    assert (await Runner.run(agent, "go", error_handlers=handlers)).final_output == 0


@MODES
async def test_whatever_the_model_is_to_blame_for_has_a_handler(run: Any) -> None:
    named: Any = lambda given: RunErrorHandlerResult(type(given.error).__name__)  # noqa: E731
    filtered = reply(Message("assistant", "half a sen"), finish="content_filter")
    refusal = reply(Message("assistant", (Refusal("I will not"),)))
    for replies, error in (
        ([ProviderUnavailableError("down")], "ProviderUnavailableError"),
        ([call("add", x=1), ProviderUnavailableError("down")], "ProviderUnavailableError"),
        ([filtered], "ContentFilterError"),
        ([refusal], "ModelRefusalError"),
    ):
        agent, _ = agent_with(*replies)
        result = await run(agent, "go", error_handlers={"model_error": named})
        assert result.final_output == error
        assert (await Runner.run(agent, reloaded(agent, result.to_state()))).final_output == error
    agent, _ = agent_with(refusal)
    both = {"model_error": named, "model_refusal": lambda given: RunErrorHandlerResult("refused")}
    assert (await run(agent, "go", error_handlers=both)).final_output == "refused"


async def test_empty_replies_are_asked_for_again_three_times_and_then_an_error() -> None:
    agent, model = agent_with("", " ", "", "", "hello")
    with pytest.raises(EmptyResponseError, match=r"nothing, asked 4 time\(s\)") as caught:
        await Runner.run(agent, "go")
    assert len(model.requests) == 4
    assert len({request.request_id for request in model.requests}) == 4
    result = await Runner.run(agent, state_of(caught.value, agent))
    assert result.final_output == "hello"
    assert result.usage == Usage(5, 50, 25)
    assert result.turns == 1


@MODES
async def test_an_empty_reply_is_the_answer_of_a_run_that_accepts_it(run: Any) -> None:
    accepts = RunConfig(accept_empty_replies=True)
    agent, model = agent_with("", "hello")
    result = await run(agent, "go", run_config=accepts)
    assert (result.final_output, len(model.requests), result.turns) == ("", 1, 1)
    typed, asked = agent_with("", '{"response":4}', output_type=int)
    assert (await run(typed, "go", run_config=accepts)).final_output == 4  # nothing is no number
    assert len(asked.requests) == 2


@MODES
async def test_text_cut_at_its_length_is_continued_and_joined(run: Any) -> None:
    agent, model = agent_with(cut("one "), cut("two "), "three")
    result = await run(agent, "go")
    assert result.final_output == "one two three"
    assert not result.truncated
    assert [item.raw_item.text for item in result.new_items] == ["one two three"]
    assert [message.text for message in model.requests[2].tail if message.role == "assistant"] == ["one two "]
    assert [item.text for item in model.requests[2].items] == ["go"]
    assert result.usage.requests == 3 and result.turns == 1


async def test_continuations_are_bounded_and_the_result_says_truncated() -> None:
    agent, model = agent_with(cut("one "), cut("two "), cut("three "), "never")
    result = await Runner.run(agent, "go", run_config=RunConfig(max_continuations=2))
    assert result.final_output == "one two three "
    assert result.truncated
    assert len(model.requests) == 3


async def test_an_empty_reply_cut_at_its_length_is_an_error_in_the_end() -> None:
    agent, _ = agent_with(*[reply(finish="length")] * 4)
    with pytest.raises(EmptyResponseError):
        await Runner.run(agent, "go")


@MODES
@pytest.mark.parametrize("finish", ["length", "unknown", "error", "content_filter"])
async def test_a_call_runs_only_when_the_reply_is_proven_whole(run: Any, finish: Any) -> None:
    world = World()
    agent, model = agent_with(reply(call("add", x=1), finish=finish), call("add", x=2), "ok", world=world)
    with pytest.raises(IncompleteResponseError, match="no call was run") as caught:
        await run(agent, "go")
    assert not world.done
    state = state_of(caught.value, agent)
    assert [item.text for item in state.items()] == ["go"]  # type: ignore[union-attr]
    assert (await run(agent, state)).final_output == "ok"
    assert sum(world.done.values()) == 1
    assert model.requests[0].items == model.requests[1].items


async def test_text_without_a_finish_reason_is_kept_and_an_error_is_not() -> None:
    agent, _ = agent_with(reply(Message("assistant", "fine"), finish="unknown"))
    assert (await Runner.run(agent, "go")).final_output == "fine"
    agent, _ = agent_with(reply(Message("assistant", "half"), finish="error"))
    with pytest.raises(ModelBehaviorError, match="ended its reply with an error"):
        await Runner.run(agent, "go")


@MODES
async def test_refusal_and_filter_are_typed(run: Any) -> None:
    agent, _ = agent_with(reply(Message("assistant", (Refusal("I will not"),))))
    with pytest.raises(ModelRefusalError) as refused:
        await run(agent, "go")
    assert refused.value.refusal == "I will not"
    agent, _ = agent_with(reply(Message("assistant", "half a sen"), finish="content_filter"))
    with pytest.raises(ContentFilterError):
        await run(agent, "go")


async def test_after_a_refusal_another_input_begins_again() -> None:
    agent, model = agent_with(reply(Message("assistant", (Refusal("no"),))), "sure")
    with pytest.raises(ModelRefusalError) as caught:
        await Runner.run(agent, "do it")
    state = state_of(caught.value, agent)
    state.replace_input("please do it")
    result = await Runner.run(agent, reloaded(agent, state))
    assert result.final_output == "sure"
    assert [item.text for item in model.requests[1].items] == ["please do it"]
    assert [item.text for item in result.input] == ["please do it"]
    assert [item.raw_item.text for item in result.new_items] == ["sure"]


@MODES
async def test_a_provider_error_loses_nothing(run: Any) -> None:
    world = World()
    failing = RateLimitError("slow down", status=429, retryable=True, retry_after=3.0)
    agent, model = agent_with(call("add", x=1), failing, call("add", x=2), "sum", world=world)
    with pytest.raises(RateLimitError) as caught:
        await run(agent, "go")
    assert caught.value is failing
    result = await run(agent, state_of(caught.value, agent))
    assert result.final_output == "sum"
    assert set(world.done.values()) == {1} and len(world.done) == 2
    assert model.requests[1].items == model.requests[2].items
    assert model.requests[1].request_id == model.requests[2].request_id


@MODES
async def test_whatever_else_a_model_raises_is_a_model_error(run: Any) -> None:
    agent, _ = agent_with(ValueError("inside"))
    with pytest.raises(ModelError, match="'scripted' raised ValueError") as caught:
        await run(agent, "go")
    assert isinstance(caught.value.__cause__, ValueError)
    assert isinstance(caught.value.state, RunState)


class Custom:
    """A model that yields what it is given, and tells whether its stream was closed."""

    name = "custom"

    def __init__(self, *events: Any) -> None:
        self.events = events
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        try:
            for event in self.events:
                yield event
        finally:
            self.closed = True


@MODES
async def test_a_stream_without_its_last_event_is_incomplete(run: Any) -> None:
    with pytest.raises(IncompleteResponseError, match="without ResponseCompleted"):
        await run(Agent("main", model=Custom(OutputTextDelta("hel"))), "go")


async def test_a_retried_attempt_tells_the_reader_that_its_deltas_are_void() -> None:
    model = Custom(
        OutputTextDelta("wro"),
        AttemptDiscarded("reset"),
        OutputTextDelta("right"),
        ResponseCompleted(reply(Message("assistant", "right"))),
    )
    stream = Runner.run_streamed(Agent("main", model=model), "go")
    kinds = [event.data.type async for event in stream if event.type == "raw_response_event"]
    assert kinds == [
        "response.output_text.delta",
        "response.attempt_discarded",
        "response.output_text.delta",
        "response.completed",
    ]
    assert stream.final_output == "right" and model.closed


async def test_only_a_streamed_run_asks_for_deltas() -> None:
    agent, model = agent_with("one", "two")
    await Runner.run(agent, "go")
    await Runner.run_streamed(agent, "go")
    assert [request.stream for request in model.requests] == [False, True]


async def test_one_id_on_two_different_calls_is_an_error_before_any_effect() -> None:
    world = World()
    twice = [FunctionCall("c", "add", '{"x":1}'), FunctionCall("c", "add", '{"x":2}')]
    agent, _ = agent_with(twice, "better", world=world)
    with pytest.raises(ModelBehaviorError, match="'c' to two different calls") as caught:
        await Runner.run(agent, "go")
    assert not world.done
    assert (await Runner.run(agent, state_of(caught.value, agent))).final_output == "better"


async def test_the_same_call_twice_runs_once_and_a_missing_id_is_made_up() -> None:
    world = World()
    model = Custom(ResponseCompleted(reply(*[FunctionCall("c", "add", '{"x":1}')] * 2, FunctionCall("", "add", "{}"))))
    agent = Agent("main", model=model, tools=[tool_of(world, "add")], tool_use_behavior="stop_on_first_tool")
    result = await Runner.run(agent, "go", run_config=RunConfig(run_id="r"))
    ids = [item["call_id"] for item in result.to_input_list()[1:]]
    assert ids[:2] == ids[2:] and ids[0] == "c" and ids[1] not in ("", "c")
    assert sorted(world.done) == sorted(f"r/{one}" for one in ids[:2])


async def test_an_id_of_the_history_is_never_used_again() -> None:
    world = World()
    agent, _ = agent_with(FunctionCall("c", "add", '{"x":2}'), "sum", world=world)
    history = [Message("user", "before"), FunctionCall("c", "add", '{"x":1}'), FunctionCallOutput("c", "add gave 1")]
    result = await Runner.run(agent, [*history, Message("user", "go")], run_config=RunConfig(run_id="r"))
    ids = [item["call_id"] for item in result.to_input_list() if "call_id" in item]
    assert ids[:2] == ["c", "c"] and ids[2] == ids[3] != "c"
    assert list(world.done) == [f"r/{ids[2]}"]


async def test_a_forced_call_is_forced_once() -> None:
    agent, model = agent_with(call("add", x=1), "sum", model_settings=ModelSettings(tool_choice="add", temperature=0.5))
    await Runner.run(agent, "go")
    assert [request.settings.tool_choice for request in model.requests] == ["add", "auto"]
    assert {request.settings.temperature for request in model.requests} == {0.5}
    agent, model = agent_with(call("add", x=1), "sum", model_settings=ModelSettings(tool_choice="add"), reset_tool_choice=False)
    await Runner.run(agent, "go")
    assert [request.settings.tool_choice for request in model.requests] == ["add", "add"]


async def test_a_choice_of_no_tool_of_the_turn_is_refused_before_the_model_is_asked() -> None:
    agent, model = agent_with("never", model_settings=ModelSettings(tool_choice="ad"))
    with pytest.raises(
        UserError, match=r"^agent 'main' has the tool_choice 'ad', expected .* in this turn \(add\); write one of"
    ):
        await Runner.run(agent, "go")
    bare = Agent("bare", model=model)
    with pytest.raises(UserError, match=r"^agent 'bare' has the tool_choice 'any', .* \(there are none\)"):
        await Runner.run(bare, "go", run_config=RunConfig(model_settings=ModelSettings(tool_choice="any")))
    assert model.requests == []


async def test_a_choice_may_name_a_tool_of_a_toolset_or_one_that_the_provider_has() -> None:
    offered = tool_of(World(), "weather")

    class Weather(Toolset[Any]):
        async def get_tools(self, context: ToolsetContext[Any]) -> list[FunctionTool[Any]]:
            return [offered]

    chosen = ModelSettings(tool_choice="weather")
    model = ScriptedModel(["ok"] * 4)
    await Runner.run(Agent("a", model=model, model_settings=chosen, toolsets=[Weather()]), "go")
    await Runner.run(Agent("a", model=model, model_settings=chosen, prompt=Prompt("pmpt_1")), "go")
    in_body = ModelSettings(tool_choice="weather", extra_body={"tools": [{"type": "weather"}]})
    await Runner.run(Agent("a", model=model, model_settings=in_body), "go")
    searching = Agent("a", model=model, model_settings=ModelSettings(tool_choice="web_search"), tools=[WebSearchTool()])
    await Runner.run(searching, "go")
    assert [request.settings.tool_choice for request in model.requests] == ["weather"] * 3 + ["web_search"]


async def test_the_runs_settings_come_before_the_agents() -> None:
    agent, model = agent_with("ok", model_settings=ModelSettings(temperature=0.5, seed=1))
    await Runner.run(agent, "go", run_config=RunConfig(model_settings=ModelSettings(temperature=0.1)))
    assert (model.requests[0].settings.temperature, model.requests[0].settings.seed) == (0.1, 1)


async def test_an_input_filter_changes_one_request_and_not_the_history() -> None:
    from msgspec import structs

    from agentsdk.types.tape import Tape

    async def last_only(request: ModelRequest) -> ModelRequest:
        return structs.replace(request, items=Tape(request.items[-1:]), instructions="filtered")

    agent, model = agent_with(call("add", x=1), "sum")
    result = await Runner.run(agent, "go", run_config=RunConfig(call_model_input_filter=last_only))
    # The last item alone is a result without its call, which no provider takes.
    assert [len(request.items) for request in model.requests] == [1, 0]
    assert {request.instructions for request in model.requests} == {"filtered"}
    assert len(result.to_input_list()) == 4


async def test_an_input_filter_that_fails_is_typed() -> None:
    agent, model = agent_with("never")

    def broken(request: ModelRequest) -> Any:
        raise KeyError("x")

    with pytest.raises(CallbackError, match="call_model_input_filter") as caught:
        await Runner.run(agent, "go", run_config=RunConfig(call_model_input_filter=broken))
    assert isinstance(caught.value.state, RunState)
    nothing: Any = lambda request: None  # noqa: E731
    with pytest.raises(UserError, match="call_model_input_filter"):
        await Runner.run(agent, "go", run_config=RunConfig(call_model_input_filter=nothing))
    assert not model.requests


async def test_invalid_output_after_the_feedback_turn_is_typed_and_can_be_asked_again() -> None:
    agent, model = agent_with("one", "two", '{"response": 3}', output_type=int)
    with pytest.raises(InvalidOutputError, match="after 1 feedback turn") as caught:
        await Runner.run(agent, "go")
    assert caught.value.output == "two"
    assert "does not fit the required format" in model.requests[1].items[-1].text  # type: ignore[union-attr]
    assert (await Runner.run(agent, state_of(caught.value, agent))).final_output == 3


async def test_models_are_found_by_name_the_runs_before_the_agents() -> None:
    class Provider:
        def get_model(self, name: str | None) -> Any:
            if name is None:
                raise UserError("there is no default model here")
            return ScriptedModel([f"{name} says hello"])

    provider = RunConfig(model_provider=Provider())
    assert (await Runner.run(Agent("main", model="mine"), "go", run_config=provider)).final_output == "mine says hello"
    config = RunConfig(model_provider=Provider(), model="yours")
    assert (await Runner.run(Agent("main", model="mine"), "go", run_config=config)).final_output == "yours says hello"
    with pytest.raises(UserError, match="no default model") as caught:
        await Runner.run(Agent("main"), "go", run_config=provider)
    assert isinstance(caught.value.state, RunState)


async def test_a_reply_that_is_of_no_use_is_paid_for_all_the_same() -> None:
    twice = ModelResponse((FunctionCall("a", "dig", "{}"), FunctionCall("a", "dig", '{"x":1}')), Usage(1, 10, 5), "tool_calls")
    unproven = ModelResponse((FunctionCall("a", "dig", "{}"),), Usage(1, 10, 5), "length")
    for reply in (twice, unproven):
        with pytest.raises(ModelBehaviorError) as caught:
            await Runner.run(Agent("main", model=ScriptedModel([reply])), "go")
        assert isinstance(caught.value.state, RunState)
        assert caught.value.state.usage == Usage(1, 10, 5)


SPENT = Usage(1, 40, 60)


def costly(kind: type[ModelError] = IncompleteResponseError, usage: Usage = SPENT) -> ModelError:
    """The error of a reply that was paid for."""
    error = kind("no use")
    error.usage = usage
    return error


def attempts_of(state: Any) -> list[tuple[str, str, Usage]]:
    events = [unnested(event)[1] for event in state.log]
    return [(event.kind, event.model, event.usage) for event in events if isinstance(event, AttemptSpent)]


@MODES
@pytest.mark.parametrize(
    "kind", [IncompleteResponseError, ContentFilterError, ProviderUnavailableError, MalformedResponseError]
)
async def test_a_reply_that_ends_in_an_error_is_paid_for(run: Any, kind: type[ModelError]) -> None:
    agent, model = agent_with(costly(kind), costly(kind, Usage(1, 2, 3)), "done")
    with pytest.raises(kind) as first:
        await run(agent, "go")
    assert first.value.usage == SPENT
    with pytest.raises(kind) as second:
        await run(agent, state_of(first.value, agent))
    state = state_of(second.value, agent)
    assert attempts_of(state.value) == [("reply", "scripted", SPENT), ("reply", "scripted", Usage(1, 2, 3))]
    result = await run(agent, state)
    assert result.usage == SPENT + Usage(1, 2, 3) + Usage(1, 10, 5)
    assert result.final_output == "done"
    assert len({request.request_id for request in model.requests}) == 3  # under one id a gateway would say the same again


@MODES
@pytest.mark.parametrize(
    ("limit", "error"),
    [
        ({"tokens": 150}, TokenLimitExceededError),
        ({"requests": 1}, RequestLimitExceededError),
        ({"output_tokens": 60}, TokenLimitExceededError),
    ],
    ids=str,
)
async def test_limits_count_what_a_failed_reply_cost(run: Any, limit: dict[str, int], error: type[AgentsException]) -> None:
    agent, model = agent_with(costly(), "done", model_settings=ModelSettings(max_tokens=60))
    config = RunConfig(limits=RunLimits(**limit))
    with pytest.raises(IncompleteResponseError) as caught:
        await run(agent, "go", run_config=config)
    with pytest.raises(error):
        await run(agent, state_of(caught.value, agent), run_config=config)
    assert len(model.requests) == 1


async def test_a_cost_limit_counts_what_a_failed_reply_cost() -> None:
    agent, _ = agent_with(costly(), "done", model_settings=ModelSettings(max_tokens=60))
    config = RunConfig(limits=RunLimits(cost="0.00015"), prices={"scripted": ModelPrice(input=1, output=1)})
    with pytest.raises(IncompleteResponseError) as caught:
        await Runner.run(agent, "go", run_config=config)
    with pytest.raises(CostLimitExceededError) as reached:
        await Runner.run(agent, state_of(caught.value, agent), run_config=config)
    assert reached.value.used == Decimal("0.0001")


@MODES
async def test_the_models_before_a_fallback_are_paid_for_by_their_names(run: Any) -> None:
    first = ScriptedModel([costly(), ModelResponse((Message("assistant", "no"),), Usage(1, 7, 7)), costly()], name="first")
    second = ScriptedModel(["one", "two", costly(usage=Usage(1, 9, 9))], name="second")
    model = FallbackModel(first, second, accept=lambda response: response.text != "no")
    agent = Agent("main", model=model)
    for spent in (SPENT, Usage(1, 7, 7)):
        result = await run(agent, "go")
        assert result.usage == spent + Usage(1, 10, 5)
        assert attempts_of(result.to_state().value) == [("discarded", "first", spent)]
    with pytest.raises(IncompleteResponseError) as caught:
        await run(agent, "go")
    assert attempts_of(state_of(caught.value, agent).value) == [
        ("discarded", "first", SPENT),
        ("reply", "second", Usage(1, 9, 9)),
    ]


async def test_a_nested_reply_that_failed_is_paid_for_by_the_whole_run() -> None:
    inner, _ = agent_with(costly())
    tool = inner.as_tool("ask", "Asks.")
    outer = Agent("outer", model=ScriptedModel([call("ask", input="x"), "done"]), tools=[tool])
    with shared_limits(tokens=10_000) as budget:
        result = await Runner.run(outer, "go", run_config=RunConfig(limits=RunLimits(tokens=10_000)))
    assert result.usage == Usage(2, 20, 10) + SPENT
    assert budget.spent.tokens == result.usage.total_tokens
    assert result.final_output == "done"


async def test_an_attempt_that_was_repeated_is_paid_for() -> None:
    """Nothing but its beginning was shown, so it is asked for again."""
    begun = b'data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":30,"output_tokens":1}}}\n\n'
    failed = b'data: {"type":"error","error":{"type":"overloaded_error","message":"later"}}\n\n'
    async with FakeAnthropicServer([ServerReply(events=[begun, failed]), "done"]) as server:
        retry = ModelRetrySettings(initial_delay=0.0)
        agent = Agent("main", model=AnthropicModel("m", base_url=server.base_url, retry=retry))
        result = await Runner.run_streamed(agent, "go")
    assert attempts_of(result.to_state().value) == [("discarded", "m", Usage(1, 30, 1, known=False))]
    assert result.usage.requests == 2


async def test_the_reply_of_a_provider_that_never_ends_its_pauses_is_paid_for() -> None:
    pause = {"id": "m", "type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": "pause_turn"}
    said = ServerReply(body={**pause, "usage": {"input_tokens": 100, "output_tokens": 10}})
    async with FakeAnthropicServer([said] * 11) as server:
        agent = Agent("main", model=AnthropicModel("m", base_url=server.base_url))
        with pytest.raises(IncompleteResponseError) as caught:
            await Runner.run(agent, "go")
    assert caught.value.usage == Usage(11, 1100, 110)
    assert state_of(caught.value, agent).value.usage == Usage(11, 1100, 110)


@MODES
@pytest.mark.parametrize("kept", ["add", "nothing"])
async def test_a_reply_of_too_many_calls_is_an_error_before_any_of_them(run: Any, kept: str) -> None:
    world = World()
    many = reply(*[call(kept, x=n) for n in range(4)], Message("assistant", "x"), finish="tool_calls")
    agent, _ = agent_with(many, many, "done", world=world)
    config = RunConfig(max_calls_per_reply=3)
    with pytest.raises(ModelBehaviorError, match=r"4 calls in one reply.*max_calls_per_reply") as caught:
        await run(agent, "go", run_config=config)
    assert not world.done
    state = state_of(caught.value, agent)
    assert state.value.usage == Usage(1, 10, 5)
    assert (await run(agent, state, run_config=RunConfig(max_calls_per_reply=4))).final_output == "done"


def test_a_thousand_calls_a_reply_are_the_default_and_one_the_least() -> None:
    assert RunConfig().max_calls_per_reply == 1_000
    with pytest.raises(UserError, match="max_calls_per_reply=0"):
        RunConfig(max_calls_per_reply=0)
