"""What the workers run. An agent's input is its plan, the names of tools, called one a turn; each leaves a line in a file.

So does each step of the workflow.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import Any

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    Message,
    ModelRequest,
    ModelResponse,
    ToolContext,
    Usage,
    function_tool,
)
from agentsdk.errors import StepFailedError
from agentsdk.events import ModelStreamEvent, ResponseCompleted
from agentsdk.workflow import flow, step, workflow

REPLY_S = float(os.environ.get("DEPLOY_REPLY_S", "0.2"))
WORK_S = float(os.environ.get("DEPLOY_WORK_S", "0.2"))
EFFECTS = os.environ.get("DEPLOY_EFFECTS", "")


class Planned:
    """A model that follows the plan: as many calls as results, then the end."""

    name = "planned"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """Call the next tool of the plan."""
        await asyncio.sleep(REPLY_S)
        items = list(request.items)
        plan = next(str(item.content) for item in items if isinstance(item, Message) and item.role == "user").split()
        done = sum(isinstance(item, FunctionCallOutput) for item in items)
        output: tuple[Any, ...] = (Message("assistant", f"{done} done"),)
        if done < len(plan):
            arguments = '{"input": "pay book"}' if plan[done] == "ask_helper" else "{}"
            output = (FunctionCall(f"call_{done}", plan[done], arguments),)
        yield ResponseCompleted(ModelResponse(output, Usage(1, 10, 5), "tool_calls" if done < len(plan) else "stop"))


async def leave_line(context: ToolContext[Any], tool: str) -> str:
    """The tool's effect: one line."""
    return await write_line(context.run_id, tool, context.idempotency_key)


async def write_line(run_id: str, name: str, key: str) -> str:
    """One line, written at once; then some work."""
    file = os.open(EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{run_id} {name} {key}\n".encode())
    finally:
        os.close(file)
    await asyncio.sleep(WORK_S)
    return f"{name} is done"


@function_tool(effect="none")
async def look(context: ToolContext[Any]) -> str:
    """Look something up: it may be done again."""
    return await leave_line(context, "look")


@function_tool(effect="idempotent")
async def book(context: ToolContext[Any]) -> str:
    """Book something, under the key."""
    return await leave_line(context, "book")


@function_tool(effect="once")
async def pay(context: ToolContext[Any]) -> str:
    """Pay: never twice."""
    return await leave_line(context, "pay")


@function_tool(effect="once", needs_approval=True)
async def send(context: ToolContext[Any]) -> str:
    """Send, once a person has agreed."""
    return await leave_line(context, "send")


@function_tool(effect="none")
async def hang() -> str:
    """Never end by itself."""
    await asyncio.Event().wait()
    return "never"


@step(effect="none")
async def fetch(run_id: str) -> str:
    """A step that may be done again."""
    return await write_line(run_id, "fetch", flow.idempotency_key())


@step(effect="none")
async def weigh(run_id: str) -> str:
    """One of several at once."""
    return await write_line(run_id, "weigh", flow.idempotency_key())


@step
async def give_back(run_id: str) -> str:
    """Money: never twice."""
    return await write_line(run_id, "give_back", flow.idempotency_key())


@step(effect="idempotent")
async def reserve(run_id: str) -> str:
    """What is undone where the parcel cannot be sent."""
    await write_line(run_id, "reserve", flow.idempotency_key())
    return run_id


@reserve.undo
async def release(run_id: str) -> None:
    """Undo it."""
    await write_line(run_id, "release", flow.idempotency_key())


@step(effect="none", retry=0)
async def collect(run_id: str) -> None:
    """It always fails."""
    raise ConnectionError("nobody collects parcels today")


@workflow
async def parcel(run_id: str) -> None:
    """A workflow in the other one that fails, and undoes what it has done."""
    await reserve(run_id)
    await collect(run_id)


@workflow
async def refund(run_id: str) -> str:
    """Steps side by side, an agent, a person, a time, a payment, and a part that fails and is undone."""
    await fetch(run_id)
    await asyncio.gather(flow.each(weigh, [run_id] * 3, limit=2), flow.agent(clerk, "look pay"))
    if await flow.ask("Refund it?"):
        await give_back(run_id)
    await flow.sleep(1.5)
    try:
        await parcel(run_id)
    except StepFailedError:
        return await give_back(run_id)
    return "nothing"


helper = Agent[None, str](name="helper", model=Planned(), tools=[pay, book])
ask_helper = helper.as_tool("ask_helper", "Have the helper pay and book.")
clerk = Agent[None, str](name="clerk", model=Planned(), tools=[look, book, pay, send, hang, ask_helper])
agents = [clerk, refund]
