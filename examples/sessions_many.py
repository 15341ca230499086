"""Many sessions in one file: found by user, branched to try another way on, and kept small without losing a word."""

import asyncio
import tempfile
from pathlib import Path

import agentsdk
from agentsdk import Agent, ContextWindow, ModelSettings, Runner, SlidingWindow, SQLiteSession
from agentsdk.sessions import SessionQuery

guide = Agent(
    name="Guide",
    instructions="Answer in one short sentence.",
    model_settings=ModelSettings(temperature=0, max_tokens=60, stop=("\n",)),
)
# Above half of 40 tokens all but the last turn goes. Real windows are as large as the model's.
window = ContextWindow(size=40, trigger=0.5, target=0.25, strategies=[SlidingWindow(turns=1)])


async def ask(session: SQLiteSession, question: str) -> None:
    result = await Runner.run(guide, question, session=session)
    print(f"{session.session_id}: {question} {result.final_output}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        chats = Path(folder) / "chats.db"
        rome = SQLiteSession("rome", chats, user="ada", metadata={"title": "A trip to Italy"})
        await ask(rome, "What is the capital of Italy?")
        await ask(rome, "And of Spain?")
        await ask(rome, "And of Portugal?")
        await ask(SQLiteSession("oslo", chats, user="bob"), "What is the capital of Norway?")

        # The same first question, and another second one.
        paris = await rome.branch("paris", items=2)
        await ask(paris, "And of France?")

        for chat in await SQLiteSession.list(chats, SessionQuery(user="ada")):
            print(f"ada has {chat.session_id!r}: {chat.metadata['title']}, {chat.items} items")

        if await Runner.compact_session(rome, window):
            now, before = await rome.get_items(), await rome.get_original_items()
            print(f"'rome' has {len(now)} items now, and its {len(before)} originals are kept")
        await paris.aclose()
        await rome.aclose()
    await agentsdk.aclose()


if __name__ == "__main__":
    asyncio.run(main())
