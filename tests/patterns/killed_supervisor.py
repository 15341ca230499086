"""A supervisor's run in a process that is killed in the middle of a task: see test_supervising.py."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from agentsdk import Agent, ModelRequest, RunConfig, SQLiteRunStore
from agentsdk.patterns import Supervised, supervisor
from agentsdk.testing import ScriptedModel
from agentsdk.workflow import Workflow

TASKS = '[{"worker": "Digger", "input": "a"}, {"worker": "Digger", "input": "b"}]'
START = f'{{"start": {TASKS}, "cancel": [], "note": "", "then": "wait"}}'
FINISH = '{"start": [], "cancel": [], "note": "", "then": "finish"}'


def team(folder: Path, *, dies: bool) -> Workflow[str, Supervised[str]]:
    """A lead with one digger, who writes down what it is asked. If it `dies`, its process does: at b, once a has ended."""
    at_b = asyncio.Event()

    async def dig(request: ModelRequest) -> str:
        task = str(getattr(request.items[-1], "content", ""))
        with (folder / "begun.txt").open("a", encoding="utf-8") as file:
            file.write(f"{task}\n")
        if dies and task == "b":
            at_b.set()
            await asyncio.Event().wait()
        return f"done: {task}"

    async def die(request: ModelRequest) -> str:
        await at_b.wait()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    lead = Agent[None, str](name="Lead", model=ScriptedModel([START, die] if dies else [FINISH, "Both."]))
    return supervisor(lead, [Agent[None, str](name="Digger", model=ScriptedModel([dig] * 2))])


async def main(folder: Path) -> None:
    store = SQLiteRunStore(folder / "runs.db")
    await team(folder, dies=True).run("Dig.", run_config=RunConfig(store=store, run_id="dig-9", lease=0.1))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
