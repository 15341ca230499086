"""The smallest agent: a question and its answer.

Every example runs as it stands on a small local model (135 million parameters: expect its mechanics to hold, not its facts), and
unchanged against any OpenAI-compatible server: set OPENAI_BASE_URL, OPENAI_API_KEY and AGENTSDK_MODEL.
"""

import asyncio

import agentsdk
from agentsdk import Agent, ModelSettings, Runner

assistant = Agent(
    name="Assistant",
    instructions="Answer in one short sentence.",
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),  # keeps a small model short
)


async def main() -> None:
    result = await Runner.run(assistant, "What is the capital of France?")
    print(result.final_output)
    print(f"[{result.turns} turn, {result.usage.total_tokens} tokens]")
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
