"""`wrap_tool_call`: what the wrapper returns is the call's result; a body that must not run twice does not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from agentsdk import (
    Agent,
    FunctionTool,
    MemoryRunStore,
    RunConfig,
    Runner,
    RunState,
    ToolContext,
    ToolGuardrailFunctionOutput,
    ToolOutputGuardrailData,
    UserError,
    function_tool,
    tool_output_guardrail,
)
from agentsdk.errors import CallbackError, StoreUnavailableError, TransientToolError
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolRetrySettings
from agentsdk.types.events import ToolFinished, unnested
from agentsdk.types.items import FunctionCallOutput
from tests.engine.recorded import recorded, scenario_called
from tests.models.wire import FakeClock
from tests.scenarios import RUN_ID, World, agent_of, tool_of

pytestmark = pytest.mark.anyio

Handler = Callable[[dict[str, Any]], Awaitable[Any]]


def agent_with(tool: FunctionTool[Any], *replies: Any) -> Agent[Any, Any]:
    return Agent("main", model=ScriptedModel([*replies, "done"]), tools=[tool])


async def run(tool: FunctionTool[Any], wrap: Any, *replies: Any, **config: Any) -> Any:
    agent = agent_with(tool, *(replies or [call(tool.name, x=1)]))
    return await Runner.run(agent, "go", run_config=RunConfig(wrap_tool_call=wrap, **config))


def outputs(result: Any) -> list[tuple[object, bool]]:
    items = result.items() if isinstance(result, RunState) else result.to_state().items()
    return [(item.output, item.is_error) for item in items if isinstance(item, FunctionCallOutput)]


async def test_it_is_given_the_call_its_arguments_and_what_runs_the_body() -> None:
    seen: list[object] = []

    async def wrap(context: ToolContext[str], arguments: dict[str, Any], handler: Handler) -> Any:
        seen.append((context.context, context.tool_name, context.tool_call_id, context.agent_name, arguments))
        return await handler(arguments)

    agent = agent_with(tool_of(World(), "add"), [call("add", x=1), call("add", x=2)])
    result = await Runner.run(agent, "go", context="mine", run_config=RunConfig(wrap_tool_call=wrap))
    assert seen == [("mine", "add", f"call_1_{n}", "main", {"x": n}) for n in (1, 2)]
    assert outputs(result) == [("add gave 1", False), ("add gave 2", False)]


async def test_it_may_change_the_arguments_and_the_result() -> None:
    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        arguments["x"] = 7  # a copy: the call stays as the model made it
        return {"said": await handler(arguments)}

    result = await run(tool_of(World(), "add"), wrap)
    assert outputs(result) == [('{"said":"add gave 7"}', False)]
    assert result.to_state().items()[1].arguments == '{"x":1}'


@pytest.mark.parametrize("wrap", [lambda *_: "mine", lambda *_: asyncio.sleep(0, "mine")], ids=["sync", "async"])
async def test_it_may_answer_in_place_of_the_tool(wrap: Any) -> None:
    world = World()
    result = await run(tool_of(world, "add"), wrap)
    assert (outputs(result), world.done) == ([("mine", False)], {})


@pytest.mark.parametrize("effect", ["none", "idempotent"])
async def test_a_body_that_does_no_harm_may_run_again(effect: Any) -> None:
    tries: list[int] = []

    @function_tool(effect=effect, retry=ToolRetrySettings(max_retries=0))
    async def flaky(numbers: list[int]) -> str:
        numbers.append(0)  # its own copy
        tries.append(len(numbers))
        if len(tries) < 3:
            raise ConnectionError("away")
        return "fine"

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        while True:
            try:
                return await handler(arguments)
            except ConnectionError:
                continue

    result = await run(flaky, wrap, call("flaky", numbers=[1]))
    assert (tries, outputs(result)) == ([2, 2, 2], [("fine", False)])


async def test_its_handler_makes_all_the_attempts_of_the_tool_with_the_arguments_given() -> None:
    seen: list[tuple[int, int]] = []
    wrapped: list[int] = []

    @function_tool(effect="none", retry=ToolRetrySettings(max_retries=2))
    async def flaky(ctx: ToolContext[Any], x: int) -> str:
        seen.append((x, ctx.attempt))
        if ctx.attempt < 3:
            raise TransientToolError("busy")
        return f"x is {x}"

    async def wrap(context: ToolContext[Any], arguments: dict[str, Any], handler: Handler) -> Any:
        wrapped.append(context.attempt)
        return await handler({"x": 7})

    result = await run(flaky, wrap, call("flaky", x=1), clock=FakeClock())
    assert (seen, wrapped, outputs(result)) == ([(7, 1), (7, 2), (7, 3)], [1], [("x is 7", False)])


async def test_what_may_pass_reaches_it_when_the_attempts_are_used_up() -> None:
    @function_tool(effect="none", retry=ToolRetrySettings(max_retries=1))
    async def away(x: int) -> str:
        raise TransientToolError("busy")

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        try:
            return await handler(arguments)
        except TransientToolError as error:
            return f"later: {error}"

    result = await run(away, wrap, clock=FakeClock())
    assert outputs(result) == [("later: busy", False)]
    (finished,) = [event for event in result.to_state().value.log if isinstance(event, ToolFinished)]
    assert finished.failure == "transient", "the tool failed, and its circuit counts that"


async def test_a_store_that_fails_between_attempts_leaves_the_call_to_be_made() -> None:
    @function_tool(effect="none", retry=ToolRetrySettings(max_retries=2))
    async def flaky(ctx: ToolContext[Any], x: int) -> str:
        if ctx.attempt == 1:
            store.away = True
            raise TransientToolError("busy")
        return "fine"

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        return await handler(arguments)

    class Away(MemoryRunStore):
        away = False

        async def append(self, *args: Any, **options: Any) -> Any:
            if self.away:
                raise StoreUnavailableError("away")
            return await super().append(*args, **options)

    store, agent = Away(), agent_with(flaky, call("flaky", x=1))
    config = RunConfig(wrap_tool_call=wrap, store=store, store_timeout=0, clock=FakeClock())
    with pytest.raises(StoreUnavailableError) as caught:
        await Runner.run(agent, "go", run_config=config)
    store.away = False
    assert outputs(caught.value.state) == [("interrupted, outcome unknown", True)]
    result = await Runner.run(agent, caught.value.state, run_config=config)
    assert outputs(result) == [("fine", False)]


async def test_a_body_of_effect_once_does_not_run_twice() -> None:
    world = World()

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        await handler(arguments)
        return await handler(arguments)

    agent = agent_with(tool_of(world, "pay"), call("pay", x=1))
    with pytest.raises(UserError, match=r"would run tool 'pay' a second time .* effect is 'once'") as caught:
        await Runner.run(agent, "go", run_config=RunConfig(wrap_tool_call=wrap))
    state = RunState.from_string(agent, caught.value.state.to_string())
    assert outputs(state) == [("Error while running the tool: UserError", True)]
    result = await Runner.run(agent, state, run_config=RunConfig(wrap_tool_call=wrap))
    assert result.final_output == "done" and set(world.done.values()) == {1}, "the call is answered, and not run again"


async def test_arguments_that_a_once_body_cannot_take_leave_it_its_run() -> None:
    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        with pytest.raises(UserError, match="arguments that do not fit tool 'pay'"):
            await handler({"x": "many"})
        return await handler(arguments)

    result = await run(tool_of(World(), "pay"), wrap)
    assert outputs(result) == [("pay gave 1", False)]


async def test_what_the_body_raises_the_model_is_told_if_it_passes() -> None:
    seen: list[str] = []

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        try:
            return await handler(arguments)
        except ValueError as error:
            seen.append(str(error))
            raise

    result = await run(tool_of(World(), "bad", fails=True), wrap)
    assert seen == ["no bad today"]
    assert outputs(result) == [("Error while running the tool: ValueError: no bad today", True)]


async def test_a_timeout_is_that_of_each_run_of_the_body() -> None:
    @function_tool(timeout=0.01, effect="none")
    async def hang(x: int) -> str:
        if x == 1:
            await asyncio.Event().wait()
        return f"x is {x}"

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        try:
            return await handler(arguments)
        except TimeoutError:
            raise
        except Exception as error:
            assert type(error).__name__ == "ToolTimeoutError"
            return await handler({"x": 2})

    assert outputs(await run(hang, wrap)) == [("x is 2", False)]


@pytest.mark.parametrize("after", [False, True], ids=["before the body", "after it"])
async def test_one_that_raises_ends_the_run_and_the_call_is_answered(after: bool) -> None:
    world = World()

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        if after:
            await handler(arguments)
        raise KeyError("secret")

    agent = agent_with(tool_of(world, "pay"), call("pay", x=1))
    with pytest.raises(CallbackError, match="wrap_tool_call raised KeyError") as caught:
        await Runner.run(agent, "go", run_config=RunConfig(wrap_tool_call=wrap))
    assert "secret" not in str(caught.value) and isinstance(caught.value.__cause__, KeyError)
    state = RunState.from_string(agent, caught.value.state.to_string())
    assert outputs(state) == [("Error while running the tool: CallbackError", True)]
    assert (await Runner.run(agent, state)).final_output == "done"
    assert sum(world.done.values()) == after


async def wrong_arguments(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
    return await handler({"x": "many"})


async def no_dict(context: Any, arguments: dict[str, Any], handler: Any) -> Any:
    return await handler(7)


async def two_at_once(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
    return await asyncio.gather(handler(arguments), handler(arguments))


async def left_behind(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
    task = asyncio.ensure_future(handler(arguments))
    await asyncio.sleep(0)
    assert not task.done()
    return "mine"


@pytest.mark.parametrize(
    ("wrap", "words"),
    [
        (wrong_arguments, "wrap_tool_call gave its handler arguments that do not fit tool 'add'"),
        (no_dict, "wrap_tool_call gave its handler arguments that do not fit tool 'add'"),
        (two_at_once, "the handler of wrap_tool_call was called twice at once"),
        (left_behind, "wrap_tool_call returned while a call of its handler went on"),
    ],
)
async def test_what_a_wrapper_does_wrong_is_a_user_error_with_the_state(wrap: Any, words: str) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(UserError, match=words) as caught:
        await run(tool_of(World(), "add", "none", steps=5), wrap)
    assert caught.value.state is not None
    assert asyncio.all_tasks() == before, "nothing of it goes on"


async def test_cancellation_passes_through_and_a_once_call_is_in_doubt() -> None:
    begun, seen = asyncio.Event(), list[str]()

    @function_tool
    async def pay(x: int) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "paid"

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        try:
            return await handler(arguments)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    agent = agent_with(pay, call("pay", x=1))
    config = RunConfig(wrap_tool_call=wrap, store=MemoryRunStore(), run_id="r")
    task = asyncio.ensure_future(Runner.run(agent, "go", run_config=config))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]
    (doubt,) = (await Runner.resume(agent, "r", run_config=config)).interruptions
    assert doubt.call_id == "call_1_1"


async def test_output_guardrails_judge_what_it_returns() -> None:
    judged: list[object] = []

    @tool_output_guardrail
    def judge(data: ToolOutputGuardrailData[Any]) -> ToolGuardrailFunctionOutput:
        judged.append(data.output)
        return ToolGuardrailFunctionOutput.allow()

    result = await run(tool_of(World(), "add", tool_output_guardrails=[judge]), lambda *_: "mine")
    assert (judged, outputs(result)) == (["mine"], [("mine", False)])


async def test_a_result_of_its_own_is_cut_like_any_other() -> None:
    result = await run(tool_of(World(), "add"), lambda *_: "long " * 100, max_tool_result_chars=100)
    ((output, _),) = outputs(result)
    assert isinstance(output, str) and len(output) < 300 and "read_result" in output


async def test_arguments_are_checked_by_the_tools_own_types() -> None:
    class Order(BaseModel):
        number: int

    @function_tool
    async def cancel(order: Order) -> str:
        return f"{type(order).__name__} {order.number}"

    async def wrap(context: Any, arguments: dict[str, Any], handler: Handler) -> Any:
        return await handler({"order": {"number": 2}})

    assert outputs(await run(cancel, wrap, call("cancel", order={"number": 1}))) == [("Order 2", False)]


async def test_an_agent_as_a_tool_is_not_wrapped_but_its_calls_are() -> None:
    seen: list[tuple[str, tuple[str, ...]]] = []

    async def wrap(context: ToolContext[Any], arguments: dict[str, Any], handler: Handler) -> Any:
        seen.append((context.tool_name, context.path))
        return f"[{await handler(arguments)}]"

    world = World()
    helper = agent_of(world, [call("dig", x=1), "dug"], "helper", tools=[tool_of(world, "dig")])
    agent = agent_of(world, [call("helper", input="dig"), "done"], tools=[helper.as_tool()])
    result = await Runner.run(agent, "go", run_config=RunConfig(wrap_tool_call=wrap))
    assert seen == [("dig", ("call_1_1",))] and outputs(result) == [("dug", False)]
    finished = [event for _, event in map(unnested, result.to_state().value.log) if isinstance(event, ToolFinished)]
    assert [event.output for event in finished] == ["[dig gave 1]", "dug"]


async def test_a_rerun_asks_it_for_calls_that_the_record_has_not() -> None:
    scenario = scenario_called("wrapped model and tools")
    config, world = await recorded(scenario), World()
    agent = scenario.build(world)
    described = agent.clone(tools=[agent.tools[0].clone(description="Adds up."), agent.tools[1]])
    rerun = await Runner.replay(agent, RUN_ID, change=described, live_effects=True, run_config=config)
    assert rerun.final_output == "the sum"
    assert sorted(what.rpartition("/")[2] for what in world.done if "wrap_tool_call" in what) == [
        "call_1_1",
        "call_1_2",
        "call_3_1",
        "own",
    ]
    answers = [item.output for item in rerun.state.items() if isinstance(item, FunctionCallOutput)]
    assert answers == ['["add gave 10"]', "not run", '["add gave 20"]', '["add gave 30"]', "it said no bad today"]


async def test_one_that_raises_ends_a_rerun_too() -> None:
    def broken(*_: object) -> Any:
        raise KeyError("secret")

    scenario = scenario_called("tool turns")
    config, world = await recorded(scenario), World()
    agent = scenario.build(world)
    described = agent.clone(tools=[agent.tools[0].clone(description="Adds up.")])
    config = RunConfig(store=config.store, wrap_tool_call=broken)
    rerun = await Runner.replay(agent, RUN_ID, change=described, live_effects=True, run_config=config)
    assert isinstance(rerun.error, CallbackError) and rerun.final_output is None and not world.done


def test_it_must_be_callable() -> None:
    with pytest.raises(UserError, match=r"RunConfig\(wrap_tool_call=7\), expected a callable"):
        RunConfig(wrap_tool_call=7)  # type: ignore[arg-type]
