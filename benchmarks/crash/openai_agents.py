"""openai-agents: `SQLiteSession`, and after a kill `Runner.run` again on that session, which holds every whole turn.

Its `RunState` is what a run gives that paused for an approval: one that was killed leaves none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    SQLiteSession,
    TResponseInputItem,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText, ResponseStreamEvent

from benchmarks.crash.victim import Order, finished, found
from benchmarks.crash.world import PROMPT, World

set_tracing_disabled(True)


async def live(order: Order) -> None:
    """Begin the run, or go on with it, until it has its final output."""
    world = order.world
    session = Watched(order.run_id, order.store[1], world)
    if order.resume:
        items: list[Any] = await session.get_items()
        results = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        found(len({call_id.split("_")[1] for call_id in results}), results)
    config = RunConfig(tracing_disabled=True)
    given: Any = [] if order.resume else PROMPT
    result = await Runner.run(agent_of(world), given, session=session, max_turns=None, run_config=config)
    finished(world, {"output": result.final_output})
    session.close()


class Watched(SQLiteSession):
    """A session that dies after an append, if that is where to die."""

    def __init__(self, session_id: str, path: str, world: World) -> None:
        super().__init__(session_id, path)
        self._world = world

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        await super().add_items(items)
        for item in items:
            if item.get("type") == "function_call_output":
                step, number = str(item["call_id"]).split("_")[1:]  # type: ignore[typeddict-item]
                self._world.reached(int(step), "result saved", f"{step}-{number}")


class ServedModel(Model):
    """The model of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        outputs = [item for item in input if item.get("type") == "function_call_output"]
        _, calls = self._world.ask([(item["call_id"], item["output"]) for item in outputs])
        output: list[Any] = [
            ResponseFunctionToolCall(
                call_id=call.call_id, name=call.tool, arguments=f'{{"item":"{call.item}"}}', type="function_call"
            )
            for call in calls
        ]
        if not output:
            text = ResponseOutputText(text=self._world.answer, type="output_text", annotations=[])
            output = [ResponseOutputMessage(id="msg", role="assistant", status="completed", type="message", content=[text])]
        return ModelResponse(output=output, usage=Usage(requests=1), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[ResponseStreamEvent]:
        raise NotImplementedError


def agent_of(world: World) -> Agent[None]:
    """The agent with its four tools. The call's id is the key: the same whenever the call is run again."""

    @function_tool
    async def look_up(ctx: ToolContext[None], item: str) -> str:
        """Look an order up."""
        return world.do(item, ctx.tool_call_id)

    @function_tool
    def reserve(ctx: ToolContext[None], item: str) -> str:
        """Reserve what was ordered."""
        return world.do(item, ctx.tool_call_id)

    @function_tool
    def charge(ctx: ToolContext[None], item: str) -> str:
        """Charge the customer."""
        return world.do(item, ctx.tool_call_id)

    @function_tool
    def ship(ctx: ToolContext[None], item: str) -> str:
        """Ship the order."""
        return world.do(item, ctx.tool_call_id)

    tools: list[Any] = [look_up, reserve, charge, ship]
    return Agent(name="clerk", instructions="You are a clerk.", tools=tools, model=ServedModel(world))
