"""Our loop in a workflow of Temporal, with the public API alone: model calls and tools are activities.

A `once` tool is tried once: where its worker dies, the model is told that it failed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

with workflow.unsafe.imports_passed_through():
    import msgspec

    from agentsdk import Agent, ModelRequest, ModelResponse, RunConfig, RunLimits, Runner, ToolContext, function_tool
    from agentsdk.events import ModelStreamEvent, ResponseCompleted
    from agentsdk.types.items import Item
    from benchmarks.engines.agreeing import QUEUE, TemporalRuns, attend
    from benchmarks.engines.plans import EFFECTS, WORK_S, World, some_time
    from benchmarks.engines.programs import Planned, prompt

HEARTBEAT_S = 3.0
TOOLS = ("look", "book", "pay", "send")
ITEMS = msgspec.json.Decoder(list[Item])
REPLY = msgspec.json.Decoder(ModelResponse)


class Clock:
    """The workflow's time."""

    def time(self) -> float:
        return workflow.now().timestamp()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@activity.defn
async def ask_model(items: str) -> str:
    """A model call: the whole conversation there, the reply back."""
    from agentsdk.types.tape import Tape

    async for event in Planned().stream(ModelRequest(Tape(ITEMS.decode(items)))):
        if isinstance(event, ResponseCompleted):
            return msgspec.json.encode(event.response).decode()
    raise AssertionError("a model that did not answer")


class InActivity:
    """The model, asked in an activity."""

    name = "planned"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """One reply, whole."""
        items = msgspec.json.encode(list(request.items)).decode()
        reply = await workflow.execute_activity(ask_model, items, start_to_close_timeout=timedelta(seconds=10))
        yield ResponseCompleted(REPLY.decode(reply))


def body(name: str) -> Any:
    """An activity of that name: its effect, then some work."""

    async def run(n: int) -> str:
        World().begin(activity.info().workflow_id or "", name, n)
        working = asyncio.create_task(some_time(WORK_S))
        while not working.done():
            activity.heartbeat()
            await asyncio.wait([working], timeout=0.2)
        return f"{name} {n} is done"

    return activity.defn(name=name)(run)


BODIES = {name: body(name) for name in TOOLS}


def tool(name: str, *, needs_approval: bool = False) -> Any:
    """That activity as a tool."""

    async def run(context: ToolContext[Any], n: int) -> str:
        return await workflow.execute_activity(
            name,
            n,
            start_to_close_timeout=timedelta(seconds=60),
            heartbeat_timeout=timedelta(seconds=HEARTBEAT_S),
            retry_policy=RetryPolicy(maximum_attempts=1 if EFFECTS[name] == "once" else 0),
        )

    run.__doc__ = f"{name} something."
    return function_tool(name_override=name, effect=EFFECTS[name], needs_approval=needs_approval)(run)


@workflow.defn
class Run:
    """A run of an agent."""

    def __init__(self) -> None:
        self._waiting = False
        self._agreed = False

    @workflow.query
    def waits(self) -> bool:
        """Whether it waits for a person."""
        return self._waiting

    @workflow.signal
    def agree(self) -> None:
        """The person agrees."""
        self._agreed = True

    @workflow.run
    async def run(self, plan: str) -> str:
        """Follow the plan."""
        run_id = workflow.info().workflow_id
        helper = Agent[None, str](name="helper", model=InActivity(), tools=[tool("pay"), tool("book")])
        tools = [
            *map(tool, ("look", "book", "pay")),
            tool("send", needs_approval=True),
            helper.as_tool("helper", "Have it done."),
        ]
        clerk = Agent[None, str](name="clerk", model=InActivity(), tools=tools)
        config = RunConfig(run_id=run_id, clock=Clock(), tracing_disabled=True, limits=RunLimits(turns=None))
        result = await Runner.run(clerk, prompt(run_id, plan), run_config=config)
        while result.interruptions:
            self._waiting, self._agreed = True, False
            await workflow.wait_condition(lambda: self._agreed)
            self._waiting = False
            state = result.to_state()
            for item in result.interruptions:
                state.approve(item)
            result = await Runner.run(clerk, state, run_config=config)
        return result.final_output


RUNNER = SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_all_modules())


async def main(role: str, name: str, address: dict[str, str]) -> None:
    """Play a role."""
    client = await Client.connect(address["engine"])
    if role == "person":
        await attend(TemporalRuns(client))
        return
    activities = [ask_model, *BODIES.values()]
    async with Worker(client, task_queue=QUEUE, workflows=[Run], activities=activities, workflow_runner=RUNNER):
        World().ready()
        await asyncio.Event().wait()


if __name__ == "__main__":
    from benchmarks.engines.ways import temporal_loop  # the sandbox cannot import what is in `__main__`

    asyncio.run(temporal_loop.main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
