"""The refund as a workflow of agentsdk: the edges are Python, and a step that is recorded is never run again."""

import asyncio

from pydantic import BaseModel

import agentsdk
from agentsdk import Agent, RunConfig, Runner, RunResultStreaming, SQLiteRunStore, function_tool
from agentsdk.workflow import flow, step, workflow


class Risk(BaseModel):
    """How risky a refund is."""

    score: int
    why: str


@function_tool(effect="none")
def look_up(order: str) -> str:
    """Look an order up."""
    return f"Order {order}: a lamp for 40 euros."


analyst = Agent[None, Risk](
    name="Analyst",
    model="openai-chat:gpt-4.1",
    instructions="Judge the risk of this refund, from 0 to 10.",
    tools=[look_up],
    output_type=Risk,
)
writer = Agent[None, str](name="Writer", model="openai-chat:gpt-4.1", instructions="Write one line to the customer.")


@step  # effect="once": cut in the middle, a person is asked what became of it
async def pay(order: str) -> str:
    return f"Receipt of {order}: 40 euros."


@workflow
async def refund(order: str) -> str | None:
    risk = await flow.agent(analyst, order)  # a Risk
    if risk.score > 7 and not await flow.ask(f"Refund {order} in spite of the risk?"):
        return None
    receipt = await pay(order)
    return await flow.agent(writer, receipt)


async def show(run: RunResultStreaming[str | None]) -> None:
    async for event in run:
        if event.type == "run_item_stream_event" and event.item.type == "tool_call_item" and not event.path:
            print(f"step: {event.item.raw_item.name}")


async def main() -> None:
    config = RunConfig(store=SQLiteRunStore("runs.db"), run_id="refund-17")
    await show(refund.run_streamed("o-17", run_config=config))

    state = await Runner.load("refund-17", run_config=config)  # tomorrow, in a process that needs the store alone
    for item in state.interruptions:
        print(f"asked: {item.arguments}")
        state.answer(item, True, by="ann@example.com")
    await Runner.decide(state, run_config=config)

    run = Runner.resume_streamed(refund, "refund-17", run_config=config)
    await show(run)
    print(run.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
