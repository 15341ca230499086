"""Our agents and our workflow, which follow the plans: what both engines' workers run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from agentsdk import Agent, FunctionCall, FunctionCallOutput, Message, ModelRequest, ModelResponse, ToolContext, Usage
from agentsdk import function_tool as tool
from agentsdk.events import ModelStreamEvent, ResponseCompleted
from agentsdk.workflow import flow, step, workflow
from benchmarks.engines.plans import (
    REPLY_S,
    WORK_S,
    WORKFLOW,
    WORKFLOW_AGENT,
    WORKFLOW_SLEEP_S,
    World,
    helper_plan,
    some_time,
    turn_of,
)


class Planned:
    """A model that follows the plan, which is its input."""

    name = "planned"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Make the calls of the next turn, each under its number."""
        await some_time(REPLY_S)
        items = list(request.items)
        plan = next(str(item.content) for item in items if isinstance(item, Message) and item.role == "user")
        run_id, _, plan = plan.partition("|")
        results = [item for item in items if isinstance(item, FunctionCallOutput)]
        for item in results:
            if not str(item.output).endswith("done"):
                World().write("wrongly", [run_id, item.call_id])
        calls = turn_of(plan, [int(item.call_id) for item in results])
        output: tuple[Any, ...] = tuple(FunctionCall(str(n), name, arguments(run_id, name, n)) for name, n in calls)
        stop = "tool_calls" if calls else "stop"
        yield ResponseCompleted(ModelResponse(output or (Message("assistant", "all is done"),), Usage(1, 10, 5), stop))


def arguments(run_id: str, name: str, n: int) -> str:
    """What a call is given: a helper a plan of its own, all others their number."""
    return f'{{"input": "{prompt(run_id, helper_plan(n))}"}}' if name == "helper" else f'{{"n": {n}}}'


def prompt(run_id: str, plan: str) -> str:
    """The input of a run, or of a helper: whose run it is, and what to do."""
    return f"{run_id}|{plan}"


def begun_with(run_id: str, plan: str) -> tuple[Any, str]:
    """What a run of a plan begins with, and the name of its agent or workflow."""
    return (run_id, "refund") if plan == WORKFLOW else (prompt(run_id, plan), "clerk")


async def work(run_id: str, name: str, n: int) -> str:
    """A body: its effect, then some work."""
    World().begin(run_id, name, n)
    await some_time(WORK_S)
    return f"{name} {n} is done"


@tool(effect="none")
async def look(context: ToolContext[Any], n: int) -> str:
    """Look something up: it may be done again."""
    return await work(context.run_id, "look", n)


@tool(effect="idempotent")
async def book(context: ToolContext[Any], n: int) -> str:
    """Book something, under the key."""
    return await work(context.run_id, "book", n)


@tool(effect="once")
async def pay(context: ToolContext[Any], n: int) -> str:
    """Pay: never twice."""
    return await work(context.run_id, "pay", n)


@tool(effect="once", needs_approval=True)
async def send(context: ToolContext[Any], n: int) -> str:
    """Send, once a person has agreed."""
    return await work(context.run_id, "send", n)


helper = Agent[None, str](name="helper", model=Planned(), tools=[pay, book])
clerk = Agent[None, str](
    name="clerk", model=Planned(), tools=[look, book, pay, send, helper.as_tool("helper", "Have the helper pay and book.")]
)


@step(effect="none")
async def fetch(run_id: str, n: int) -> str:
    """A step that may be done again."""
    return await work(run_id, "fetch", n)


@step(effect="none")
async def weigh(run_id: str, n: int) -> str:
    """One of several at once."""
    return await work(run_id, "weigh", n)


@step
async def give(run_id: str, n: int) -> str:
    """Money: never twice."""
    return await work(run_id, "give", n)


@workflow
async def refund(run_id: str) -> str:
    """Steps side by side, an agent, a person, a time, and a payment."""
    await fetch(run_id, 1)
    weighed = [weigh(run_id, n) for n in (2, 3, 4)]
    await asyncio.gather(*weighed, flow.agent(clerk, prompt(run_id, WORKFLOW_AGENT)))
    if not await flow.ask("Refund it?"):
        return "nothing"
    await flow.sleep(WORKFLOW_SLEEP_S)
    return await give(run_id, 7)


agents = [clerk, refund]
