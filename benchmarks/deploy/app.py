"""The agents of the workers. A run's input is its plan: the names of tools, called one a turn; each leaves a line in a file."""

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
from agentsdk.events import ModelStreamEvent, ResponseCompleted

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
    """The tool's effect: one line, written at once."""
    file = os.open(EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{context.run_id} {tool} {context.idempotency_key}\n".encode())
    finally:
        os.close(file)
    await asyncio.sleep(WORK_S)
    return f"{tool} is done"


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


helper = Agent[None, str](name="helper", model=Planned(), tools=[pay, book])
ask_helper = helper.as_tool("ask_helper", "Have the helper pay and book.")
clerk = Agent[None, str](name="clerk", model=Planned(), tools=[look, book, pay, send, hang, ask_helper])
agents = [clerk]
