"""agentsdk in a minute: a real model on this machine answers, calls a tool, waits for you, and is resumed in a new process.

No key, no network:

    python -m agentsdk.models.local     # once: fetches the model's weights
    python examples/demo.py
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path

from agentsdk import (
    Agent,
    AgentsException,
    FunctionCall,
    LocalModel,
    Message,
    ModelSettings,
    OutputTextDelta,
    RawResponsesStreamEvent,
    RunConfig,
    RunItemStreamEvent,
    Runner,
    RunResultStreaming,
    RunState,
    ToolCallOutputItem,
    function_tool,
)
from agentsdk.events import FunctionCallArgumentsDelta, OutputItemAdded, OutputItemDone


@function_tool(effect="none")
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"The weather in {city} is sunny, 24 degrees."


@function_tool(needs_approval=True)
def delete_file(name: str) -> str:
    """Delete a file."""
    Path(name).resolve().relative_to(Path.cwd()).unlink()  # whatever the model says, nothing outside this folder
    return f"The file {name} is deleted."


BRIEF = "Answer in one short sentence."
SETTINGS = ModelSettings(temperature=0, max_tokens=60, stop=("\n",))
CALL = SETTINGS.resolve(ModelSettings(tool_choice="required"))

guide: Agent[None, str] = Agent("Guide", BRIEF, model_settings=SETTINGS)
forecaster: Agent[None, str] = Agent("Forecaster", BRIEF, [get_weather], model_settings=CALL)
janitor: Agent[None, str] = Agent("Janitor", BRIEF, [delete_file], model_settings=CALL)

PROGRAM = Path(__file__).resolve()
NOTES, STATE = Path("notes.txt"), Path("state.json")  # in a folder of the demo's own


def main() -> None:
    """Three runs; the last one pauses, and another process ends it."""
    began = time.monotonic()
    title("agentsdk with SmolLM2, a real model of 135 million parameters, on this machine")
    NOTES.write_text("Buy milk.\n")
    question, forecast, paused = asyncio.run(three_runs())
    STATE.write_text(paused.to_state().to_string())
    note(f"The run is paused and saved, {STATE.stat().st_size:,} bytes of JSON: {STATE.resolve()}")

    title("4. The same run, resumed in a new process")
    subprocess.run([sys.executable, PROGRAM, "resume"], check=True)
    cleaning = RunState.from_string(janitor, STATE.read_text())
    note(f"{NOTES} {'is still there' if NOTES.exists() else 'is gone'}.")

    runs = (question, forecast, cleaning)
    turns, tokens = sum(run.turns for run in runs), sum(run.usage.total_tokens for run in runs)
    title(f"Done: {len(runs)} runs, {turns} turns, {tokens} tokens, {time.monotonic() - began:.1f} s, no key, no network.")


async def three_runs() -> list[RunResultStreaming[str]]:
    """A question, a tool, and a call that needs approval."""
    async with LocalModel("smollm2", on_progress=note) as model:
        await model.start()
        title("1. A question, answered as the model writes")
        question = await show(guide, "What is the capital of Italy?", model)

        title("2. A tool")
        note('A model this small does not choose tools well, so the call is asked for: tool_choice="required".')
        note("Constrained decoding holds the arguments it writes to the tool's schema.")
        forecast = await show(forecaster, "What is the weather in Rome?", model)

        title("3. A call that needs your approval")
        note(f"{NOTES} is a real file, in a folder of the demo's own. Again the call is asked for.")
        paused = await show(janitor, f"Delete the file {NOTES}.", model)
    return [question, forecast, paused]


def resume() -> None:
    """Load the paused run, ask for the decision, and go on where it stood."""
    note(f"This is process {os.getpid()}. Process {os.getppid()}, where the run began, only waits for it to end.")
    state = RunState.from_string(janitor, STATE.read_text())
    for call in state.interruptions:
        if approved(f"{call.tool_name} {call.arguments}"):
            state.approve(call)
        else:
            state.reject(call, reason="The user does not want that.")

    async def go_on() -> RunResultStreaming[str]:
        async with LocalModel("smollm2", on_progress=note) as model:
            return await show(janitor, state, model)

    result = asyncio.run(go_on())
    label("output", f"{result.final_output}\n")
    STATE.write_text(result.to_state().to_string())


def approved(call: str) -> bool:
    """Ask the person at the terminal; where there is none, approve and say so."""
    if not sys.stdin.isatty():
        label("approve", f"{call}? yes (there is no terminal to ask at, so the demo approves)\n")
        return True
    while True:
        label("approve", f"{call}? [y/n] ")
        answer = sys.stdin.readline().strip().lower()
        if answer in ("y", "yes", "n", "no", ""):
            return answer in ("y", "yes")


async def show(agent: Agent[None, str], given: str | RunState, model: LocalModel) -> RunResultStreaming[str]:
    """Run `agent` and print what happens while it happens."""
    began = time.monotonic()
    if isinstance(given, str):
        label("you", f"{given}\n")
    run = Runner.run_streamed(agent, given, run_config=RunConfig(model=model))
    async for event in run:
        if isinstance(event, RawResponsesStreamEvent):
            match event.data:
                case OutputItemAdded(item=Message()):
                    label("model")
                case OutputItemAdded(item=FunctionCall(name=name)):
                    label("calls", f"{name} ")
                case OutputTextDelta(delta=text) | FunctionCallArgumentsDelta(delta=text):
                    say(text)
                case OutputItemDone():
                    say("\n")
                case _:
                    pass
        elif isinstance(event, RunItemStreamEvent) and isinstance(event.item, ToolCallOutputItem):
            label("result", f"{event.item.output}\n")
    note(f"turns {run.turns}, tokens {run.usage.total_tokens}, {time.monotonic() - began:.1f} s")
    return run


COLORS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def say(text: str, style: str = "") -> None:
    print(f"\x1b[{style}m{text}\x1b[0m" if COLORS and style else text, end="", flush=True)


def title(text: str) -> None:
    say(f"\n{text}\n", style="1")


def note(text: str) -> None:
    say(f"  {text}\n", style="2")


def label(name: str, text: str = "") -> None:
    say(f"  {name:8}", style="36")
    say(text)


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["resume"]:
            resume()
        else:
            with tempfile.TemporaryDirectory(prefix="agentsdk-demo-") as folder, chdir(folder):
                main()
    except AgentsException as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except KeyboardInterrupt:
        sys.exit(130)
