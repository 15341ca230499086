"""A person lets a call run, but with other arguments than the model's; the model is told.

python examples/edited_approval.py
"""

import asyncio
import json

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, RunState, ToolCallOutputItem, UserError, function_tool

MOST = 49


@function_tool(needs_approval=True)
def refund(order: int, amount: int) -> str:
    """Pay a customer back."""
    return f"{amount} dollars of order {order} are paid back."


# The call is forced because a small model would often rather talk.
clerk = Agent(
    name="Clerk",
    tools=[refund],
    model_settings=ModelSettings(tool_choice="refund", temperature=0, max_tokens=60),
)


async def main() -> None:
    result = await Runner.run(clerk, "My lamp of order 1815 is broken. Please pay 500 dollars back.")
    state = result.to_state()
    (item,) = state.interruptions
    print(f"asked for: {item.arguments}")

    arguments = json.loads(item.arguments)
    state.approve(item, arguments={**arguments, "amount": "a few"}, by="ann")
    try:
        await Runner.run(clerk, state)
    except UserError as error:  # nothing has run, and error.state is the run without that decision
        print(f"refused:   {error}")
        assert isinstance(error.state, RunState)
        state = error.state

    state.approve(item, arguments={**arguments, "amount": MOST}, by="ann", reason="a lamp costs no more")
    result = await Runner.run(clerk, state)
    for told in result.new_items:
        if isinstance(told, ToolCallOutputItem):
            print(f"told:      {told.output}")
    print(f"answer:    {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
