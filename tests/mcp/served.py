"""What the tests serve in a process of its own: `python -m agentsdk mcp tests.mcp.served:tools`.

`journal` writes a line for each effect into the file that `MCP_JOURNAL` names, so that a test sees how often it happened.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agentsdk import Agent, FunctionCallOutput, FunctionTool, ModelRequest, ToolContext, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.testing.scripted import Say
from agentsdk.tools import ask_user


def journal(line: str) -> None:
    with Path(os.environ["MCP_JOURNAL"]).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


class Script:
    """A model without memory: its reply follows from how many results the conversation holds, in whatever process it is."""

    name = "script"

    def __init__(self, *replies: Say) -> None:
        self._replies = replies

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Any, None]:
        results = sum(isinstance(item, FunctionCallOutput) for item in request.items)
        async for event in ScriptedModel([self._replies[results]]).stream(request):
            yield event


class Weather(BaseModel):
    city: str
    degrees: float


@function_tool(effect="none")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@function_tool(effect="idempotent")
async def weather(context: ToolContext[Any], city: str) -> Weather:
    """The weather of a city."""
    context.emit("looking")
    await asyncio.sleep(0)
    context.emit({"found": city})
    return Weather(city=city, degrees=24)


@function_tool(needs_approval=True)
def refund(order: int) -> str:
    """Pay an order back."""
    return f"order {order} is paid back"


@function_tool
def broken(key: str) -> str:
    """Always fails."""
    raise ValueError("the disk is full")


@function_tool
async def pay(order: int) -> str:
    """Pay an order."""
    journal(f"paid {order}")
    return f"order {order} is paid"


@function_tool(effect="none")
async def ship(order: int) -> str:
    """Ship an order; the first attempt, of a file's absence, never ends."""
    journal(f"shipping {order}")
    if os.environ.get("MCP_HANGS"):
        await asyncio.Event().wait()
    return f"order {order} is on its way"


@function_tool
def chatty() -> str:
    """Prints, and reads."""
    print('{"jsonrpc": "2.0", "id": 2, "result": {}}', flush=True)
    return f"read {sys.stdin.read()!r}"


class Work:
    """A tool `work` that ends when it may."""

    def __init__(self) -> None:
        self.began, self.may_end, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.bodies = 0
        """How often the body ran."""

    def tool(self) -> FunctionTool[Any]:
        @function_tool
        async def work() -> str:
            """Work."""
            self.bodies += 1
            self.began.set()
            try:
                await self.may_end.wait()
            finally:
                self.ended.set()
            return "done"

        return work


class Crowd:
    """A tool `work` whose calls are counted: `most` is how many were at work at once."""

    def __init__(self) -> None:
        self.working = self.most = 0

    def tool(self) -> FunctionTool[Any]:
        @function_tool
        async def work(number: int) -> int:
            """Work."""
            self.working += 1
            self.most = max(self.most, self.working)
            await asyncio.sleep(0)
            self.working -= 1
            return number

        return work


tools: list[FunctionTool[Any]] = [add, weather, refund, broken, ask_user]

clerk = Agent[Any, str](
    "Clerk",
    tools=[refund],
    model=Script(call("refund", order=1), "Your money is on its way."),
    handoff_description="Looks after orders.",
)

shop = Agent[Any, str]("Shop", tools=[pay, ship], model=Script(call("pay", order=7), call("ship", order=7), "All done."))
