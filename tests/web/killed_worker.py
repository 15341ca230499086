"""A worker that is to be killed while its tool is stuck: `python -m tests.web.killed_worker store.db`."""

from __future__ import annotations

import asyncio
import sys

from agentsdk import Agent, RunConfig, SQLiteRunStore, Worker, function_tool
from agentsdk.testing import ScriptedModel, call


def digger(*, stuck: bool) -> Agent[None, str]:
    """An agent whose digging is `stuck` for ever, or is not."""

    @function_tool(effect="none")
    async def dig() -> str:
        """Dig."""
        if stuck:
            print("digging", flush=True)
            await asyncio.Event().wait()
        return "dug"

    said = [call("dig"), "It is dug."] if stuck else ["It is dug."]
    return Agent[None, str](name="Digger", tools=[dig], model=ScriptedModel(said))


async def main(path: str) -> None:
    store = SQLiteRunStore(path)
    await Worker(store, agents=[digger(stuck=True)], config=RunConfig(lease=0.5)).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
