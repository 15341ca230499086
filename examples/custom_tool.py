"""A custom tool: the model calls it with a text, which a grammar describes, in place of arguments by name.

OpenAI's Responses API holds the model to the grammar; to any other model it is told, so the tool checks what it is given.

python examples/custom_tool.py
"""

import asyncio
import re

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, ToolCallItem
from agentsdk.tools import Grammar, custom_tool

SUM = r"\d{1,6}( [+-] \d{1,6}){0,9}"


@custom_tool(grammar=Grammar("regex", SUM))
def calculate(expression: str) -> str:
    """Calculate something like 12 + 4 - 1."""
    if not re.fullmatch(SUM, expression):
        return "That is no sum."
    terms = re.findall(r"[+-]?\d+", expression.replace(" ", ""))
    return f"{expression} = {sum(map(int, terms))}"


# The call is forced because a small model would often rather guess, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[calculate],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="calculate", temperature=0, max_tokens=60),
)


async def main() -> None:
    result = await Runner.run(clerk, "How much are 17 + 30 - 4?")
    for item in result.new_items:
        if isinstance(item, ToolCallItem):
            print(f"called: {item.raw_item.name} {item.raw_item.arguments}")
    print(f"answer: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
