"""A run that kills its own process: `python -m tests.engine.killed_run RUNS EFFECTS POINT LEVEL`.

`AT` are the points there are. `LEVEL` is the run's durability.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

from agentsdk import Agent, RunConfig, RunHooks, Runner, SQLiteRunStore, ToolContext, function_tool
from agentsdk.define.run_config import Durability
from agentsdk.testing import ScriptedModel, call

AT = ("request sent", "reply saved", "intent saved", "effect done", "result saved")


class Life:
    """What the process does outside itself, and where it ends."""

    def __init__(self, effects: Path, ends: str = "") -> None:
        self._effects = effects
        self._ends = ends

    def come_to(self, point: str) -> None:
        if point == self._ends:
            os.kill(os.getpid(), signal.SIGKILL)

    def agent(self) -> Agent[Any, Any]:
        async def effect(ctx: ToolContext[Any]) -> str:
            self.come_to("intent saved")
            with self._effects.open("a") as file:
                file.write(f"{ctx.run_id}/{ctx.tool_call_id}\n")
            self.come_to("effect done")
            return f"{ctx.tool_name} is done"

        def say(request: Any) -> Any:
            if request.request_id.endswith("-1"):
                self.come_to("request sent")
                return [call("pay"), call("put")]
            self.come_to("result saved")
            return "done"

        tools = [function_tool(effect, name_override="pay"), function_tool(effect, name_override="put", effect="idempotent")]
        return Agent("main", model=ScriptedModel([say, say]), tools=tools)


class Watch(RunHooks[Any]):
    def __init__(self, life: Life) -> None:
        self._life = life

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self._life.come_to("reply saved")


async def main(runs: str, effects: str, point: str, level: str) -> None:
    life = Life(Path(effects), point)
    durability = cast(Durability, level if level.isalpha() else float(level))
    config = RunConfig(store=SQLiteRunStore(runs), run_id="r", durability=durability)
    await Runner.run(life.agent(), "go", run_config=config, hooks=Watch(life))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
