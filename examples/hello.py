"""The smallest agent: a question and its answer.

Every example runs as it stands on a local model of 135 million parameters: expect the mechanics to hold, not the facts. With
OPENAI_BASE_URL, OPENAI_API_KEY and AGENTSDK_MODEL set, it runs unchanged against that OpenAI-compatible server.
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
