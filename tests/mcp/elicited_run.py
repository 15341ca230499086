"""A stored run that pauses on a server's question: `python elicited_run.py begin|answer|finish`, each in its own process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agentsdk import Agent, RunConfig, Runner, SQLiteRunStore
from agentsdk.mcp import MCPServerStdio
from agentsdk.testing import ScriptedModel, call

LITTLE = str(Path(__file__).with_name("little_server.py"))


async def main(step: str) -> None:
    params = {"command": sys.executable, "args": ["-S", LITTLE, "modern"], "env": {"CALLS": "calls.txt"}}
    server = MCPServerStdio(params, name="little")  # type: ignore[arg-type]
    model = ScriptedModel([call("ask", text="x"), "done"] if step == "begin" else ["done"])
    agent = Agent[None, str](name="A", model=model, toolsets=[server])
    config = RunConfig(store=SQLiteRunStore("runs.db"), run_id="r")
    if step == "begin":
        paused = await Runner.run(agent, "go", run_config=config)
        print("waits:", paused.interruptions[0].question, flush=True)  # type: ignore[union-attr]
        await asyncio.Event().wait()  # until it is killed
    elif step == "answer":
        state = await Runner.load("r", run_config=config)
        state.answer(state.interruptions[0], {"name": "Ada"})
        await Runner.decide(state, run_config=config)
        print("answered")
    else:
        result = await Runner.resume(agent, "r", run_config=config)
        outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
        print(result.final_output, outputs, "sent", len(Path("calls.txt").read_text().splitlines()))
    await server.aclose()


asyncio.run(main(sys.argv[1]))
