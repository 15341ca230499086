"""Runs to look at: of a clerk that looks orders up, asks a colleague, and waits for a person before it pays."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx

from agentsdk import Agent, FunctionCall, FunctionCallOutput, ModelRequest, RunConfig, Runner, RunStore, function_tool
from agentsdk.testing import ScriptedModel, call
from agentsdk.ui import app
from tests.asgi_server import listening

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
HOSTILE = f"{EVIL}\x1b[31m\u202eevil\u0007"


@function_tool(effect="none")
async def look(order: int) -> dict[str, object]:
    """Look an order up."""
    return {"order": order, "total": 49.5, "note": HOSTILE}


@function_tool(needs_approval=True)
def refund(order: int, amount: float) -> str:
    """Pay an order back."""
    return f"{amount} euros of order {order} are paid back."


def _reply(request: ModelRequest) -> str | FunctionCall | list[FunctionCall]:
    """What the clerk says, by how many results it has."""
    results = sum(isinstance(item, FunctionCallOutput) for item in request.items)
    if results == 0:
        return [call("look", order=1815), call("look", order=7)]
    if results == 2:
        return call("ask_colleague", input="Is order 1815 paid?")
    if results == 3:
        return call("refund", order=1815, amount=49.5)
    return f"Your money is on its way. {HOSTILE}"


def _colleague_reply(request: ModelRequest) -> str | FunctionCall:
    return "It is." if any(isinstance(item, FunctionCallOutput) for item in request.items) else call("look", order=1815)


def clerk(**changes: Any) -> Agent[None, str]:
    """The agent."""
    colleague = Agent[None, str](name="Colleague", model=ScriptedModel([_colleague_reply] * 1_000), tools=[look])
    asks = colleague.as_tool(tool_name="ask_colleague", tool_description="Ask a colleague.")
    return Agent[None, str](
        **{
            "name": "Clerk",
            "instructions": "Help with orders.",
            "model": ScriptedModel([_reply] * 1_000),
            "tools": [look, refund, asks],
            **changes,
        }
    )


CONFIG = RunConfig(tracing_disabled=True)


async def waiting(store: RunStore, run_id: str, **metadata: str) -> None:
    """A run that waits for a person."""
    config = replace(CONFIG, store=store, run_id=run_id, metadata=metadata)
    result = await Runner.run(clerk(), f"Pay order 1815 back. {EVIL}", run_config=config)
    assert result.interruptions


async def finished(store: RunStore, run_id: str, **metadata: str) -> None:
    """A run that is over."""
    await waiting(store, run_id, **metadata)
    config = replace(CONFIG, store=store)
    state = await Runner.load(run_id, run_config=config)
    state.approve(state.interruptions[0])
    await Runner.decide(state, run_config=config)
    assert (await Runner.resume(clerk(), run_id, run_config=config)).is_finished


@asynccontextmanager
async def page_of(store: RunStore, **options: Any) -> AsyncGenerator[tuple[str, httpx.AsyncClient]]:
    """The page of a store on a real socket: its URL with the token, and a client that has it."""
    application = app(store, config=CONFIG, **options)
    token: str = application.state.token
    async with (
        listening(application) as url,
        httpx.AsyncClient(base_url=f"{url}/api/", headers={"authorization": f"Bearer {token}"}, timeout=30) as client,
    ):
        yield f"{url}/#token={token}", client
