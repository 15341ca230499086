"""openai-agents on Temporal, by the plugin `temporalio-openai-agents`: `python -m ... worker|person NAME ADDRESS`.

Tools are activities (`activity_as_tool`), the loop and agents as tools run in the workflow. With `"attempts": "1"` in the
address an activity whose effect is once is tried once, else as often as Temporal does by default.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
from temporalio.openai_agents import workflow as tools
from temporalio.openai_agents.testing import TestModelProvider
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from agents import Agent, Model, ModelResponse, Runner, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from benchmarks.engines.agreeing import QUEUE, TemporalRuns, attend
    from benchmarks.engines.plans import (
        EFFECTS,
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

HEARTBEAT_S = 3.0
ATTEMPTS = int(os.environ.get("ENGINES_ATTEMPTS", "0"))
"""How often an activity is tried whose effect is once; 0 is Temporal's default: until it succeeds."""


class Planned(Model):
    """A model that follows the plan."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        """Make the calls of the next turn."""
        await some_time(REPLY_S)
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        plan = next(item["content"] for item in items if item.get("role") == "user")
        results = [item for item in items if item.get("type") == "function_call_output"]
        for item in results:
            if not str(item["output"]).endswith("done"):
                World().write("wrongly", [activity.info().workflow_id, item["call_id"]])
        done = [int(item["call_id"]) for item in results]
        output: list[Any] = [
            ResponseFunctionToolCall(
                arguments=json.dumps({"input": helper_plan(n)} if name == "helper" else {"n": n}),
                call_id=str(n),
                name=name,
                type="function_call",
            )
            for name, n in turn_of(plan, done)
        ]
        if not output:
            text = ResponseOutputText(text="all is done", annotations=[], type="output_text")
            output = [ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """No part of this."""
        raise NotImplementedError


async def work(name: str, n: int) -> str:
    """A body: its effect, then some work; meanwhile the server hears that its worker lives."""
    World().begin(activity.info().workflow_id or "", name, n)
    working = asyncio.create_task(some_time(WORK_S))
    while not working.done():
        activity.heartbeat()
        await asyncio.wait([working], timeout=0.2)
    return f"{name} {n} is done"


def body(name: str) -> Any:
    """An activity of that name."""

    async def run(n: int) -> str:
        return await work(name, n)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"{name} something."
    return activity.defn(name=name)(run)


BODIES = {name: body(name) for name in EFFECTS}


def options(name: str) -> dict[str, Any]:
    """How Temporal is to run that activity."""
    once = EFFECTS[name] == "once" and ATTEMPTS
    retry = RetryPolicy(maximum_attempts=ATTEMPTS) if once else None
    return {
        "start_to_close_timeout": timedelta(seconds=60),
        "heartbeat_timeout": timedelta(seconds=HEARTBEAT_S),
        "retry_policy": retry,
    }


def tool(name: str, *, needs_approval: bool = False) -> Any:
    """That activity as a tool."""
    made = tools.activity_as_tool(BODIES[name], **options(name))
    return dataclasses.replace(made, needs_approval=needs_approval)


@workflow.defn
class Run:
    """A run: of an agent, or the code of the workflow."""

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

    async def _ask(self) -> None:
        self._waiting, self._agreed = True, False
        await workflow.wait_condition(lambda: self._agreed)
        self._waiting = False

    @workflow.run
    async def run(self, plan: str) -> str:
        """Follow the plan."""
        helper = Agent(name="helper", tools=[tool("pay"), tool("book")])
        clerk = Agent(
            name="clerk",
            tools=[
                *(tool("look"), tool("book"), tool("pay"), tool("send", needs_approval=True)),
                helper.as_tool("helper", "Have the helper pay and book."),
            ],
        )
        if plan == WORKFLOW:
            return await self._refund(clerk)
        result = await Runner.run(clerk, plan)
        while result.interruptions:
            await self._ask()
            state = result.to_state()
            for item in result.interruptions:
                state.approve(item)
            result = await Runner.run(clerk, state)
        return str(result.final_output)

    async def _refund(self, clerk: Agent) -> str:
        await workflow.execute_activity("fetch", 1, **options("fetch"))
        weighed = [workflow.execute_activity("weigh", n, **options("weigh")) for n in (2, 3, 4)]
        await asyncio.gather(*weighed, Runner.run(clerk, WORKFLOW_AGENT))
        await self._ask()
        await asyncio.sleep(WORKFLOW_SLEEP_S)
        return str(await workflow.execute_activity("give", 7, **options("give")))


async def main(role: str, address: dict[str, str]) -> None:
    """Play a role."""
    models = ModelActivityParameters(start_to_close_timeout=timedelta(seconds=10))
    plugin = OpenAIAgentsPlugin(model_params=models, model_provider=TestModelProvider(Planned()))
    client = await Client.connect(address["engine"], plugins=[plugin])
    if role == "person":
        await attend(TemporalRuns(client))
    else:
        async with Worker(client, task_queue=QUEUE, workflows=[Run], activities=list(BODIES.values())):
            World().ready()
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[3])))
