"""What the runs of a kill sweep do, and what of it is seen from outside. No contestant's package is imported here.

A plan is text: turns apart by blanks, the calls of a turn by `+`, each a tool and a number that no other call of the run has.
A `helper` is an agent as a tool: it has a plan of its own. Each call leaves a line when its body begins.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from benchmarks.crash.outside import Outside

WORK_S = float(os.environ.get("ENGINES_WORK_S", "0.3"))
"""Seconds that a body works on average, after its effect."""

REPLY_S = float(os.environ.get("ENGINES_REPLY_S", "0.1"))
"""Seconds that a model takes on average."""

PLANS = ("look:1 pay:2 book:3", "pay:1+look:2+pay:3 pay:4", "look:1 send:2 pay:3", "helper:1+helper:2 pay:3", "workflow")
"""Calls of each effect, several at once, an approval, two agents side by side, a workflow."""

WORKFLOW = "workflow"
"""The plan of a run that is code: `fetch`, three `weigh` beside an agent that looks and pays, a question, a time, `give`."""

WORKFLOW_CALLS = ("fetch:1", "weigh:2", "weigh:3", "weigh:4", "look:5", "pay:6", "give:7")
WORKFLOW_AGENT = "look:5 pay:6"
WORKFLOW_SLEEP_S = 1.0

EFFECTS = {
    "look": "none",
    "fetch": "none",
    "weigh": "none",
    "book": "idempotent",
    "pay": "once",
    "send": "once",
    "give": "once",
}
"""What each body would do if it ran again."""


def helper_plan(n: int) -> str:
    """What the helper does that is call `n` of its run."""
    return f"pay:{n}1 book:{n}2"


def turn_of(plan: str, done: Collection[int]) -> list[tuple[str, int]]:
    """The calls that come next, given the numbers of those that have a result; none when all is done."""
    for turn in plan.split():
        calls = [(tool, int(n)) for tool, n in (call.split(":") for call in turn.split("+"))]
        if not all(n in done for _, n in calls):
            return calls
    return []


def bodies_of(plan: str) -> list[str]:
    """The bodies that a run of the plan is to begin, each as `tool:number`."""
    if plan == WORKFLOW:
        return list(WORKFLOW_CALLS)
    bodies: list[str] = []
    for turn in plan.split():
        for call in turn.split("+"):
            tool, n = call.split(":")
            bodies += helper_plan(int(n)).split() if tool == "helper" else [call]
    return bodies


async def some_time(seconds: float) -> None:
    """What a reply or a body takes: `seconds` on average, no two the same."""
    await asyncio.sleep(seconds * random.uniform(0.5, 1.5))


class World(Outside):
    """The outside of all runs of a sweep: a folder. What is in it is on the disk when the call that wrote it returns."""

    def __init__(self, folder: str | Path | None = None) -> None:
        super().__init__(folder or os.environ["ENGINES_WORLD"])

    def begin(self, run_id: str, tool: str, n: int) -> None:
        """The effect of a body: its first act."""
        self.write("bodies", [run_id, f"{tool}:{n}"], sync=True)

    def begun(self) -> Counter[tuple[str, str]]:
        """How often each body of each run was begun."""
        return Counter((run_id, call) for run_id, call in self.read("bodies"))

    def ready(self) -> None:
        """This process takes work from now on."""
        self.write("ready", os.getpid())

    def say(self, run_id: str, what: str) -> None:
        """A person was shown a call in doubt, or was told of a call that failed because its worker died."""
        self.write("said", [run_id, what], sync=True)
