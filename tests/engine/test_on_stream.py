"""`agent.as_tool(on_stream=...)`: told of the nested run while it goes, whether anybody streams the whole run or not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, RunState, StreamEvent, ToolContext, UserError, function_tool
from agentsdk.engine.channel import STREAM_BUFFER
from agentsdk.errors import CallbackError
from agentsdk.testing import ScriptedModel, call
from tests.engine.test_nested_stream import agent, events_of, read, steps, text
from tests.engine.test_output_buffer import BUFFERED, guard, shown
from tests.scenarios import World, reloaded, tool_of

pytestmark = pytest.mark.anyio

NESTED = ("call_1_1",)


def listening(*replies: Any, on_stream: Any, tools: Any = (), **options: Any) -> Agent[Any, Any]:
    """An agent whose tool is an agent that gives these replies."""
    helper = agent("helper", tools, *replies)
    return agent("main", [helper.as_tool(on_stream=on_stream, **options)], call("helper", input="x"), "done")


def nested_model(main: Agent[Any, Any]) -> ScriptedModel:
    model = main.tools[0].agent.model  # type: ignore[attr-defined]
    assert isinstance(model, ScriptedModel)
    return model


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_it_is_told_of_the_nested_run_alone(is_async: bool, streamed: bool) -> None:
    heard: list[StreamEvent] = []

    async def on_stream(event: StreamEvent) -> None:
        await asyncio.sleep(0)
        heard.append(event)

    main = listening(
        call("dig", x=1), "dug it up", tools=[tool_of(World(), "dig")], on_stream=on_stream if is_async else heard.append
    )
    if streamed:
        events = await events_of(main)
        assert list(map(repr, heard)) == [repr(event) for event in events if event.path]
    else:
        assert (await Runner.run(main, "go")).final_output == "done"
    assert steps(heard) == [
        (NESTED, "agent helper"),
        (NESTED, "tool_called"),
        (NESTED, "tool_output"),
        (NESTED, "message_output_created"),
    ]
    assert text(heard, *NESTED) == "dug it up"
    assert all(request.stream for request in nested_model(main).requests)


async def test_it_is_told_before_the_run_goes_on() -> None:
    heard: list[str] = []

    @function_tool
    async def dig(ctx: ToolContext[Any]) -> str:
        """Dig."""
        ctx.emit("digging")
        while "progress digging" not in heard:  # noqa: ASYNC110 - told while the body runs
            await asyncio.sleep(0)
        return "dug"

    def on_stream(event: StreamEvent) -> None:
        heard.extend(what for _, what in steps([event]))

    main = listening(call("dig"), "dug", tools=[dig], on_stream=on_stream)
    async with asyncio.timeout(10):
        await Runner.run(main, "go")
    assert heard[-1] == "message_output_created"


async def test_it_hears_of_runs_nested_in_the_nested_one() -> None:
    heard: list[StreamEvent] = []
    deep = agent("deep", [], "deepest words")
    middle = agent("middle", [deep.as_tool()], call("deep", input="x"), "middle words")
    await Runner.run(agent("main", [middle.as_tool(on_stream=heard.append)], call("middle", input="x"), "done"), "go")
    assert text(heard, *NESTED, *NESTED) == "deepest words" and text(heard, *NESTED) == "middle words"


async def test_a_slow_one_holds_the_model_back_and_misses_nothing() -> None:
    heard: list[StreamEvent] = []

    async def on_stream(event: StreamEvent) -> None:
        await asyncio.sleep(0)
        heard.append(event)

    words = "word " * (3 * STREAM_BUFFER)
    await Runner.run(listening(words, on_stream=on_stream), "go")
    assert text(heard, *NESTED) == words


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_one_that_raises_ends_the_run_and_cuts_nothing(streamed: bool) -> None:
    world = World()
    calls = 0

    def on_stream(event: StreamEvent) -> None:
        nonlocal calls
        calls += 1
        if event.type == "run_item_stream_event" and calls < 100:
            calls = 100
            raise ConnectionError("down")

    main = listening(call("dig", x=1), "dug", tools=[tool_of(world, "dig", "once", steps=3)], on_stream=on_stream)
    with pytest.raises(CallbackError, match="on_stream of tool 'helper' raised ConnectionError") as caught:
        await (read(main) if streamed else Runner.run(main, "go"))
    assert calls == 100, "nothing more is told"
    assert sum(world.done.values()) == 1, "the call that had begun has ended"
    assert len(nested_model(main).requests) == 1
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(main, reloaded(main, caught.value.state))).final_output == "done"
    assert sum(world.done.values()) == 1


async def test_one_that_raises_at_the_last_event_does_not_repeat_the_run() -> None:
    broken = True

    def on_stream(event: StreamEvent) -> None:
        if broken and event.type == "run_item_stream_event":
            raise ConnectionError("down")

    main = listening("dug", on_stream=on_stream)
    with pytest.raises(CallbackError) as caught:
        await Runner.run(main, "go")
    broken = False
    assert isinstance(caught.value.state, RunState)
    assert (await Runner.run(main, reloaded(main, caught.value.state))).final_output == "done"
    assert len(nested_model(main).requests) == 1


async def test_a_resumed_run_tells_only_what_is_new_and_a_replay_nothing() -> None:
    heard: list[StreamEvent] = []
    main = listening(call("dig", x=1), "dug", tools=[tool_of(World(), "dig", needs_approval=True)], on_stream=heard.append)
    config = RunConfig(store=MemoryRunStore(), run_id="r")
    state = (await Runner.run(main, "go", run_config=config)).to_state()
    assert [what for _, what in steps(heard)] == ["agent helper", "tool_called"]
    heard.clear()
    state.approve(state.interruptions[0])
    await Runner.run(main, state, run_config=config)
    assert [what for _, what in steps(heard)] == ["tool_output", "message_output_created"]
    heard.clear()
    assert (await Runner.replay(main, "r", run_config=config)).divergence is None
    changed = main.clone(instructions="Otherwise.")
    changed.model = ScriptedModel([call("helper", input="x"), "done"])
    await Runner.replay(main, "r", change=changed, run_config=config)
    assert heard == []


async def test_a_timeout_and_a_cancellation_reach_it() -> None:
    async def never(event: StreamEvent) -> None:
        await asyncio.sleep(3600)

    before = asyncio.all_tasks()
    async with asyncio.timeout(10):
        main = listening("dug", on_stream=never, timeout=0.05)
        assert (await Runner.run(main, "go")).final_output == "done"
        task = asyncio.create_task(Runner.run(listening("dug", on_stream=never), "go"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert asyncio.all_tasks() == before


async def test_it_gets_what_the_nested_agents_guardrails_let_pass() -> None:
    heard: list[StreamEvent] = []
    helper = agent("helper", [], "the secret is 42", output_guardrails=[guard(heard, True)])
    main = agent("main", [helper.as_tool(on_stream=heard.append)], call("helper", input="x"), "done")
    await Runner.run(main, "go", run_config=BUFFERED)
    assert steps(heard) == [(NESTED, "agent helper")] and "secret" not in shown(heard)


def test_it_must_be_callable_and_can_be_changed() -> None:
    helper = agent("helper", [])
    with pytest.raises(UserError, match="on_stream"):
        helper.as_tool(on_stream=5)  # type: ignore[arg-type]
    assert helper.as_tool(on_stream=print).clone(on_stream=None).on_stream is None
