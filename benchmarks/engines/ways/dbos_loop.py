"""Our loop in a workflow of DBOS, with the public API alone: model calls and tools are steps."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from dbos import DBOS

from agentsdk import Agent, ModelRequest, ModelResponse, RunConfig, RunLimits, Runner, ToolContext, function_tool
from agentsdk.events import ModelStreamEvent, ResponseCompleted
from agentsdk.types.items import Item
from agentsdk.types.tape import Tape
from benchmarks.engines.agreeing import DBOSRuns, ask_on_dbos, attend, serve_on_dbos
from benchmarks.engines.plans import EFFECTS
from benchmarks.engines.programs import Planned, prompt, work

ITEMS = msgspec.json.Decoder(list[Item])
REPLY = msgspec.json.Decoder(ModelResponse)


async def ask_model(items: str) -> str:
    """A model call: the whole conversation there, the reply back."""
    async for event in Planned().stream(ModelRequest(Tape(ITEMS.decode(items)))):
        if isinstance(event, ResponseCompleted):
            return msgspec.json.encode(event.response).decode()
    raise AssertionError("a model that did not answer")


class InStep:
    """The model, asked in a step."""

    name = "planned"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """One reply, whole."""
        items = msgspec.json.encode(list(request.items)).decode()
        yield ResponseCompleted(REPLY.decode(await DBOS.run_step_async({"name": "ask_model"}, ask_model, items)))


def tool(name: str, *, needs_approval: bool = False) -> Any:
    """A tool whose body is a step."""

    async def run(context: ToolContext[Any], n: int) -> str:
        return await DBOS.run_step_async({"name": name}, work, context.run_id, name, n)

    run.__doc__ = f"{name} something."
    return function_tool(name_override=name, effect=EFFECTS[name], needs_approval=needs_approval)(run)


helper = Agent[None, str](name="helper", model=InStep(), tools=[tool("pay"), tool("book")])
tools = [*map(tool, ("look", "book", "pay")), tool("send", needs_approval=True), helper.as_tool("helper", "Have it done.")]
clerk = Agent[None, str](name="clerk", model=InStep(), tools=tools)


@DBOS.workflow(name="Run")
async def run(run_id: str, plan: str) -> str:
    """Follow the plan."""
    config = RunConfig(run_id=run_id, tracing_disabled=True, limits=RunLimits(turns=None))
    result = await Runner.run(clerk, prompt(run_id, plan), run_config=config)
    while result.interruptions:
        await ask_on_dbos()
        state = result.to_state()
        for item in result.interruptions:
            state.approve(item)
        result = await Runner.run(clerk, state, run_config=config)
    return result.final_output


async def main(role: str, name: str, address: dict[str, str]) -> None:
    """Play a role."""
    if role == "person":
        await attend(DBOSRuns(address["engine"]))
    else:
        await serve_on_dbos(address["engine"], name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
