"""Wrappers around the calls of a run: addresses are masked on the way to the model, and cards in what a tool returns.

    python examples/wrapping.py

What a wrapper returns is recorded, so a run that is resumed or replayed does not ask it again.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from msgspec import structs

import agentsdk
from agentsdk import Agent, Message, ModelRequest, ModelResponse, ModelSettings, RunConfig, Runner, ToolContext, function_tool
from agentsdk.runs import ModelHandler, ToolHandler, TurnContext


@function_tool(effect="none")
def show_order(number: int) -> str:
    """Show an order."""
    return f"Order {number}: two chairs, paid by card 4111111111111111."


async def mask_addresses(
    context: TurnContext[None], agent: Agent[None, Any], request: ModelRequest, handler: ModelHandler
) -> ModelResponse:
    """No mail address goes to the provider; the history keeps it."""
    items = [
        Message(item.role, re.sub(r"\S+@\S+\w", "[address]", item.text)) if isinstance(item, Message) else item
        for item in request.items
    ]
    first = items[0]
    assert isinstance(first, Message)
    print("sent: ", first.text)
    return await handler(structs.replace(request, items=items))


async def mask_cards(context: ToolContext[None], arguments: dict[str, Any], handler: ToolHandler) -> Any:
    """What a tool returns is recorded, shown and sent without the numbers of cards."""
    result = await handler(arguments)
    print("ran:  ", context.tool_name)
    return re.sub(r"\b\d{12}(?=\d{4}\b)", "************", result) if isinstance(result, str) else result


clerk = Agent[None, str](
    name="Clerk",
    tools=[show_order],
    tool_use_behavior="stop_on_first_tool",  # what the tool returns is the answer
    model_settings=ModelSettings(tool_choice="show_order", temperature=0),  # a small model has to be told
)


async def main() -> None:
    config = RunConfig(wrap_model_call=mask_addresses, wrap_tool_call=mask_cards)
    result = await Runner.run(clerk, "I am ada@example.com. What is in order 1815?", run_config=config)
    print("answer:", result.final_output)
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
