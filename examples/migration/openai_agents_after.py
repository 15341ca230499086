"""The help desk on agentsdk: the same, and the run that waits is in a store, where a `kill -9` does not reach it."""

import asyncio
from dataclasses import dataclass, field

from pydantic import BaseModel

import agentsdk
from agentsdk import Agent, RunConfig, Runner, RunResultStreaming, SQLiteRunStore, SQLiteSession, ToolContext, function_tool


@dataclass
class Shop:
    prices: dict[int, int]
    refunded: list[int] = field(default_factory=list[int])


class Outcome(BaseModel):
    order: int
    refunded: bool
    message: str


@function_tool(effect="none")
def look_up(shop: ToolContext[Shop], order: int) -> str:
    """Look an order up."""
    return f"Order {order}: a lamp for {shop.context.prices[order]} euros."


@function_tool(needs_approval=True)  # effect="once": after a crash it is never run again by itself
def refund(shop: ToolContext[Shop], order: int) -> str:
    """Pay an order back."""
    shop.context.refunded.append(order)
    return f"Order {order} is paid back."


billing = Agent[Shop, Outcome](
    name="Billing",
    handoff_description="Orders and refunds.",
    instructions="Look the order up, then pay it back.",
    model="openai:gpt-4.1",
    tools=[look_up, refund],
    output_type=Outcome,
)
triage = Agent[Shop, str](name="Triage", instructions="Hand over to who can help.", model="openai:gpt-4.1", handoffs=[billing])


async def show(run: RunResultStreaming[str]) -> None:
    async for event in run:
        if event.type == "agent_updated_stream_event":
            print(f"[{event.new_agent.name}]")
        elif event.type == "run_item_stream_event" and event.item.type == "tool_call_item":
            print(f"calls {event.item.raw_item.name}({event.item.raw_item.arguments})")


async def main() -> None:
    shop = Shop({1815: 40})
    session = SQLiteSession("ada", "chats.db")
    config = RunConfig(store=SQLiteRunStore("runs.db"), run_id="ticket-7")
    question = "My lamp, order 1815, came broken. I want my money back."
    await show(Runner.run_streamed(triage, question, context=shop, session=session, run_config=config))

    state = await Runner.load("ticket-7", run_config=config)  # tomorrow, in a process that needs the store alone
    for item in state.interruptions:
        print(f"approved: {item.tool_name}({item.arguments})")
        state.approve(item, by="bob@example.com")
    await Runner.decide(state, run_config=config)

    run = Runner.resume_streamed(triage, "ticket-7", context=shop, session=session, run_config=config)
    await show(run)
    outcome = run.final_output_as(Outcome, raise_if_incorrect_type=True)
    print(f"{outcome.message} {shop.refunded}")

    result = await Runner.run(billing, "Thanks! Which order was it?", context=shop, session=session)
    print(result.final_output.message)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
