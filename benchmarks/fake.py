"""The fake model and the tools that every contestant shares, and the count of the work that was really done.

A `Script` says what the model answers turn by turn. A `Run` is where one run of a script stands: it hands out the replies
and counts model calls, tool executions and approved actions, so that a contestant that skips, repeats or loses work is
found out. The current run travels in a context variable: one agent then serves a thousand runs at once, and no contestant's
model needs to look at the history to know its turn.
"""

import asyncio
import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf

INSTRUCTIONS = "You are a careful accountant. Use the tools to add numbers."
PROMPT = "Add up everything on the list, then tell me the sum."
ANSWER = "The sum of everything on the list is 42."


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call the model asks for."""

    id: str
    name: str
    arguments: str
    """A JSON object, as providers send it."""
    expected: str
    """What the tool answers."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says in one turn: calls, or text in so many deltas."""

    calls: tuple[Call, ...]
    text: str
    deltas: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A conversation known in advance; its name is also the model name sent to the fake server."""

    name: str
    replies: tuple[Reply, ...]
    delay_s: float = 0.0
    """How long the fake server takes for each reply; infinity is for ever."""

    @property
    def text(self) -> str:
        """The final text."""
        return self.replies[-1].text

    @property
    def tool_calls(self) -> int:
        """How many calls of `add` a whole run makes."""
        return sum(call.name == "add" for reply in self.replies for call in reply.calls)


class WorkNotDone(Exception):
    """A contestant did not do, or did more than, the work of the scenario."""


class Run:
    """Where one run of a script stands, and what was done in it; a run that has ended starts over."""

    __slots__ = ("actions", "gate", "model_calls", "observe", "script", "tool_calls", "turn")

    def __init__(self, script: Script, *, turn: int = 0, gate: asyncio.Barrier | None = None) -> None:
        self.script = script
        self.turn = turn
        self.gate = gate
        self.model_calls = 0
        self.tool_calls = 0
        self.actions = 0
        self.observe: Callable[[], object] | None = None

    def check(self, what: str, *, model_calls: int | None, tool_calls: int, actions: int = 0) -> None:
        """Raise unless exactly this was done; `model_calls` is None where a server counts them."""
        for name, expected in (("model_calls", model_calls), ("tool_calls", tool_calls), ("actions", actions)):
            if expected is not None and getattr(self, name) != expected:
                raise WorkNotDone(f"{what}: expected {name} = {expected}, counted {getattr(self, name)}")


RUN: ContextVar[Run] = ContextVar("run")


async def answer() -> Reply:
    """The fake model's reply for the current run."""
    run = RUN.get()
    run.model_calls += 1
    replies = run.script.replies
    reply = replies[run.turn]
    run.turn += 1
    if run.turn == len(replies):
        run.turn = 0
        if run.gate is not None:
            await run.gate.wait()
    return reply


async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    run = RUN.get()
    run.tool_calls += 1
    if run.observe is not None:
        run.observe()
    return str(a + b)


async def publish(title: str) -> str:
    """Publish the report. Needs a person's approval.

    Args:
        title: The title of the report.
    """
    RUN.get().actions += 1
    return f"published {title}"


def _script(name: str, *, turns: int = 0, calls: int = 1, deltas: int = 0, publishes: bool = False) -> Script:
    replies = [Reply(tuple(_add_call(turn, index) for index in range(calls)), "", ()) for turn in range(turns)]
    if publishes:
        replies.append(Reply((Call("call_publish", "publish", json.dumps({"title": "Report"}), "published Report"),), "", ()))
    pieces = tuple(f"word{index} " for index in range(deltas)) or (ANSWER,)
    replies.append(Reply((), "".join(pieces), pieces))
    return Script(name, tuple(replies))


def _add_call(turn: int, index: int) -> Call:
    a, b = turn + 1, index + 1
    return Call(f"call_{turn}_{index}", "add", json.dumps({"a": a, "b": b}), str(a + b))


ONE_ANSWER = _script("one-answer")
TEN_TURNS = _script("ten-turns", turns=10)
PARALLEL = _script("sixteen-parallel", turns=1, calls=16)
LONG = _script("two-hundred-turns", turns=200)
VERY_LONG = _script("thousand-turns", turns=1000)
DELTAS = _script("two-thousand-deltas", deltas=2000)
PAUSE = _script("pause", turns=100, publishes=True)
SLOW = replace(_script("half-a-second", deltas=20), delay_s=0.5)
HELD = replace(_script("no-answer"), delay_s=inf)

SCRIPTS = {script.name: script for script in (ONE_ANSWER, TEN_TURNS, PARALLEL, LONG, VERY_LONG, DELTAS, PAUSE, SLOW, HELD)}
