"""The clerk on agentsdk: the thread is a session of yours, nothing is polled, and a run may wait for a person for a week."""

import asyncio

import agentsdk
from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore, SQLiteSession, function_tool

ORDERS = {1815: "two chairs", 1816: "a lamp"}


@function_tool(effect="none")
def show_order(number: int) -> str:
    """What an order holds."""
    return f"Order {number}: {ORDERS[number]}."


@function_tool(needs_approval=True)  # effect="once": after a crash it is never run again by itself
def cancel_order(number: int) -> str:
    """Cancel an order."""
    del ORDERS[number]
    return f"Order {number} is cancelled."


clerk = Agent[None, str](
    name="Clerk",
    model="openai-chat:gpt-4.1",
    instructions="Help with orders, briefly.",
    tools=[show_order, cancel_order],
)


async def main() -> None:
    thread = SQLiteSession("ada", "chats.db")
    store = SQLiteRunStore("runs.db")
    for number, question in enumerate(("What is in order 1815?", "Cancel it, please.")):
        config = RunConfig(store=store, run_id=f"ada-{number}")
        result = await Runner.run(clerk, question, session=thread, run_config=config)
        while result.interruptions:  # the process may end here
            state = await Runner.load(f"ada-{number}", run_config=config)
            for item in state.interruptions:
                print(f"approved: {item.tool_name}({item.arguments})")
                state.approve(item, by="bob@example.com")
            await Runner.decide(state, run_config=config)
            result = await Runner.resume(clerk, f"ada-{number}", session=thread, run_config=config)
        print(result.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
