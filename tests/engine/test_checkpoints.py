"""Checkpoints: what the body of a call saves of how far it has come, and finds again when the call runs again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from agentsdk import Agent, MemoryRunStore, RunConfig, Runner, ToolContext, UserError, function_tool
from agentsdk.core.codec import decode_events
from agentsdk.errors import TransientToolError
from agentsdk.events import ModelReplied, Nested, RunEvent, ToolCheckpointed, ToolFinished
from agentsdk.testing import ScriptedModel, call
from agentsdk.tools import ToolRetrySettings
from agentsdk.types.events import unnested
from tests.engine.recorded import RUN_ID, stored
from tests.models.wire import FakeClock

pytestmark = pytest.mark.anyio
PAGES = 4
BOTH = [call("copy_pages"), call("copy_pages")]


class Import:
    """Copies pages one by one, and says after each how far it has come. `copied` is what it did."""

    def __init__(self, *, fails_at: int = 0) -> None:
        self.fails_at = fails_at
        self.copied: list[str] = []

    def agent(self, *replies: Any) -> Agent[Any, Any]:
        async def copy_pages(ctx: ToolContext[Any]) -> str:
            for page in range(int(ctx.checkpoint or 0) + 1, PAGES + 1):
                if page == self.fails_at:
                    self.fails_at = 0
                    raise TransientToolError("away")
                self.copied.append(str(page))
                await ctx.save_checkpoint(str(page))
                assert ctx.checkpoint == str(page)
            return "all copied"

        tool = function_tool(copy_pages, effect="idempotent", retry=ToolRetrySettings(jitter=0))
        return Agent("main", model=ScriptedModel([*replies, "done"]), tools=[tool])


def saved(log: Sequence[RunEvent]) -> list[tuple[str, str]]:
    return [(event.call_id, event.data) for event in log if isinstance(event, ToolCheckpointed)]


async def test_a_call_goes_on_from_its_checkpoint_wherever_the_process_died() -> None:
    """Calls that run side by side have each their own."""
    first = Import().agent(BOTH)
    log = list((await Runner.run(first, "go", run_config=RunConfig(run_id=RUN_ID))).to_state().value.log)
    assert len(saved(log)) == 2 * PAGES
    replied = next(at for at, event in enumerate(log) if isinstance(event, ModelReplied))
    for cut in range(replied + 1, len(log)):
        config, again = await stored(log[:cut]), Import()
        result = await Runner.resume(again.agent(), RUN_ID, run_config=config)
        assert result.final_output == "done"
        whole = result.to_state().value.log
        assert sorted(saved(whole)) == sorted(saved(log)), f"cut at {cut}"
        assert len(again.copied) == 2 * PAGES - len(saved(log[:cut]))


async def test_the_next_attempt_finds_it() -> None:
    work = Import(fails_at=3)
    result = await Runner.run(work.agent(BOTH), "go", run_config=RunConfig(clock=FakeClock()))
    assert result.final_output == "done" and sorted(work.copied) == sorted([*"1234", *"1234"])


@pytest.mark.parametrize("level", ["sync", "batch", "steps", "exit", 60.0])
async def test_it_is_durable_when_saving_returns(level: Literal["sync", "batch", "steps", "exit"] | float) -> None:
    store = MemoryRunStore()
    found: list[list[tuple[str, str]]] = []

    async def work(ctx: ToolContext[Any]) -> str:
        await ctx.save_checkpoint("half")
        found.append(saved(list(decode_events(await store.read("r")))))
        return "done"

    agent = Agent[Any, Any]("main", model=ScriptedModel([call("work"), "done"]), tools=[function_tool(work)])
    await Runner.run(agent, "go", run_config=RunConfig(store=store, run_id="r", durability=level))
    assert found == [[("call_1_1", "half")]]


async def test_a_call_of_a_nested_run_has_its_own() -> None:
    async def work(ctx: ToolContext[Any]) -> str:
        before = ctx.checkpoint
        await ctx.save_checkpoint(f"by {ctx.path}")
        return f"{before!r} -> {ctx.checkpoint}"

    inner = Agent[Any, Any]("inner", model=ScriptedModel([call("work"), "inner done"]), tools=[function_tool(work)])
    tools = [function_tool(work), inner.as_tool("ask", "Ask.")]
    outer = Agent[Any, Any]("outer", model=ScriptedModel([[call("work"), call("ask", input="x")], "done"]), tools=tools)
    log = (await Runner.run(outer, "go")).to_state().value.log
    of_nested = [unnested(event) for event in log if isinstance(event, Nested)]
    assert {path for path, _ in of_nested} == {("call_1_2",)}
    for events, path in [(log, "()"), ([event for _, event in of_nested], "('call_1_2',)")]:
        assert saved(events) == [("call_1_1", f"by {path}")]
        assert next(event.output for event in events if isinstance(event, ToolFinished)) == f"'' -> by {path}"


@pytest.mark.parametrize("wrong", [None, 1, b"x", "x" * 1_000_001])
async def test_what_is_no_checkpoint_is_refused(wrong: Any) -> None:
    ctx = ToolContext[Any](None, tool_name="work")
    with pytest.raises(UserError, match=r"tool 'work' saved a checkpoint of .*, expected a text of 1000000"):
        await ctx.save_checkpoint(wrong)
    assert ctx.checkpoint == ""


async def test_a_call_that_is_over_saves_nothing() -> None:
    kept: list[ToolContext[Any]] = []

    async def work(ctx: ToolContext[Any]) -> str:
        kept.append(ctx)
        return "done"

    agent = Agent[Any, Any]("main", model=ScriptedModel([call("work"), "done"]), tools=[function_tool(work)])
    result = await Runner.run(agent, "go")
    with pytest.raises(UserError, match="that of a call that is not over"):
        await kept[0].save_checkpoint("late")
    assert saved(result.to_state().value.log) == []


async def test_outside_of_a_run_the_context_keeps_it() -> None:
    ctx = ToolContext[Any](None)
    await ctx.save_checkpoint("half \ud800 done\0")
    assert ctx.checkpoint == "half \ufffd done\ufffd"


async def test_a_call_that_was_cut_is_the_second_attempt() -> None:
    attempts: list[int] = []

    async def work(ctx: ToolContext[Any]) -> str:
        attempts.append(ctx.attempt)
        await ctx.save_checkpoint("begun")
        return "done"

    agent = Agent[Any, Any]("main", model=ScriptedModel([call("work"), "done"]), tools=[function_tool(work, effect="none")])
    log = list((await Runner.run(agent, "go", run_config=RunConfig(run_id=RUN_ID))).to_state().value.log)
    cut = next(at for at, event in enumerate(log) if isinstance(event, ToolCheckpointed)) + 1
    agent = agent.clone(model=ScriptedModel(["done"]))
    await Runner.resume(agent, RUN_ID, run_config=await stored(log[:cut]))
    assert attempts == [1, 2]
