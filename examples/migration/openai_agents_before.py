"""A help desk on openai-agents: triage hands over, a refund waits for a person, the answer is typed, a session remembers.

pip install openai-agents==0.24.0
"""

import asyncio
from dataclasses import dataclass, field

from agents import Agent, RunContextWrapper, Runner, RunResultStreaming, RunState, SQLiteSession, function_tool
from pydantic import BaseModel


@dataclass
class Shop:
    prices: dict[int, int]
    refunded: list[int] = field(default_factory=list)


class Outcome(BaseModel):
    order: int
    refunded: bool
    message: str


@function_tool
def look_up(shop: RunContextWrapper[Shop], order: int) -> str:
    """Look an order up."""
    return f"Order {order}: a lamp for {shop.context.prices[order]} euros."


@function_tool(needs_approval=True)
def refund(shop: RunContextWrapper[Shop], order: int) -> str:
    """Pay an order back."""
    shop.context.refunded.append(order)
    return f"Order {order} is paid back."


billing = Agent[Shop](
    name="Billing",
    handoff_description="Orders and refunds.",
    instructions="Look the order up, then pay it back.",
    model="gpt-4.1",
    tools=[look_up, refund],
    output_type=Outcome,
)
triage = Agent[Shop](name="Triage", instructions="Hand over to who can help.", model="gpt-4.1", handoffs=[billing])


async def show(run: RunResultStreaming) -> None:
    async for event in run.stream_events():
        if event.type == "agent_updated_stream_event":
            print(f"[{event.new_agent.name}]")
        elif event.type == "run_item_stream_event" and event.item.type == "tool_call_item":
            print(f"calls {event.item.raw_item.name}({event.item.raw_item.arguments})")


async def main() -> None:
    shop = Shop({1815: 40})
    session = SQLiteSession("ada", "chats.db")
    run = Runner.run_streamed(triage, "My lamp, order 1815, came broken. I want my money back.", context=shop, session=session)
    await show(run)
    saved = run.to_state().to_string()  # a person decides tomorrow, perhaps in another process

    state = await RunState.from_string(triage, saved, context_override=shop)
    for item in state.get_interruptions():
        print(f"approved: {item.name}({item.arguments})")
        state.approve(item)
    run = Runner.run_streamed(triage, state, session=session)
    await show(run)
    outcome = run.final_output_as(Outcome)
    print(f"{outcome.message} {shop.refunded}")

    result = await Runner.run(run.last_agent, "Thanks! Which order was it?", context=shop, session=session)
    print(result.final_output.message)


if __name__ == "__main__":
    asyncio.run(main())
