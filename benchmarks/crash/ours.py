"""agentsdk: `RunConfig(store=...)`, and `Runner.resume` after a kill."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, cast

from agentsdk.core.limits.run_limits import RunLimits
from agentsdk.define.agent import Agent
from agentsdk.define.context import ToolContext
from agentsdk.define.function_tool import function_tool
from agentsdk.define.run_config import Durability, RunConfig
from agentsdk.ports.model import ModelRequest
from agentsdk.ports.run_store import RunStore
from agentsdk.runner import Runner
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import RunConflictError
from agentsdk.types.events import ModelReplied, ToolFinished
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Message
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage
from benchmarks.crash.stores import open_store
from benchmarks.crash.victim import Order, finished, found, wait_for_person
from benchmarks.crash.watched import Watched, saved_calls
from benchmarks.crash.world import PROMPT, World

LEASE = 3600.0
"""Longer than any kill takes: whoever goes on with a killed process's run says so."""


def config_of(store: RunStore, run_id: str, durability: str = "sync") -> RunConfig:
    """The settings of every process."""
    return RunConfig(
        store=store,
        run_id=run_id,
        durability=cast(Durability, durability),
        limits=RunLimits(turns=None),
        lease=LEASE,
        tracing_disabled=True,
    )


async def live(order: Order) -> None:
    """Begin the run, or go on with it, until it has its final output."""
    world = order.world
    store = open_store(order.store)
    config = config_of(cast(RunStore, Watched(store, watching(world))), order.run_id, order.durability)
    agent = agent_of(world)
    try:
        if order.resume:
            state = await Runner.load(order.run_id, run_config=config)
            found(*recorded(state.value.log))
            result = await Runner.resume(agent, order.run_id, run_config=config, take_over=True)
        else:
            result = await Runner.run(agent, PROMPT, run_config=config)
    except RunConflictError:  # the last append of the process that was killed has reached its server only now
        result = await Runner.resume(agent, order.run_id, run_config=config, take_over=True)
    while result.interruptions:
        wait_for_person()
        result = await Runner.resume(agent, order.run_id, run_config=config)
    finished(world, {"output": result.final_output})
    await store.aclose()


def recorded(log: Sequence[object]) -> tuple[int, list[str]]:
    """How many replies are in a log, and which calls have their result."""
    replies = sum(isinstance(event, ModelReplied) for event in log)
    return replies, [event.call_id for event in log if isinstance(event, ToolFinished)]


def digest(event: bytes) -> str:
    """What an event is known by."""
    return hashlib.sha256(event).hexdigest()[:16]


def watching(world: World) -> Callable[[int, Sequence[bytes]], None]:
    """What notes outside what the store says to be durable, and dies there if that is where to die."""

    def saved(rev: int, events: Sequence[bytes]) -> None:
        world.witness(rev, [digest(event) for event in events])
        for point, _, call_id in saved_calls(events):
            _, step, number = call_id.split("_")
            world.reached(int(step), point, f"{step}-{number}" if point == "result saved" else "")

    return saved


class ServedModel:
    """The model of a world."""

    name = "served"

    def __init__(self, world: World) -> None:
        self._world = world

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        outputs = [item for item in request.items if isinstance(item, FunctionCallOutput)]
        step, calls = self._world.ask([(item.call_id, str(item.output)) for item in outputs])
        items = [FunctionCall(call.call_id, call.tool, f'{{"item":"{call.item}"}}') for call in calls]
        output = tuple(items) or (Message("assistant", self._world.answer),)
        yield ResponseCompleted(ModelResponse(output, Usage(1, 100 * step, 10), "tool_calls" if items else "stop"))


def agent_of(world: World) -> Agent[None, str]:
    """The agent with its four tools, one of each kind of effect, and one that can say what became of a call."""

    @function_tool(effect="none")
    async def look_up(ctx: ToolContext[None], item: str) -> str:
        """Look an order up."""
        return world.do(item, ctx.idempotency_key)

    @function_tool(effect="idempotent")
    def reserve(ctx: ToolContext[None], item: str) -> str:
        """Reserve what was ordered."""
        return world.do(item, ctx.idempotency_key)

    @function_tool
    def charge(ctx: ToolContext[None], item: str) -> str:
        """Charge the customer."""
        return world.do(item, ctx.idempotency_key)

    def shipped(ctx: ToolContext[None], arguments: dict[str, Any]) -> str:
        item = arguments["item"]
        return f"ship {item}: done" if world.is_done(item) else world.do(item, ctx.idempotency_key)

    @function_tool(reconcile=shipped)
    def ship(ctx: ToolContext[None], item: str) -> str:
        """Ship the order."""
        return world.do(item, ctx.idempotency_key)

    return Agent("clerk", instructions="You are a clerk.", tools=[look_up, reserve, charge, ship], model=ServedModel(world))
