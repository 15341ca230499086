"""`wrap_model_call`: what the wrapper returns is the reply, recorded once; what it asks for is paid for and counted."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from msgspec import structs

from agentsdk import (
    Agent,
    CostLimitExceededError,
    FallbackModel,
    MemoryRunStore,
    Message,
    ModelError,
    ModelPrice,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    RateLimitError,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    Usage,
    UserError,
)
from agentsdk.errors import CallbackError, EmptyResponseError, RequestLimitExceededError
from agentsdk.events import AttemptDiscarded, RawResponsesStreamEvent, ResponseCompleted
from agentsdk.runs import TurnContext
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.deltas import ModelStreamEvent, OutputTextDelta
from agentsdk.types.events import AttemptSpent, RunEvent, RunResumed, ToolFinished
from tests.engine.recorded import recorded, scenario_called
from tests.scenarios import RUN_ID, SCENARIOS, Scenario, World, cut, tool_of, unwrapped

pytestmark = pytest.mark.anyio

Handler = Callable[[ModelRequest], Awaitable[ModelResponse]]
Wrap = Callable[..., Any]


def said(text: str, usage: Usage = Usage()) -> ModelResponse:
    return ModelResponse((Message("assistant", text),), usage)


async def passed(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
    return await handler(request)


async def run(model: Any, wrap: Wrap, *, world: World | None = None, **config: Any) -> Any:
    agent: Agent[Any, Any] = Agent("main", model=model, tools=[tool_of(world or World(), "add")])
    return await Runner.run(agent, "go", run_config=RunConfig(wrap_model_call=wrap, **config))


def texts(items: Iterable[object]) -> list[str]:
    return [item.text for item in items if isinstance(item, Message)]


def log_of(result: Any) -> list[RunEvent]:
    state = result if isinstance(result, RunState) else result.to_state()
    return list(state.value.log)


def attempts(result: Any) -> list[AttemptSpent]:
    return [event for event in log_of(result) if isinstance(event, AttemptSpent)]


SNAPSHOT = re.compile("snapshot='[^']+'")
WITHOUT_WRAPPERS = [scenario for scenario in SCENARIOS if scenario.config.wrap_model_call is None]


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
@pytest.mark.parametrize("scenario", WITHOUT_WRAPPERS, ids=str)
async def test_a_wrapper_that_only_passes_on_changes_nothing(scenario: Scenario, streamed: bool) -> None:
    async def passed_tool(context: Any, arguments: dict[str, Any], handler: Any) -> Any:
        return await handler(arguments)

    config = dataclasses.replace(scenario.config, wrap_model_call=passed, wrap_tool_call=passed_tool)
    logs: list[list[str]] = []
    for one in (scenario, dataclasses.replace(scenario, config=config)):
        run_config = await recorded(one, streamed)
        log = (await Runner.load(RUN_ID, run_config=run_config)).value.log
        # Calls that run side by side may end in another order, and no two snapshots of a program are equal.
        events = [(path, event) for path, event in unwrapped(log) if not isinstance(event, RunResumed)]
        logs.append(sorted(SNAPSHOT.sub("snapshot", f"{path} {event!r}") for path, event in events))
    assert logs[0] == logs[1]


async def test_it_is_given_the_turn_the_agent_the_request_and_what_sends_it() -> None:
    seen: list[tuple[object, ...]] = []

    async def wrap(context: TurnContext[str], agent: Agent[Any, Any], request: ModelRequest, handler: Handler) -> ModelResponse:
        seen.append((context.context, context.turn, context.run_id, context.usage.requests, agent.name, len(request.items)))
        return await handler(request)

    agent = Agent[str, str]("main", model=ScriptedModel([call("add", x=1), "one"]), tools=[tool_of(World(), "add")])
    await Runner.run(agent, "go", context="mine", run_config=RunConfig(wrap_model_call=wrap, run_id="r"))
    assert seen == [("mine", 1, "r", 0, "main", 1), ("mine", 2, "r", 1, "main", 3)]


async def test_it_may_change_the_request_but_not_what_is_the_runs() -> None:
    model = ScriptedModel(["fine"])

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        changed = structs.replace(request, instructions="Be brief.", items=[*request.items, Message("user", "more")])
        return await handler(structs.replace(changed, request_id="mine", stream=True))

    result = await run(model, wrap, run_id="r")
    (sent,) = model.requests
    assert (sent.instructions, texts(sent.items), sent.stream) == ("Be brief.", ["go", "more"], False)  # type: ignore[union-attr]
    assert sent.request_id.endswith("-1")
    assert texts(result.to_state().items()) == ["go", "fine"]


async def test_it_may_change_the_reply_which_is_paid_for_as_it_came() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        reply = await handler(request)
        return said(reply.text.upper())

    result = await run(ScriptedModel(["fine"]), wrap)
    assert (result.final_output, result.usage, attempts(result)) == ("FINE", Usage(1, 10, 5), [])
    assert result.raw_responses[0].model == "scripted"


@pytest.mark.parametrize("wrap", [lambda *_: said("mine"), lambda *_: asyncio.sleep(0, said("mine"))], ids=["sync", "async"])
async def test_it_may_answer_itself_and_no_request_is_counted(wrap: Wrap) -> None:
    model = ScriptedModel([])
    result = await run(model, wrap, limits=RunLimits(requests=1, turns=1))
    assert (result.final_output, model.requests) == ("mine", [])
    assert result.usage == Usage(unsent=1) and result.usage.sent_requests == 0
    assert result.cost == 0


async def test_a_reply_of_its_own_may_say_what_it_cost() -> None:
    other = ScriptedModel(["second opinion"], name="other")

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        await handler(request)
        return said("both", Usage(2, 100, 50))

    result = await run(ScriptedModel(["fine"]), wrap, limits=RunLimits(requests=3))
    assert (result.final_output, result.usage) == ("both", Usage(3, 110, 55))
    assert [event.kind for event in attempts(result)] == ["discarded"] and other.requests == []


async def test_what_is_asked_twice_is_paid_twice_and_each_request_has_its_own_id() -> None:
    model = ScriptedModel(["first", "second"])

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        await handler(request)
        return await handler(structs.replace(request, instructions="Again."))

    result = await run(model, wrap, run_id="r")
    assert (result.final_output, result.usage) == ("second", Usage(2, 20, 10))
    assert [event.kind for event in attempts(result)] == ["discarded"]
    first, second = (request.request_id for request in model.requests)
    assert second == f"{first}-again-1"


async def test_the_first_of_several_replies_may_be_taken() -> None:
    replies = [ModelResponse((Message("assistant", text),), Usage(1, tokens, 1)) for text, tokens in (("a", 100), ("b", 7))]

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        first = await handler(request)
        await handler(request)
        return first

    result = await run(ScriptedModel(replies), wrap)
    assert (result.final_output, result.usage) == ("a", Usage(2, 107, 2))


async def test_it_may_ask_again_after_an_error_whose_cost_is_recorded() -> None:
    error = RateLimitError("too many requests")
    error.usage = Usage(1, 3, 0)
    model = ScriptedModel([error, "fine"])

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        try:
            return await handler(request)
        except RateLimitError:
            return await handler(request)

    result = await run(model, wrap, limits=RunLimits(requests=2))
    assert (result.final_output, result.usage) == ("fine", Usage(2, 13, 5))
    assert [(event.kind, event.usage) for event in attempts(result)] == [("discarded", Usage(1, 3, 0))]


async def test_it_may_answer_in_place_of_an_error() -> None:
    error = RateLimitError("too many requests")
    error.usage = Usage(1, 3, 0)

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        try:
            return await handler(request)
        except ModelError:
            return said("later")

    result = await run(ScriptedModel([error]), wrap, limits=RunLimits(requests=1, turns=1))
    assert (result.final_output, result.usage) == ("later", Usage(1, 3, 0, unsent=1))


async def test_an_error_that_it_lets_pass_is_as_it_was() -> None:
    error = RateLimitError("too many requests")
    error.usage = Usage(1, 3, 0)
    with pytest.raises(RateLimitError) as caught:
        await run(ScriptedModel([error]), passed)
    assert [(event.kind, event.usage) for event in attempts(caught.value.state)] == [("reply", Usage(1, 3, 0))]


async def test_an_earlier_error_that_it_raises_is_recorded_once() -> None:
    first, second = RateLimitError("one"), RateLimitError("two")
    first.usage, second.usage = Usage(1, 3, 0), Usage(1, 4, 0)

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        try:
            return await handler(request)
        except ModelError as error:
            with pytest.raises(RateLimitError, match="two"):
                await handler(request)
            raise error

    with pytest.raises(RateLimitError, match="one") as caught:
        await run(ScriptedModel([first, second]), wrap)
    assert [event.usage.input_tokens for event in attempts(caught.value.state)] == [3, 4]


async def test_an_error_of_its_own_model_is_recorded_too() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        error = RateLimitError("another model of mine")
        error.usage = Usage(1, 8, 0)
        raise error

    with pytest.raises(RateLimitError) as caught:
        await run(ScriptedModel([]), wrap)
    assert caught.value.state.usage == Usage(1, 8, 0)


async def test_one_that_raises_is_a_callback_error_and_the_state_goes_on() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        await handler(request)
        raise ValueError("secret")

    agent: Agent[Any, Any] = Agent("main", model=ScriptedModel(["lost", "fine"]))
    with pytest.raises(CallbackError, match="wrap_model_call raised ValueError") as caught:
        await Runner.run(agent, "go", run_config=RunConfig(wrap_model_call=wrap))
    assert "secret" not in str(caught.value) and isinstance(caught.value.__cause__, ValueError)
    assert caught.value.state.usage == Usage(1, 10, 5), "the reply is paid for all the same"
    result = await Runner.run(agent, RunState.from_string(agent, caught.value.state.to_string()))
    assert (result.final_output, result.usage) == ("fine", Usage(2, 20, 10))


def no_reply(*_: object) -> str:
    return "text"


def broken_reply(*_: object) -> ModelResponse:
    return ModelResponse((Message("assistant", "x"),), usage=None)  # type: ignore[arg-type]


async def wrong_request(context: Any, agent: Any, request: ModelRequest, handler: Any) -> ModelResponse:
    return await handler("go")  # type: ignore[no-any-return]


async def wrong_items(context: Any, agent: Any, request: ModelRequest, handler: Any) -> ModelResponse:
    return await handler(structs.replace(request, items=7))  # type: ignore[no-any-return]


async def two_at_once(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
    first, _ = await asyncio.gather(handler(request), handler(request))
    return first


async def left_behind(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
    task = asyncio.ensure_future(handler(request))
    await asyncio.sleep(0)
    assert not task.done()
    return said("mine")


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (no_reply, "wrap_model_call returned 'str', expected a ModelResponse"),
        (broken_reply, "wrap_model_call returned a reply whose parts are not what their types say"),
        (wrong_request, "the handler of wrap_model_call was given 'str', expected a ModelRequest"),
        (wrong_items, "the handler of wrap_model_call was given a request whose items are 'int'"),
        (two_at_once, "the handler of wrap_model_call was called twice at once"),
        (left_behind, "wrap_model_call returned while a call of its handler went on"),
    ],
)
async def test_what_a_wrapper_does_wrong_is_a_user_error_with_the_state(wrap: Wrap, words: str) -> None:
    before, model = asyncio.all_tasks(), Slow("fine")
    with pytest.raises(UserError, match=words) as caught:
        await run(model, wrap)
    assert caught.value.state is not None
    assert asyncio.all_tasks() == before, "nothing of it goes on"
    assert model.cut == (wrap in (two_at_once, left_behind))


class Slow(ScriptedModel):
    """A model that takes its time, and notes when it is cut."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(replies)
        self.begun = asyncio.Event()
        self.cut = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        self.begun.set()
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            async for event in super().stream(request):
                yield event
        except asyncio.CancelledError:
            self.cut += 1
            raise


async def test_a_handler_that_is_kept_is_of_no_use_later() -> None:
    kept: list[Any] = []

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        kept.extend([handler, request])
        return said("mine")

    await run(ScriptedModel([]), wrap)
    handler, request = kept
    with pytest.raises(UserError, match="was called when that had returned"):
        await handler(request)


class Never(ScriptedModel):
    """A model whose first request never gets its reply."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(replies)
        self.asked = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        if not self.asked.is_set():
            self.asked.set()
            await asyncio.Event().wait()
        async for event in super().stream(request):
            yield event


async def test_a_request_that_it_cuts_may_be_paid_for() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        first = asyncio.ensure_future(handler(request))
        await model.asked.wait()
        first.cancel()
        await asyncio.wait([first])
        return await handler(request)

    model = Never("fine")
    result = await run(model, wrap, limits=RunLimits(requests=2))
    assert result.final_output == "fine"
    assert [(event.kind, event.usage) for event in attempts(result)] == [("discarded", Usage(1, known=False))]
    assert result.usage == Usage(2, 10, 5, known=False)


async def test_cancellation_passes_through_and_records_nothing() -> None:
    seen: list[str] = []

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        try:
            return await handler(request)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    model, store = Never("fine"), MemoryRunStore()
    agent: Agent[Any, Any] = Agent("main", model=model)
    config = RunConfig(wrap_model_call=wrap, store=store, run_id="r")
    task = asyncio.ensure_future(Runner.run(agent, "go", run_config=config))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = await Runner.load("r", run_config=config)
    assert (seen, attempts(state), state.usage) == (["cancelled"], [], Usage())
    assert (await Runner.resume(agent, "r", run_config=config)).final_output == "fine"


async def test_a_reply_that_was_paid_for_is_recorded_when_the_run_is_cancelled() -> None:
    class Second(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
            if self.requests:
                asked.set()
                await asyncio.Event().wait()
            async for event in super().stream(request):
                yield event

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        await handler(request)
        return await handler(request)

    asked = asyncio.Event()
    config = RunConfig(wrap_model_call=wrap, store=MemoryRunStore(), run_id="r")
    task = asyncio.ensure_future(Runner.run(Agent("main", model=Second(["first"])), "go", run_config=config))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await Runner.load("r", run_config=config)).usage == Usage(1, 10, 5)


async def test_each_request_is_reserved_in_the_limits() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        await handler(request)
        return await handler(request)

    model = ScriptedModel(["a", "b", "c"])
    with pytest.raises(RequestLimitExceededError) as caught:
        await run(model, wrap, limits=RunLimits(requests=1))
    assert (len(model.requests), caught.value.state.usage.requests) == (1, 1)


async def test_a_limit_on_cost_holds_between_its_requests_too() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        while True:
            await handler(structs.replace(request, settings=ModelSettings(max_tokens=10_000)))

    model = ScriptedModel(["x"] * 100, name="m", usage=Usage(1, 100, 400))
    limits = RunLimits(cost=Decimal("0.002"), output_tokens_per_request=400)
    with pytest.raises(CostLimitExceededError) as caught:
        await run(model, wrap, limits=limits, prices={"m": ModelPrice(input=1, output=1)})
    assert caught.value.used <= Decimal("0.002")
    assert len(model.requests) == 4
    assert all((request.settings.max_tokens or 10_000) < 2_000 for request in model.requests), "what is left is the cap"


async def test_limits_count_on_after_a_resume_as_they_did_before() -> None:
    turns: list[int] = []

    async def wrap(context: TurnContext[Any], agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        turns.append(context.turn)
        if context.turn == 1:
            await handler(request)
        if context.turn == 2:
            return structs.replace(said(""), output=(call("add", x=2),), finish="tool_calls")
        return await handler(request)

    world = World()
    agent: Agent[Any, Any] = Agent("main", model=ScriptedModel(["no", call("add", x=1), "fine"]), tools=[tool_of(world, "add")])
    config = RunConfig(wrap_model_call=wrap, limits=RunLimits(requests=2, turns=10))
    with pytest.raises(RequestLimitExceededError) as caught:
        await Runner.run(agent, "go", run_config=config)
    assert (turns, caught.value.used) == ([1], 2)
    config = dataclasses.replace(config, limits=RunLimits(requests=3, turns=10))
    result = await Runner.run(agent, RunState.from_string(agent, caught.value.state.to_string()), run_config=config)
    assert (result.final_output, turns, result.usage) == ("fine", [1, 2, 3], Usage(3, 30, 15, unsent=1))
    again = await Runner.run(agent.clone(model=ScriptedModel(["no", call("add", x=1), "fine"])), "go", run_config=config)
    assert again.usage == result.usage, "what took no request is none of the three, in one process too"


async def test_a_tool_that_the_wrapper_hid_is_not_run() -> None:
    world = World()

    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        return await handler(structs.replace(request, tools=()))

    result = await run(ScriptedModel([call("add", x=1), "sorry"]), wrap, world=world)
    (finished,) = [event for event in log_of(result) if isinstance(event, ToolFinished)]
    assert finished.is_error and "no tool named 'add'" in str(finished.output) and not world.done


async def test_the_tools_are_those_of_the_request_whose_reply_is_taken() -> None:
    world = World()

    async def wrap(context: TurnContext[Any], agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        first = await handler(request)
        if context.turn == 1:
            await handler(structs.replace(request, tools=()))
        return first

    await run(ScriptedModel([call("add", x=1), "no", "fine"]), wrap, world=world)
    assert len(world.done) == 1


async def test_it_stands_around_each_request_of_a_turn() -> None:
    seen: list[str] = []

    async def wrap(context: TurnContext[Any], agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        reply = await handler(request)
        seen.append(f"{context.turn} {reply.text}")
        return reply

    result = await run(ScriptedModel(["", cut("half "), "way"]), wrap)
    assert (result.final_output, seen) == ("half way", ["1 ", "1 half ", "1 way"])


async def test_an_empty_reply_of_its_own_is_asked_for_again_within_the_bound() -> None:
    with pytest.raises(EmptyResponseError):
        await run(ScriptedModel([]), lambda *_: said(""))


async def raw(stream: Any) -> list[Any]:
    return [event.data async for event in stream.stream_events() if isinstance(event, RawResponsesStreamEvent)]


async def test_deltas_flow_while_the_wrapper_waits() -> None:
    shown = asyncio.Event()

    class Held(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
            yield OutputTextDelta("early")
            await shown.wait()  # until the reader has it
            async for event in super().stream(request):
                yield event

    agent: Agent[Any, Any] = Agent("main", model=Held(["fine"]))
    stream = Runner.run_streamed(agent, "go", run_config=RunConfig(wrap_model_call=passed))
    async for event in stream.stream_events():
        if isinstance(event, RawResponsesStreamEvent) and event.data == OutputTextDelta("early"):
            shown.set()
    assert stream.final_output == "fine"


async def test_deltas_of_a_reply_that_is_not_taken_are_said_to_be_void() -> None:
    async def wrap(context: Any, agent: Any, request: ModelRequest, handler: Handler) -> ModelResponse:
        await handler(request)
        await handler(request)
        return said("third")

    agent: Agent[Any, Any] = Agent("main", model=ScriptedModel(["first", "second"]))
    events = await raw(Runner.run_streamed(agent, "go", run_config=RunConfig(wrap_model_call=wrap)))
    texts = [event.delta if isinstance(event, OutputTextDelta) else type(event).__name__ for event in events]
    assert [text for text in texts if text in ("first", "second", "third", "AttemptDiscarded", "ResponseCompleted")] == [
        *("first", "ResponseCompleted", "AttemptDiscarded"),
        *("second", "ResponseCompleted", "AttemptDiscarded"),
        *("third", "ResponseCompleted"),
    ]
    assert [event.reason for event in events if isinstance(event, AttemptDiscarded)] == [
        "wrap_model_call asks again",
        "wrap_model_call gives another reply",
    ]
    assert isinstance(events[-1], ResponseCompleted) and events[-1].response.text == "third"


async def test_a_reply_of_its_own_is_streamed_and_an_output_grows() -> None:
    agent: Agent[Any, Any] = Agent("main", model=ScriptedModel([]))
    stream = Runner.run_streamed(agent, "go", run_config=RunConfig(wrap_model_call=lambda *_: said("all by itself")))
    grown = [value async for value in stream.stream_output()]
    assert grown == ["all", "all by", "all by itself"]


async def test_a_rerun_asks_the_wrapper_only_where_the_runs_part() -> None:
    config = await recorded(scenario_called("wrapped model and tools"))
    world = World()
    agent = scenario_called("wrapped model and tools").build(world)
    brief = agent.clone(instructions="Be brief.")
    rerun = await Runner.replay(agent, RUN_ID, change=brief, run_config=config)
    assert rerun.divergence is not None and rerun.divergence.turn == 1
    assert (rerun.reused, rerun.asked, rerun.final_output) == (0, 3, "the sum")
    assert [what for what in world.done if "wrap_model_call" in what] == [f"wrap_model_call in turn {n}" for n in (1, 2, 3, 4)]
    assert len([what for what in world.done if "wrap_tool_call" in what]) == 0, "the calls are equal, and have their results"


async def test_a_rerun_has_the_discarded_attempts_of_the_record() -> None:
    busy = RateLimitError("busy")
    busy.usage = Usage(1, 3, 0)
    model = FallbackModel(ScriptedModel([busy], name="one"), ScriptedModel(["fine"], name="two"))
    agent: Agent[Any, Any] = Agent("main", model=model)
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    result = await Runner.run(agent, "go", run_config=config)
    assert result.usage == Usage(2, 13, 5)
    rerun = await Runner.replay(agent, "r", change=agent.clone(), run_config=config)
    assert (rerun.divergence, rerun.asked, rerun.state.usage) == (None, 0, Usage(2, 13, 5))
    again = await Runner.replay(agent, "r", change=agent.clone(), at=2, run_config=config)
    assert (again.divergence, again.asked, again.state.usage) == (None, 0, Usage(2, 13, 5))


def test_it_must_be_callable() -> None:
    with pytest.raises(UserError, match=r"RunConfig\(wrap_model_call=7\), expected a callable"):
        RunConfig(wrap_model_call=7)  # type: ignore[arg-type]
