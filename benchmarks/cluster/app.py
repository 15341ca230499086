"""What the workers run: two replies of a model that takes its time, and a tool call between them.

Each claim leaves a line in a file: when, which process, which run.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from typing import Any

from agentsdk import (
    Agent,
    FunctionCall,
    FunctionCallOutput,
    Message,
    ModelRequest,
    ModelResponse,
    PostgresRunStore,
    RunConfig,
    RunSummary,
    Usage,
    Worker,
    function_tool,
)
from agentsdk.events import ModelStreamEvent, ResponseCompleted

REPLY_S = float(os.environ.get("CLUSTER_REPLY_S", "0.5"))
_CLAIMS = os.open(os.environ.get("CLUSTER_CLAIMS", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


class Waiting:
    """A model that calls the tool and then ends, each after `REPLY_S` seconds, as a provider would."""

    name = "waiting"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """A call, or the end."""
        await asyncio.sleep(REPLY_S)
        called = any(isinstance(item, FunctionCallOutput) for item in request.items)
        output: tuple[Any, ...] = (Message("assistant", "Order 7 is at the door."),)
        if not called:
            output = (FunctionCall("call_1", "look_up", '{"order":7}'),)
        yield ResponseCompleted(ModelResponse(output, Usage(1, 400, 30), "stop" if called else "tool_calls"))


@function_tool(effect="none")
def look_up(order: int) -> str:
    """Look an order up."""
    return f"order {order} is at the door"


def began(run: RunSummary) -> None:
    """The context of a run: there is none, but a line says that it was claimed here."""
    os.write(_CLAIMS, f"{time.time()} {os.getpid()} {run.run_id}\n".encode())


clerk = Agent[None, str](name="clerk", instructions="Look the order up.", model=Waiting(), tools=[look_up])


def make_worker() -> Worker:
    """A worker as the environment says. Its store is closed with its process."""
    store = PostgresRunStore(os.environ["CLUSTER_STORE"])
    config = RunConfig(lease=float(os.environ["CLUSTER_LEASE"]))
    concurrency = int(os.environ["CLUSTER_CONCURRENCY"])
    return Worker(store, agents=[clerk], concurrency=concurrency, config=config, context=began)
