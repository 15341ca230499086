"""Tools that are found when a turn begins: a registry, of which each user is offered what they may do.

    python examples/toolsets.py

Ada is a clerk and may cancel orders. To Bob the tool is not offered, and a call of it would not be run.
"""

from __future__ import annotations

import asyncio

import agentsdk
from agentsdk import Agent, FunctionTool, ModelSettings, Runner, function_tool
from agentsdk.toolsets import ToolRegistry, ToolsetContext

CLERKS = {"ada"}

orders = ToolRegistry[str](name="orders", instructions="Orders are known by their number.")


@orders.register
@function_tool(effect="none")
def show_order(number: int) -> str:
    """Show an order."""
    return f"Order {number}: two chairs."


@orders.register
@function_tool(tags=["clerk"])
def cancel_order(number: int) -> str:
    """Cancel an order."""
    return f"Order {number} is cancelled."


def is_offered(context: ToolsetContext[str], tool: FunctionTool[str]) -> bool:
    """The rule that the registry is filtered by, asked for each tool when a turn begins."""
    offered = context.context in CLERKS or "clerk" not in tool.tags
    print(f"{context.context} is {'' if offered else 'not '}offered {tool.name}")
    return offered


shop = Agent[str, str](
    name="Shop",
    toolsets=[orders.filtered(is_offered).prefixed("shop_")],
    tool_use_behavior="stop_on_first_tool",  # what the tool returns is the answer
    model_settings=ModelSettings(tool_choice="shop_show_order", temperature=0),  # a small model has to be told
)


async def main() -> None:
    for user in ("ada", "bob"):
        result = await Runner.run(shop, "What is in order 1815?", context=user)
        print("answer:", result.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
