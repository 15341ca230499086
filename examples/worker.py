"""Runs are submitted by one process and driven by another: a worker that is killed at work, and one that goes on.

python examples/worker.py
python -m agentsdk worker worker:agents --store sqlite:runs.db     # what it starts
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agentsdk import Agent, ModelSettings, RunConfig, Runner, RunSummary, SQLiteRunStore, function_tool

RUNS = ("report-1", "report-2")
PATHS = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
"""Where a worker finds this module."""


@function_tool(effect="none")
async def write_report(number: int) -> str:
    """Write a report."""
    await asyncio.sleep(0.5)
    return f"Report {number} is written."


# The call is forced because a small model would often rather talk, and what the tool returns is the answer.
clerk = Agent[None, str](
    name="Clerk",
    tools=[write_report],
    tool_use_behavior="stop_on_first_tool",
    model_settings=ModelSettings(tool_choice="write_report", temperature=0, max_tokens=60),
)
agents = [clerk]


def start_worker() -> subprocess.Popen[bytes]:
    """A worker as a process of its own: on this machine or any other that reaches the store."""
    command = ["-m", "agentsdk", "worker", "worker:agents", "--store", "sqlite:runs.db", "--lease", "1", "--concurrency", "1"]
    return subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": PATHS})


async def until(store: SQLiteRunStore, run_id: str, phase: str = "", status: str = "") -> RunSummary:
    """The run's summary, once it says this."""
    revision = 0
    while True:
        await store.wait(run_id, revision, 5)
        summary = await store.summary(run_id)
        assert summary is not None
        if (phase and summary.phase == phase) or summary.status == status:
            return summary
        revision = summary.rev


async def main() -> None:
    store = SQLiteRunStore("runs.db")
    config = RunConfig(store=store)
    for number, run_id in enumerate(RUNS, 1):
        await Runner.submit(clerk, f"Please write report {number}.", run_id=run_id, run_config=config)
        print(f"submitted: {run_id}")
    first = start_worker()
    await until(store, RUNS[0], phase="act")
    first.kill()
    print(f"killed:    the worker that was at {RUNS[0]}")
    second = start_worker()
    for run_id in RUNS:
        await until(store, run_id, status="finished")
        result = await Runner.drive(agents, run_id, run_config=config)
        print(f"finished:  {run_id}: {result.final_output}")
    second.terminate()
    print(f"stopped:   the worker, exit code {second.wait()}")
    first.wait()
    await store.aclose()


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # in a new folder, with an empty store
    asyncio.run(main())
