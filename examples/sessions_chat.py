"""Sessions: what was said is kept between runs. This one is a SQLite file, so it outlives the process too."""

import asyncio
import tempfile
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, SQLiteSession

guide = Agent(
    name="Guide",
    instructions="Answer in one short sentence.",
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),
)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = SQLiteSession("ada", Path(folder) / "chats.db")
        # The second question means nothing without the first.
        for question in ("What is the capital of Italy?", "And of Spain?"):
            result = await Runner.run(guide, question, session=session)
            print(f"you:   {question}\nguide: {result.final_output}")
        print(f"[the session holds {len(await session.get_items())} messages]")
        await session.aclose()
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
