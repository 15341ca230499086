"""Approval: a call waits for a person, the run is saved, and another process finishes it.

python examples/approval_resume.py              # runs until the call, saves, starts the second process
python examples/approval_resume.py run.json     # what that one does: load, decide, go on
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import agentsdk
from agentsdk import Agent, ModelSettings, Runner, RunState, function_tool


@function_tool(needs_approval=True)
def cancel_order(number: int) -> str:
    """Cancel an order."""
    return f"Order {number} is cancelled."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[cancel_order],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="cancel_order", temperature=0, max_tokens=60),
)


async def begin() -> str:
    """Run until the call; the paused run as text."""
    result = await Runner.run(clerk, "Please cancel order 1815.")
    for call in result.interruptions:
        print(f"process {os.getpid()}: {call.tool_name}({call.arguments}) waits for approval")
    await agentsdk.aclose()
    return result.to_state().to_string()


async def finish(saved: str) -> None:
    """Load the paused run, decide, and go on."""
    state = RunState.from_string(clerk, saved)
    for call in state.interruptions:
        state.approve(call)  # or state.reject(call, reason="..."), which the model is told
        print(f"process {os.getpid()}: approved {call.tool_name}")
    result = await Runner.run(clerk, state)
    print(f"process {os.getpid()}: {result.final_output}")
    await agentsdk.aclose()


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(finish(Path(sys.argv[1]).read_text(encoding="utf-8")))
    else:
        with tempfile.TemporaryDirectory() as folder:
            saved = Path(folder) / "run.json"
            size = saved.write_text(asyncio.run(begin()), encoding="utf-8")
            print(f"process {os.getpid()}: saved the run, {size} characters of JSON", flush=True)
            subprocess.run([sys.executable, __file__, saved], check=True)


if __name__ == "__main__":
    main()
