"""What the body of a call asks the run's model: its cost, its limits, and that it is paid for once."""

from __future__ import annotations

from typing import Any

import pytest

from agentsdk import (
    Agent,
    MemoryRunStore,
    ModelError,
    ModelSettings,
    RunConfig,
    RunLimits,
    Runner,
    RunState,
    ToolContext,
    Usage,
    UserError,
    function_tool,
)
from agentsdk.context_window import EstimatingCounter
from agentsdk.core.codec import decode_events
from agentsdk.errors import RequestLimitExceededError
from agentsdk.events import AttemptSpent, ToolCheckpointed, ToolFinished
from agentsdk.items import Message
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import CodeTool
from agentsdk.types.response import ModelResponse
from tests.engine.recorded import RUN_ID, stored

pytestmark = pytest.mark.anyio


def said(text: str, tokens: int = 10) -> ModelResponse:
    return ModelResponse((Message("assistant", text),), Usage(1, tokens, tokens), model="scripted")


def asker(*replies: Any, **options: Any) -> tuple[Agent[Any, Any], ScriptedModel, list[str]]:
    """An agent whose tool asks the model what a page says, unless it has saved that, and what it was told."""
    told: list[str] = []

    async def sum_up(ctx: ToolContext[Any]) -> str:
        if not ctx.checkpoint:
            settings = ModelSettings(max_tokens=100)
            reply = await ctx.ask_model("a page", instructions="Be brief.", settings=settings, checkpoint=lambda one: one.text)
            told.append(reply.text)
        return f"it says {ctx.checkpoint}"

    model = ScriptedModel(replies)
    options = {"effect": "none", **options}
    return Agent("main", model=model, tools=[function_tool(sum_up, **options)]), model, told


def outputs(result: Any) -> list[Any]:
    return [event.output for event in result.to_state().value.log if isinstance(event, ToolFinished)]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_call_asks_the_runs_model_and_the_run_pays(streamed: bool) -> None:
    agent, model, _ = asker(call("sum_up"), said("all is well"), "done")
    shown: list[str] = []
    if streamed:
        run = Runner.run_streamed(agent, "go")
        async for event in run.stream_events():
            shown.append(repr(event))
        result: Any = run
    else:
        result = await Runner.run(agent, "go")
    request = model.requests[1]
    assert (request.instructions, [*request.all_items]) == ("Be brief.", [Message("user", "a page")])
    assert (request.tools, request.settings.max_tokens, request.stream) == ((), 100, False)
    state = result.to_state().value
    assert [(event.kind, event.usage) for event in state.log if isinstance(event, AttemptSpent)] == [("call", Usage(1, 10, 10))]
    assert (state.usage.requests, state.turns, result.final_output) == (3, 2, "done")
    assert not any("response.output_text.delta" in one and "all is well" in one for one in shown)


async def test_what_was_paid_is_not_paid_again_wherever_the_process_died() -> None:
    agent, _, _ = asker(call("sum_up"), said("all is well"), "done")
    log = list((await Runner.run(agent, "go", run_config=RunConfig(run_id=RUN_ID))).to_state().value.log)
    at = next(at for at, event in enumerate(log) if isinstance(event, ToolCheckpointed))
    assert isinstance(log[at - 1], AttemptSpent)
    for cut in range(at + 1, len(log)):
        again, _, told = asker("done")
        result = await Runner.resume(again, RUN_ID, run_config=await stored(log[:cut]))
        assert (result.final_output, told, result.usage.requests) == ("done", [], 3)
        assert outputs(result) == ["it says all is well"]


async def test_its_cost_and_what_the_call_saves_are_one_append() -> None:
    appended: list[list[type]] = []

    class Store(MemoryRunStore):
        async def append(self, run_id: str, expected_rev: int, events: Any, summary: Any) -> int:
            appended.append([type(event) for event in decode_events(events)])
            return await super().append(run_id, expected_rev, events, summary)

    agent, _, _ = asker(call("sum_up"), said("all is well"), "done")
    await Runner.run(agent, "go", run_config=RunConfig(store=Store(), run_id="r"))
    assert [AttemptSpent, ToolCheckpointed] in appended


async def test_a_limit_of_the_run_refuses_it_and_the_model_is_told() -> None:
    agent, model, told = asker(call("sum_up"), said("x"), "done")
    with pytest.raises(RequestLimitExceededError) as caught:
        await Runner.run(agent, "go", run_config=RunConfig(limits=RunLimits(requests=1)))
    assert (len(model.requests), told) == (1, [])
    assert isinstance(caught.value.state, RunState)
    [output] = [event.output for event in caught.value.state.value.log if isinstance(event, ToolFinished)]
    assert "the run's limits do not allow another request: run of agent 'main' made 1 requests" in str(output)


async def test_it_counts_in_the_limits_of_the_runs_around_it_and_its_output_is_capped() -> None:
    inner, model, told = asker(call("sum_up"), said("x"), "inner done")
    outer = Agent("outer", model=ScriptedModel([call("main", input="x"), "done"]), tools=[inner.as_tool()])
    with pytest.raises(RequestLimitExceededError):
        await Runner.run(outer, "go", run_config=RunConfig(limits=RunLimits(requests=3)))
    assert (len(model.requests), told) == (2, ["x"])
    agent, model, _ = asker(call("sum_up"), said("x", 40), "done")
    config = RunConfig(limits=RunLimits(output_tokens=500, reserved_output_tokens=1), token_counter=EstimatingCounter())
    result = await Runner.run(agent, "go", run_config=config)
    assert result.usage.output_tokens >= 40
    after = model.requests[2].settings.max_tokens
    assert after is not None and after <= 460


async def test_what_a_request_that_failed_has_cost_is_the_runs_too() -> None:
    error = ModelError("down")
    error.usage = Usage(2, 7, 0)
    agent, _, _ = asker(call("sum_up"), error, "done")
    result = await Runner.run(agent, "go", run_config=RunConfig(limits=RunLimits(requests=10)))
    assert result.usage.requests == 4
    assert [(event.kind, event.model) for event in result.to_state().value.log if isinstance(event, AttemptSpent)] == [
        ("call", "scripted")
    ]
    assert "down" in str(outputs(result))


async def test_what_was_paid_counts_also_where_its_checkpoint_fails() -> None:
    async def ask(ctx: ToolContext[Any]) -> str:
        return (await ctx.ask_model("x", checkpoint=lambda reply: reply.text * 1_000_000)).text

    model = ScriptedModel([call("ask"), said("a page"), "done"])
    agent = Agent("main", model=model, tools=[function_tool(ask)])
    result = await Runner.run(agent, "go", run_config=RunConfig(limits=RunLimits(requests=3, tokens=10_000)))
    assert "expected a text of 1000000 at most" in str(outputs(result))
    assert (result.final_output, result.usage.requests) == ("done", 3)


async def test_each_request_has_an_id_of_its_own() -> None:
    async def ask_twice(ctx: ToolContext[Any]) -> str:
        return "".join([(await ctx.ask_model("x")).text for _ in range(2)])

    model = ScriptedModel([call("ask_twice"), said("a"), said("b"), "done"])
    await Runner.run(Agent("main", model=model, tools=[function_tool(ask_twice)]), "go")
    ids = [request.request_id for request in model.requests]
    assert all(ids) and len(set(ids)) == 4


async def test_in_a_program_it_is_the_model_that_wrote_it() -> None:
    agent, model, told = asker(call("run_code", code="print(await sum_up())"), said("all is well"), "done")
    agent.tools = [CodeTool(agent.tools)]
    result = await Runner.run(agent, "go")
    assert (result.final_output, told, len(model.requests), result.usage.requests) == ("done", ["all is well"], 3, 3)


async def test_a_model_that_a_callable_chooses_is_that_of_the_turn_in_another_process_too() -> None:
    chosen: list[int] = []

    def choose(context: Any, agent: Any) -> ScriptedModel:
        chosen.append(context.turn)
        return model

    agent, model, _ = asker(call("sum_up"), said("all is well"), "done")
    agent.model = choose
    log = list((await Runner.run(agent, "go", run_config=RunConfig(run_id=RUN_ID))).to_state().value.log)
    assert chosen == [1, 2]
    at = next(at for at, event in enumerate(log) if isinstance(event, AttemptSpent))
    agent, model, _ = asker(said("all is well"), "done")
    agent.model = choose
    assert outputs(await Runner.resume(agent, RUN_ID, run_config=await stored(log[:at]))) == ["it says all is well"]


async def test_outside_a_run_and_after_the_call_nobody_can_be_asked() -> None:
    kept: list[ToolContext[Any]] = []

    async def work(ctx: ToolContext[Any]) -> str:
        kept.append(ctx)
        return "done"

    await Runner.run(Agent("a", model=ScriptedModel([call("work"), "done"]), tools=[function_tool(work)]), "go")
    for ctx in (*kept, ToolContext[Any](None, tool_name="work")):
        with pytest.raises(UserError, match="expected to be in a call of a run that is not over"):
            await ctx.ask_model("x")


@pytest.mark.parametrize("wrong", [{"settings": {}}, {"instructions": 5}, {"checkpoint": "x"}])
async def test_wrong_arguments_are_the_callers_fault(wrong: Any) -> None:
    with pytest.raises(UserError, match="expected"):
        await ToolContext[Any](None, tool_name="work").ask_model("x", **wrong)
