"""pydantic-ai on DBOS, by its `DBOSDurability`: `python -m ... worker|person NAME ADDRESS`.

Model requests are steps by themselves, tools are where their bodies are `@DBOS.step`. An agent as a tool is a child workflow
(`ENGINES_CHILD=0`: it is not), as two of them side by side need.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from dbos import DBOS
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, Tool
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.engines.agreeing import DBOSRuns, ask_on_dbos, attend, serve_on_dbos
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

CHILD = os.environ.get("ENGINES_CHILD", "1") == "1"


async def planned(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that follows the plan: the calls of the next turn."""
    await some_time(REPLY_S)
    parts = [part for message in messages for part in message.parts]
    plan = next(str(part.content) for part in parts if isinstance(part, UserPromptPart))
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    for part in results:
        if not str(part.content).endswith("done"):
            World().write("wrongly", [DBOS.workflow_id, f"{part.tool_name}:{part.tool_call_id}"])
    calls = turn_of(plan, [int(part.tool_call_id) for part in results])
    if not calls:
        return ModelResponse(parts=[TextPart("all is done")])
    return ModelResponse(
        parts=[
            ToolCallPart(name, {"input": helper_plan(n)} if name == "helper" else {"n": n}, tool_call_id=str(n))
            for name, n in calls
        ]
    )


async def work(run_id: str, name: str, n: int) -> str:
    """A body: its effect, then some work."""
    World().begin(run_id, name, n)
    await some_time(WORK_S)
    return f"{name} {n} is done"


@DBOS.step()
async def do_step(run_id: str, name: str, n: int) -> str:
    """Any body, as a step."""
    return await work(run_id, name, n)


async def look(ctx: RunContext[str], n: int) -> str:
    """Look something up."""
    return await do_step(ctx.deps, "look", n)


async def book(ctx: RunContext[str], n: int) -> str:
    """Book something."""
    return await do_step(ctx.deps, "book", n)


async def pay(ctx: RunContext[str], n: int) -> str:
    """Pay."""
    return await do_step(ctx.deps, "pay", n)


async def send(ctx: RunContext[str], n: int) -> str:
    """Send."""
    return await do_step(ctx.deps, "send", n)


assistant = Agent(FunctionModel(planned), name="helper", deps_type=str, tools=[pay, book], capabilities=[DBOSDurability()])


async def helper(ctx: RunContext[str], input: str) -> str:
    """Have the helper pay and book."""
    return (await assistant.run(input, deps=ctx.deps)).output


clerk = Agent(
    FunctionModel(planned),
    name="clerk",
    deps_type=str,
    output_type=[str, DeferredToolRequests],
    tools=[
        *(look, book, pay, Tool(send, requires_approval=True)),
        Tool(helper, metadata={"dbos": {"child_workflow": {}}} if CHILD else None),
    ],
    capabilities=[DBOSDurability()],
)


@DBOS.workflow(name="Run")
async def follow(run_id: str, plan: str) -> str:
    """A run: of an agent, or the code of the workflow."""
    if plan == WORKFLOW:
        return await refund(run_id)
    result = await clerk.run(plan, deps=run_id)
    while isinstance(result.output, DeferredToolRequests):
        await ask_on_dbos()
        agreed = DeferredToolResults(approvals={call.tool_call_id: True for call in result.output.approvals})
        result = await clerk.run(message_history=result.all_messages(), deferred_tool_results=agreed, deps=run_id)
    return result.output


async def refund(run_id: str) -> str:
    """Steps side by side, an agent, a person, a time, and a payment."""
    await do_step(run_id, "fetch", 1)
    weighed = [do_step(run_id, "weigh", n) for n in (2, 3, 4)]
    await asyncio.gather(*weighed, clerk.run(WORKFLOW_AGENT, deps=run_id))
    await ask_on_dbos()
    await DBOS.sleep_async(WORKFLOW_SLEEP_S)
    return await do_step(run_id, "give", 7)


async def main(role: str, name: str, address: dict[str, str]) -> None:
    """Play a role."""
    if role == "person":
        await attend(DBOSRuns(address["engine"]))
    else:
        await serve_on_dbos(address["engine"], name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
