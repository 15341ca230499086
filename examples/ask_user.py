"""The model asks a person, who chooses an answer or gives one in their own words.

python examples/ask_user.py     # at a terminal it is you who is asked; otherwise the first choice is taken
"""

import asyncio
import sys

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, RunState, ToolAnswerItem, UserError
from agentsdk.tools import ask_user

# Asking is forced because a small model would often rather guess, and the answer is the run's output.
shop = Agent[None, str](
    name="Shop",
    instructions="You take orders. Ask short questions.",
    tools=[ask_user],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="ask_user", temperature=0, max_tokens=120),
)


def reply_to(item: ToolAnswerItem) -> str:
    """What the person says."""
    if sys.stdin.isatty():
        return input("you:  ")
    answer = item.choices[0] if item.choices else "red"
    print(f"you:  {answer}")
    return answer


def answer(state: RunState, item: ToolAnswerItem) -> None:
    """Ask until the answer is one."""
    print(f"shop: {item.question}", f"({', '.join(item.choices)})" if item.choices else "")
    while True:
        try:
            state.answer(item, reply_to(item))
        except UserError as error:
            print(f"      {error}")
        else:
            return


async def main() -> None:
    result = await Runner.run(shop, "Ask me whether I want the red umbrella or the blue one.")
    while not result.is_finished:
        state = result.to_state()  # or Runner.load(run_id) in another process, with a store
        for item in state.interruptions:
            if isinstance(item, ToolAnswerItem):
                answer(state, item)
        result = await Runner.run(shop, state)
    print(f"order: {result.final_output}")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
