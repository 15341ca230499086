"""A run with a selection that kills its own process: `python -m tests.toolsets.killed_selection RUNS REQUEST`.

It ends when the model is asked for the so-many-th time. `OFFERED`, beside RUNS, gets what was offered in each request.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from agentsdk import Agent, ModelRequest, RunConfig, Runner, SQLiteRunStore
from agentsdk.models import Embedder
from agentsdk.testing import ScriptedModel, call
from agentsdk.toolsets import SelectedToolset
from tests.toolsets.many import WordEmbedder, registry

REQUEST = "cancel the flight"
REPLIES = (call("search_tools", query="share a song"), call("share_song", x=1), call("cancel_flight", x=2), "done")


def agent_of(embedder: Embedder, offered: Path, ends: int, first: int = 1) -> Agent[Any, str]:
    """Goes on from reply `first`; the process is killed when it is asked for reply `ends`."""

    def say(number: int) -> Any:
        def reply(request: ModelRequest) -> Any:
            if number == ends:
                os.kill(os.getpid(), signal.SIGKILL)
            with offered.open("a") as file:
                file.write(" ".join([tool.name for tool in request.tools]) + "\n")
            return REPLIES[number - 1]

        return reply

    model = ScriptedModel([say(number) for number in range(first, len(REPLIES) + 1)])
    return Agent[Any, str]("main", model=model, toolsets=[SelectedToolset(registry(), top=2, by=embedder)])


async def main(runs: str, ends: str) -> None:
    config = RunConfig(store=SQLiteRunStore(runs), run_id="r")
    await Runner.run(agent_of(WordEmbedder(), Path(runs).with_suffix(".txt"), int(ends)), REQUEST, run_config=config)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
