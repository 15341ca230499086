"""Where in a workflow's program a call is made: what its key is made of.

A key is the path of the tasks and loops that lead to the call, and its name; of several of one name in one place its number.
It says nothing of what runs beside it, so that tasks may overtake each other.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Literal, NamedTuple

from msgspec import Struct

from agentsdk.engine.run import Run
from agentsdk.workflow.call import Program


class Place(NamedTuple):
    """Where in a program steps are called: by which `name` of keys, in tasks and loops of the kinds `path`."""

    name: str
    path: tuple[Literal["each", "task"], ...] = ()


def key_name(name: str) -> str:
    """The name of a step as it stands in keys."""
    return name.replace("/", "_").replace("#", "_")


def place_of(key: str) -> Place:
    """The place that a key says; a step that undoes has that of its name."""
    *path, last = key.removeprefix("undo/").split("/")
    numbered = [part.isdecimal() for part in path]
    kinds: list[Literal["each", "task"]] = []
    for part, is_number in enumerate(numbered):
        if is_number:
            kinds.append("each" if part and not numbered[part - 1] else "task")
    return Place(last.partition("#")[0], tuple(kinds))


class Scope:
    """One task of a program. A task that it begins has a scope of its own, from its first call on."""

    __slots__ = ("_calls", "_task", "_tasks", "path", "program")

    def __init__(self, program: Program, path: str, task: asyncio.Task[object] | None) -> None:
        self.program = program
        self.path = path
        self._task = task
        self._tasks = 0
        self._calls: dict[str, int] = {}
        program.adopt(task)

    def key(self, name: str) -> str:
        """The key of a call that is made here, now."""
        if not name.isidentifier():
            name = key_name(name)
        number = self._calls[name] = self._calls.get(name, 0) + 1
        return f"{self.path}{name}" if number == 1 else f"{self.path}{name}#{number}"

    def of_task(self) -> Scope:
        """The scope of the task that runs: this one, or that of a task which was begun in it."""
        task = asyncio.current_task(self.program.loop)
        if task is self._task:
            return self
        self._tasks += 1
        scope = Scope(self.program, f"{self.path}{self._tasks}/", task)
        PLACE.set(scope)
        return scope


class Body(Struct, frozen=True):
    """The body of a step: what it calls are plain functions."""

    run: Run
    key: str

    @property
    def idempotency_key(self) -> str:
        """What the step is known by to the services that it calls."""
        return self.run.call_key(self.key)


PLACE: ContextVar[Scope | Body | None] = ContextVar("agentsdk workflow", default=None)
"""Where the running code is: in a program, in the body of a step, or in neither."""


def current_scope() -> Scope | None:
    """The scope of the running task; None outside programs."""
    place = PLACE.get()
    return place.of_task() if type(place) is Scope else None
