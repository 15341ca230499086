from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from agentsdk import (
    Agent,
    FunctionCall,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    MemoryRunStore,
    Message,
    ModelResponse,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunState,
    ToolsToFinalOutputResult,
    UserError,
    input_guardrail,
    output_guardrail,
)
from agentsdk.core.state import fold
from agentsdk.errors import CallbackError, GuardrailFailedError, InvalidOutputError
from agentsdk.testing import ScriptedModel, call
from agentsdk.types.events import GuardrailJudged, ModelReplied, Nested, RunStarted, Stopped, unnested
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio


async def run_streamed(*args: Any, **options: Any) -> Any:
    return await Runner.run_streamed(*args, **options)


MODES = pytest.mark.parametrize("run", [Runner.run, run_streamed], ids=["run", "stream"])


def guard(trips: Any = False, info: Any = None, name: str = "guard", **options: Any) -> tuple[Any, list[Any]]:
    """An input guardrail that trips when `trips`, or `trips(input)`, says so, and the inputs it saw."""
    seen: list[Any] = []

    async def function(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        seen.append(given)
        await asyncio.sleep(0)
        return GuardrailFunctionOutput(info, trips(given) if callable(trips) else trips)

    return input_guardrail(function, name=name, **options), seen


def out_guard(trips: bool = False, info: Any = None) -> tuple[Any, list[Any]]:
    seen: list[Any] = []

    def out(ctx: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
        seen.append(output)
        return GuardrailFunctionOutput(info, trips)

    return output_guardrail(out), seen


@MODES
@pytest.mark.parametrize("parallel", [True, False], ids=["beside", "before"])
async def test_a_tripped_input_guardrail_stops_the_run_before_any_tool_and_again_on_resume(run: Any, parallel: bool) -> None:
    world = World()
    trips, seen = guard(True, {"why": "rude"}, run_in_parallel=parallel)
    model = ScriptedModel([call("pay", x=1), "never"])
    agent = Agent("main", model=model, tools=[tool_of(world, "pay")], input_guardrails=[trips])
    with pytest.raises(InputGuardrailTripwireTriggered, match="'guard' stopped the run") as caught:
        await run(agent, "go")
    result: Any = caught.value.guardrail_result
    assert (result.guardrail, result.output.output_info) == ("guard", {"why": "rude"})
    assert not world.done
    assert parallel or not model.requests
    state = caught.value.state
    assert isinstance(state, RunState)
    for _ in range(2):
        with pytest.raises(InputGuardrailTripwireTriggered):
            await run(agent, reloaded(agent, state))
    assert len(seen) == 1 and not world.done


async def test_replacing_the_input_asks_the_guardrails_again() -> None:
    trips, seen = guard(lambda given: given[-1].text == "rude")
    model = ScriptedModel(["never shown", "nor this", "hello"])
    agent = Agent("main", model=model, input_guardrails=[trips])
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(agent, "rude")
    state = caught.value.state
    assert isinstance(state, RunState)
    state.replace_input("still rude")
    state.replace_input("rude")
    with pytest.raises(InputGuardrailTripwireTriggered) as again:
        await Runner.run(agent, reloaded(agent, state))
    state = again.value.state
    assert isinstance(state, RunState)
    state.replace_input("polite")
    result = await Runner.run(agent, state)
    assert result.final_output == "hello"
    assert [given[-1].text for given in seen] == ["rude", "rude", "polite"]
    assert [item["content"] for item in result.to_input_list()] == ["polite", "hello"]


async def test_input_guardrails_see_the_input_without_the_sessions_history() -> None:
    from agentsdk import MemorySession

    passes, seen = guard()
    session = MemorySession("s")
    await session.add_items([Message("user", "before"), Message("assistant", "yes")])
    agent = Agent("main", model=ScriptedModel(["hi"]), input_guardrails=[passes])
    result = await Runner.run(agent, "go", session=session)
    assert [[item.text for item in given] for given in seen] == [["go"]]
    assert [verdict.output.output_info for verdict in result.input_guardrail_results] == [None]


async def test_input_guardrails_are_those_of_the_run_and_of_its_first_agent_only_and_are_asked_once() -> None:
    of_run, run_seen = guard(name="run's")
    of_first, first_seen = guard(name="first's")
    of_second, second_seen = guard(name="second's")
    second = Agent(
        "second", model=ScriptedModel([call("add", x=1), "done"]), tools=[tool_of(World(), "add")], input_guardrails=[of_second]
    )
    first = Agent("first", model=ScriptedModel([call("transfer_to_second")]), handoffs=[second], input_guardrails=[of_first])
    result = await Runner.run(first, "go", run_config=RunConfig(input_guardrails=[of_run]))
    assert result.final_output == "done"
    assert [len(run_seen), len(first_seen), len(second_seen)] == [1, 1, 0]
    assert sorted(verdict.guardrail for verdict in result.input_guardrail_results) == ["first's", "run's"]


async def test_a_blocking_guardrail_comes_before_the_first_request_and_a_parallel_one_beside_it() -> None:
    order: list[str] = []

    class Noting:
        name = "noting"

        async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
            order.append("model begins")
            async for event in ScriptedModel(["hi"]).stream(request):
                yield event
            order.append("model ends")

    @input_guardrail
    async def beside(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        for _ in range(10):
            await asyncio.sleep(0)
        order.append("beside")
        return GuardrailFunctionOutput(None, False)

    @input_guardrail(run_in_parallel=False)
    async def before(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        await asyncio.sleep(0)
        order.append("before")
        return GuardrailFunctionOutput(None, False)

    await Runner.run(Agent("main", model=Noting(), input_guardrails=[beside, before]), "go")
    assert order == ["before", "model begins", "model ends", "beside"]


async def test_a_run_lost_before_the_verdict_asks_the_guardrail_before_any_tool() -> None:
    world = World()
    trips, seen = guard(lambda given: True)
    agent = Agent("main", model=ScriptedModel([call("pay", x=1)]), tools=[tool_of(world, "pay")], input_guardrails=[trips])
    started = RunStarted("r", "main", (Message("user", "go"),), 0, 0.0)
    replied = ModelReplied(ModelResponse((FunctionCall("c", "pay", '{"x":1}'),)), 0.0)
    state = reloaded(agent, RunState(fold([started, replied])))
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, state)
    assert seen == [(Message("user", "go"),)] and not world.done


async def test_a_trip_stops_the_model_call_beside_it() -> None:
    ended: list[str] = []

    class Endless:
        name = "endless"

        async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
            try:
                await asyncio.Event().wait()
                yield None
            finally:
                ended.append("closed")

    trips, _ = guard(True)
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(Agent("main", model=Endless(), input_guardrails=[trips]), "go")
    assert ended == ["closed"]


@MODES
async def test_a_guardrail_that_raises_fails_closed_and_is_asked_again_on_resume(run: Any) -> None:
    world, broken = World(), True

    @input_guardrail
    def fragile(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        if broken:
            raise ConnectionError("no verdict")
        return GuardrailFunctionOutput(None, False)

    model = ScriptedModel([call("pay", x=1), call("pay", x=1), "paid"])
    agent = Agent(
        "main", model=model, tools=[tool_of(world, "pay")], input_guardrails=[fragile], tool_use_behavior="stop_on_first_tool"
    )
    with pytest.raises(GuardrailFailedError, match="'fragile' raised ConnectionError") as caught:
        await run(agent, "go")
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert not world.done
    broken = False
    assert isinstance(caught.value.state, RunState)
    assert (await run(agent, reloaded(agent, caught.value.state))).final_output == "pay gave 1"


async def test_a_guardrail_without_a_verdict_fails_closed() -> None:
    nothing: Any = input_guardrail(lambda ctx, agent, given: True, name="nothing")
    with pytest.raises(GuardrailFailedError, match="'nothing' returned 'bool'"):
        await Runner.run(Agent("main", model=ScriptedModel(["hi"]), input_guardrails=[nothing]), "go")


@MODES
async def test_a_tripped_output_guardrail_hides_the_output_and_trips_again_on_resume(run: Any) -> None:
    trips, seen = out_guard(True, "rude")
    model = ScriptedModel(["rude words"])
    agent = Agent("main", model=model, output_guardrails=[trips])
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        await run(agent, "go")
    assert isinstance(caught.value.state, RunState)
    with pytest.raises(OutputGuardrailTripwireTriggered) as again:
        await run(agent, reloaded(agent, caught.value.state))
    result: Any = again.value.guardrail_result
    assert result.output.output_info == "rude"
    assert seen == ["rude words"] and len(model.requests) == 1


async def test_output_guardrails_are_the_last_agents_and_see_the_typed_output() -> None:
    of_first, first_seen = out_guard()
    of_second, second_seen = out_guard()
    of_run, run_seen = out_guard()
    second = Agent(
        "second", model=ScriptedModel(['{"response": [1, 2]}']), output_type=list[int], output_guardrails=[of_second]
    )
    first = Agent("first", model=ScriptedModel([call("transfer_to_second")]), handoffs=[second], output_guardrails=[of_first])
    await Runner.run(
        first, "go", run_config=RunConfig(output_guardrails=[output_guardrail(of_run.guardrail_function, name="run's")])
    )
    assert (first_seen, second_seen, run_seen) == ([], [[1, 2]], [[1, 2]])


async def test_a_tool_use_behavior_that_raises_or_answers_wrongly_is_typed() -> None:
    def broken(ctx: Any, results: Any) -> Any:
        raise KeyError

    def agent(behavior: Any) -> Agent[Any, Any]:
        return Agent(
            "main", model=ScriptedModel([call("add", x=1)]), tools=[tool_of(World(), "add")], tool_use_behavior=behavior
        )

    with pytest.raises(CallbackError, match="tool_use_behavior of agent 'main'") as caught:
        await Runner.run(agent(broken), "go")
    repaired = agent(lambda ctx, results: ToolsToFinalOutputResult(True, results[0].output.output))
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(repaired, reloaded(repaired, caught.value.state))).final_output == "add gave 1"
    with pytest.raises(UserError, match="returned 'str', expected a ToolsToFinalOutputResult"):
        await Runner.run(agent(lambda ctx, results: "yes"), "go")


async def test_a_tools_final_result_has_to_fit_the_output_type() -> None:
    def agent(value: Any) -> Agent[Any, Any]:
        from agentsdk import function_tool

        tool = function_tool(lambda: value, name_override="give")
        return Agent(
            "main",
            model=ScriptedModel([call("give")]),
            tools=[tool],
            tool_use_behavior="stop_on_first_tool",
            output_type=list[int],
        )

    assert (await Runner.run(agent([1, 2]), "go")).final_output == [1, 2]
    with pytest.raises(InvalidOutputError, match="does not fit"):
        await Runner.run(agent(["one"]), "go")


async def test_a_fence_around_the_whole_output_is_taken_off() -> None:
    agent = Agent("main", model=ScriptedModel(['```json\n{"response": 3}\n```']), output_type=int)
    assert (await Runner.run(agent, "go")).final_output == 3


def named_alike(kind: str, asked: list[str], trips: str) -> Any:
    """Three guardrails of one name, as a factory makes them; `trips` names the one that does."""

    def make(word: str) -> Any:
        async def check(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
            asked.append(word)
            await asyncio.sleep(0)
            return GuardrailFunctionOutput(word, word == trips)

        return input_guardrail(check) if kind == "input" else output_guardrail(check)

    return [make(word) for word in ("one", "two", "three")]


@pytest.mark.parametrize("trips", ["one", "two", "three", ""])
@pytest.mark.parametrize("kind", ["input", "output"])
async def test_guardrails_of_one_name_are_each_asked_however_the_run_was_cut(kind: str, trips: str) -> None:
    asked: list[str] = []
    one, *others = named_alike(kind, asked, trips)
    config = RunConfig(**{f"{kind}_guardrails": [one]})  # declared in two places, judged as one list

    def agent() -> Agent[Any, Any]:
        model = ScriptedModel([lambda request: "the answer"] * 3)
        return Agent("main", model=model, **{f"{kind}_guardrails": others})

    async def ending(given: Any) -> tuple[Any, RunState]:
        try:
            result = await Runner.run(agent(), given, run_config=config)
        except (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered) as error:
            assert isinstance(error.state, RunState)
            return type(error), error.state
        return result.final_output, result.to_state()

    uncut, state = await ending("go")
    assert (uncut == "the answer") is not trips and asked == ["one", "two", "three"]
    log = list(state.value.log)
    for length in range(1, len(log)):
        judged = [event for event in log[:length] if isinstance(event, GuardrailJudged)]
        said = {["one", "two", "three"][event.occurrence] for event in judged}
        asked.clear()
        assert (await ending(reloaded(agent(), RunState(fold(log[:length])))))[0] == uncut
        still = {"one", "two", "three"} - said
        # A stored trip stands: nobody else is asked then.
        assert set(asked) == (set() if trips in said and kind == "input" else still), f"cut after event {length}"


@pytest.mark.parametrize("kind", ["input", "output"])
async def test_when_there_are_more_of_a_name_all_of_it_are_asked_again(kind: str) -> None:
    asked: list[str] = []
    one, two, _ = named_alike(kind, asked, "")
    agent = Agent("main", model=ScriptedModel(["hi"]), **{f"{kind}_guardrails": [one]})
    log = list((await Runner.run(agent, "go")).to_state().value.log)
    judged = 1 + next(at for at, event in enumerate(log) if isinstance(event, GuardrailJudged))
    assert asked == ["one"]
    more = agent.clone(model=ScriptedModel(["hi"]), **{f"{kind}_guardrails": [one, two]})
    await Runner.run(more, reloaded(more, RunState(fold(log[:judged]))))
    assert asked == ["one", "one", "two"]


@pytest.mark.parametrize("nested", [False, True], ids=["run", "nested"])
@pytest.mark.parametrize("stored", [False, True], ids=["state", "store"])
async def test_an_output_that_never_fits_ends_the_run_wherever_that_was_cut(stored: bool, nested: bool) -> None:
    def agent(asked: list[str]) -> Agent[Any, Any]:
        def reply(request: Any) -> str:
            asked.append(request.request_id)
            return "not a list"

        typed = Agent("typed", model=ScriptedModel([reply] * 9), output_type=list[int])
        if not nested:
            return typed
        tool = typed.as_tool("ask", failure_error_function=None)
        return Agent("outer", model=ScriptedModel([call("ask", input="x")]), tools=[tool])

    asked: list[str] = []
    store = MemoryRunStore() if stored else None
    with pytest.raises(InvalidOutputError, match="after 1 feedback turn") as caught:
        await Runner.run(agent(asked), "go", run_config=RunConfig(run_id="r", store=store))
    assert isinstance(caught.value.state, RunState) and caught.value.output == "not a list"
    log = list(caught.value.state.value.log)
    assert isinstance(log[-1], Stopped)
    outer = int(nested)
    for length in range(1, len(log)):
        if nested and not any(isinstance(event, Nested) for event in log[:length]):
            continue
        again: list[str] = []
        resumed = agent(again)
        with pytest.raises(InvalidOutputError) as cut:
            await Runner.run(resumed, reloaded(resumed, RunState(fold(log[:length]))), run_config=RunConfig(run_id="r"))
        replies = sum(isinstance(unnested(event)[1], ModelReplied) for event in log[:length])
        assert again == asked[replies - outer :], f"cut after event {length}: {log[length - 1]}"
        assert (str(cut.value), cut.value.output) == (str(caught.value), caught.value.output)


async def test_resuming_after_an_output_that_never_fitted_asks_again_with_feedback() -> None:
    replies = ["one", "two", "three", '{"response": [3]}']
    agent = Agent("main", model=ScriptedModel(replies), output_type=list[int])
    with pytest.raises(InvalidOutputError) as caught:
        await Runner.run(agent, "go")
    assert isinstance(caught.value.state, RunState)
    result = await Runner.run(agent, reloaded(agent, caught.value.state))
    assert result.final_output == [3] and result.turns == 4
