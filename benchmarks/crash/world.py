"""What a run does, and what is outside it: the model's server, the ledger of effects, and the points at which it is killed.

Files, so that they survive the process. No contestant's package is imported here: each runs this in its own environment.
"""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.crash.outside import Outside, die

Point = Literal["request sent", "response saved", "intent saved", "effect done", "result saved"]
POINTS: tuple[Point, ...] = ("request sent", "response saved", "intent saved", "effect done", "result saved")

PEER_POINTS: dict[str, tuple[Point, ...]] = {
    "openai_agents": ("request sent", "effect done", "result saved"),
    "langgraph": ("request sent", "response saved", "effect done", "result saved"),
}
"""What peers have of them. Neither saves an intent; openai-agents saves a reply only with the results of its calls."""

PROMPT = "Work through all orders."

EFFECTS = {"look_up": "none", "reserve": "idempotent", "charge": "once", "ship": "once"}
"""What doing a tool's work twice would mean. `ship` can also say afterwards what became of it."""

_STEPS = (
    ("look_up",),
    ("reserve",),
    ("charge",),
    ("reserve", "charge", "look_up"),
    ("ship",),
    ("charge", "ship", "charge", "reserve"),
)


class Call(NamedTuple):
    """A call the model asks for."""

    call_id: str
    tool: str
    item: str
    """Its one argument, unique in the run."""

    @property
    def effect(self) -> str:
        """What doing it twice would mean."""
        return EFFECTS[self.tool]

    @property
    def result(self) -> str:
        """What the tool answers."""
        return f"{self.tool} {self.item}: done"


def calls_of(step: int) -> tuple[Call, ...]:
    """The calls of a step, counted from 1: one, or several at once."""
    tools = _STEPS[(step - 1) % len(_STEPS)]
    return tuple(Call(f"call_{step}_{number}", tool, f"{step}-{number}") for number, tool in enumerate(tools))


def call_of(item: str) -> Call:
    """The call with this argument."""
    step, number = item.split("-")
    return calls_of(int(step))[int(number)]


class Kill(NamedTuple):
    """Where a process is to die. In a step of several calls it is `item` whose effect or result it is."""

    step: int
    point: Point
    item: str


def kill_at(step: int, point: Point) -> Kill:
    """A kill in `step`, of another one of its calls each time the step's kind comes round."""
    calls = calls_of(step)
    return Kill(step, point, calls[step // len(_STEPS) % len(calls)].item)


class World(Outside):
    """The outside of one run of so many steps: a folder."""

    def __init__(self, folder: str | Path, steps: int, kill: Kill | None = None) -> None:
        super().__init__(folder)
        self.steps = steps
        self._kill = kill

    def reached(self, step: int, point: Point, item: str = "") -> None:
        """Die, if this is where."""
        kill = self._kill
        if kill is not None and (step, point) == (kill.step, kill.point) and item in ("", kill.item):
            die()

    def ask(self, results: Sequence[tuple[str, str]]) -> tuple[int, tuple[Call, ...]]:
        """The model's server: given the results so far (call id and text), the step and its calls; none when all is done.

        Raises `ValueError` for a history that is not that of a whole run.
        """
        expected = [(call.call_id, call.result) for step in range(1, self.steps + 1) for call in calls_of(step)]
        step = 1 + (int(results[-1][0].split("_")[1]) if results else 0)
        until = sum(len(calls_of(before)) for before in range(1, step))
        wrong = list(results) != expected[:until]
        self.write("requests", {"step": step, "wrong": wrong})
        if wrong:
            raise ValueError(f"the history before step {step} is not that of the run")
        self.reached(step, "request sent")
        return step, calls_of(step) if step <= self.steps else ()

    @property
    def answer(self) -> str:
        """The final answer."""
        return f"All {self.steps} steps are done."

    def do(self, item: str, key: str) -> str:
        """A tool's work. Who takes a key does nothing for one it has seen."""
        call = call_of(item)
        with (self.folder / "ledger.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            seen = call.effect == "idempotent" and any(line["key"] == key for line in self.ledger())
            self.write("ledger", {"item": item, "key": key, "done": not seen}, sync=True)
        self.reached(int(item.split("-")[0]), "effect done", item)
        return call.result

    def is_done(self, item: str) -> bool:
        """Whether an effect is on the ledger: how a person, or `ship` itself, settles a call in doubt."""
        return any(line["item"] == item and line["done"] for line in self.ledger())

    def ledger(self) -> list[dict[str, Any]]:
        """Every attempt at an effect, in order."""
        return self.read("ledger")

    def requests(self) -> list[dict[str, Any]]:
        """Every request to the model, in order."""
        return self.read("requests")

    def witness(self, rev: int, digests: Sequence[str]) -> None:
        """Note what a store has said to be durable."""
        self.write("witness", {"rev": rev, "digests": list(digests)})
