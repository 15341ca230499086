"""Workflows worth testing, each with everything it does counted. Their models answer from the request alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentsdk import RunConfig, RunState
from agentsdk.core.keys import SCHEME, call_key
from agentsdk.core.next_step import PendingCall, ToolAnswerItem, ToolApprovalItem, ToolInDoubtItem
from agentsdk.errors import StepFailedError, WorkflowFailedError
from agentsdk.testing import call
from agentsdk.tools import ToolRetrySettings
from agentsdk.types.spec import Effect
from agentsdk.workflow import Step, Workflow, flow, step, workflow
from agentsdk.workflow.scope import PLACE, Body
from tests.scenarios import RUN_ID, World, agent_of, tool_of

AT_ONCE = ToolRetrySettings(max_retries=3, initial_delay=0.0, max_delay=0.0)


class Clock:
    """A clock whose time goes on while it sleeps, and not otherwise."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.now += seconds


class StillClock(Clock):
    """A clock whose time is set."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


@dataclass
class Steps:
    """Steps over the outside of one process, in which each attempt at a body is counted by the step's key."""

    world: World = field(default_factory=World)
    attempts: Counter[str] = field(default_factory=Counter)

    def did(self) -> str:
        place = PLACE.get()
        assert isinstance(place, Body)
        assert flow.idempotency_key() == call_key(SCHEME, RUN_ID, place.run.path, place.key)
        key = "/".join((RUN_ID, *place.run.path, place.key))
        self.world.did(key)
        return key

    def of(self, name: str, effect: Effect = "none", *, passes: int = 1, fails: int = 0, **options: Any) -> Step[[int], int]:
        """A step that takes so many passes of the loop, fails so many times, and gives its argument and one."""

        async def body(x: int) -> int:
            key = self.did()
            self.attempts[key] += 1
            for _ in range(passes):
                await asyncio.sleep(0)
            if self.attempts[key] <= fails:
                raise ConnectionError(f"no {name} today")
            return x + 1

        return step(name=name, effect=effect, **{"retry": 0, **options})(body)


@dataclass(frozen=True)
class Program:
    """A workflow, built for one process, and what its run comes to: an output, or an error."""

    name: str
    build: Callable[[Steps], Workflow[int, Any]]
    ends: object
    config: RunConfig = RunConfig()
    cancels: bool = False
    """Whether the program cancels steps: how far these have come is not said then."""
    races: bool = False
    """Whether what it comes to depends on chance, or on which of its steps is faster."""

    def __str__(self) -> str:
        return self.name


def chain(steps: Steps) -> Workflow[int, int]:
    look, put, pay = steps.of("look"), steps.of("put", "idempotent"), steps.of("pay", "once")

    @workflow(name="chain")
    async def program(x: int) -> int:
        return await pay(await put(await look(await look(x))))

    return program


def parallel(steps: Steps) -> Workflow[int, list[int]]:
    slow, quick, pay = steps.of("slow", passes=7), steps.of("quick"), steps.of("pay", "once", passes=3)

    async def branch(x: int) -> int:
        return await pay(await (slow if x % 2 else quick)(x))

    @workflow(name="parallel")
    async def program(x: int) -> list[int]:
        first = await asyncio.gather(slow(x), quick(x), pay(x), slow(x + 1))
        return [*first, *await asyncio.gather(*[branch(x + i) for i in range(3)]), *await flow.each(branch, [7, 8, 9], limit=2)]

    return program


def race(steps: Steps) -> Workflow[int, list[int]]:
    """The first of several goes on, the others are cancelled: which, is decided by the record."""
    quick, slow, put = steps.of("quick", passes=2), steps.of("slow", "idempotent", passes=9), steps.of("put", "idempotent")

    @workflow(name="race")
    async def program(x: int) -> list[int]:
        won: list[int] = []
        for _ in range(3):
            tasks = [asyncio.create_task(one(x)) for one in (slow, quick, quick)]
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.wait(tasks)
            won += [len(done), *[tasks.index(task) for task in sorted(done, key=tasks.index)]]
            x = await put(x)
        return won

    return program


def queue(steps: Steps) -> Workflow[int, list[int]]:
    """Tasks that share a list: the order in which they add to it is that of the results."""
    slow, quick = steps.of("slow", passes=5), steps.of("quick", passes=1)

    @workflow(name="queue")
    async def program(x: int) -> list[int]:
        seen: list[int] = []

        async def worker(number: int) -> None:
            for _ in range(2):
                seen.append(10 * number + await (slow if number == 0 else quick)(x))

        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(worker(number))
        return [*seen, *await flow.each(quick, seen)]

    return program


def group_failed(steps: Steps) -> Workflow[int, int]:
    """A task group cancels the sibling of a step that fails; the program goes on."""
    bad, slow, pay = steps.of("bad", passes=2, fails=9), steps.of("slow", passes=30), steps.of("pay", "once")

    @workflow(name="group_failed")
    async def program(x: int) -> int:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(bad(x))
                group.create_task(slow(x))
        except* StepFailedError as failed:
            (error,) = failed.exceptions
            assert isinstance(error, StepFailedError) and (error.step, error.error_type) == ("bad", "ConnectionError")
        return await pay(x)

    return program


def retried(steps: Steps) -> Workflow[int, list[int]]:
    flaky = steps.of("flaky", fails=2, retry=AT_ONCE)
    put = steps.of("put", "idempotent", fails=1, passes=4, retry=AT_ONCE)

    @workflow(name="retried")
    async def program(x: int) -> list[int]:
        return await asyncio.gather(flaky(x), put(x))

    return program


def undone(steps: Steps) -> Workflow[int, int]:
    """Two steps are undone, one of them after another attempt, when a later one has failed for good."""
    book, pay, ship = steps.of("book", "idempotent"), steps.of("pay", "once"), steps.of("ship", fails=9, retry=1)

    @book.undo
    async def cancel(booked: int) -> None:
        key = steps.did()
        steps.attempts[key] += 1
        if steps.attempts[key] == 1:
            raise ConnectionError("once more")

    @pay.undo
    async def take_back(paid: int) -> None:
        steps.did()

    book.undo_step = Step(cancel.function, effect="idempotent", retry=AT_ONCE, name=cancel.name)

    @workflow(name="undone")
    async def program(x: int) -> int:
        booked, _ = await asyncio.gather(book(x), pay(x))
        return await ship(booked)

    return program


def caught(steps: Steps) -> Workflow[int, int]:
    bad, pay = steps.of("bad", fails=9), steps.of("pay", "once", fails=9)

    @workflow(name="caught")
    async def program(x: int) -> int:
        for one in (bad, pay):
            try:
                x = await one(x)
            except StepFailedError:
                x += 100
        return x

    return program


def asks(steps: Steps) -> Workflow[int, list[object]]:
    """Two persons are asked beside a step; a signal comes; times pass."""
    slow, pay = steps.of("slow", passes=5), steps.of("pay", "once")

    @workflow(name="asks")
    async def program(x: int) -> list[object]:
        yes, word, _ = await asyncio.gather(flow.ask("Shall I?"), flow.ask("Why?", x, answer=str), slow(x))
        await flow.sleep(0.5)
        shipped = await flow.wait_for("shipped", list[int])
        await flow.until(1_001.0)
        try:
            await flow.ask("Anybody?", timeout=0.25)
        except StepFailedError as error:
            return [yes, word, shipped, error.error_type, await pay(x)]
        return []

    return program


def agents(steps: Steps) -> Workflow[int, list[object]]:
    """Agents beside each other, one of them with a tool that waits for approval, and another workflow as a step."""
    world, pay = steps.world, steps.of("pay", "once")
    tools = [tool_of(world, "look", "none"), tool_of(world, "send", needs_approval=True)]
    clerk = agent_of(world, [[call("look", x=1), call("send", x=2)], "sent"], "clerk", tools=tools)
    judge = agent_of(world, ['{"response": 7}'], "judge", output_type=int)

    @workflow(name="inner")
    async def inner(x: int) -> list[int]:
        return [await pay(x), await flow.agent(judge, "again")]

    @workflow(name="agents")
    async def program(x: int) -> list[object]:
        said, risk, pair = await asyncio.gather(flow.agent(clerk, "go"), flow.agent(judge, {"x": x}), inner(x))
        return [said, risk, pair, await pay(x)]

    return program


def made(steps: Steps) -> Workflow[int, bool]:
    """What is made at once is recorded."""
    same = steps.of("same")

    @workflow(name="made")
    async def program(x: int) -> bool:
        began, chance, name = await flow.now(), await flow.random(), await flow.new_id()
        await same(int(chance * 1000))
        await same(int(name, 16) % 997)
        return await flow.now() >= began

    return program


def _one(function: Callable[[Steps], Workflow[int, Any]], ends: object, **fields: Any) -> Program:
    return Program(function.__name__, function, ends, **fields)


PROGRAMS = [
    _one(chain, 5),
    _one(parallel, [2, 2, 2, 3, 3, 4, 5, 9, 10, 11]),
    _one(race, [1, 1, 1, 1, 1, 1], cancels=True, races=True),
    _one(queue, [12, 22, 2, 2, 12, 22, 13, 23, 3, 3, 13, 23], races=True),
    _one(group_failed, 2, cancels=True),
    _one(retried, [2, 2]),
    _one(undone, WorkflowFailedError),
    _one(caught, 201),
    _one(asks, [True, "because", [1, 2], "TimeoutError", 2]),
    _one(agents, ["sent", 7, [2, 7], 2]),
    _one(made, True, races=True),
]


def decide(state: RunState, item: PendingCall) -> None:
    """What people say in all programs."""
    if isinstance(item, ToolApprovalItem):
        state.approve(item)
    elif isinstance(item, ToolAnswerItem) and item.tool_name == "shipped":
        state.answer(item, [1, 2])
    elif isinstance(item, ToolAnswerItem) and item.question in ("Shall I?", "Why?"):
        state.answer(item, True if item.question == "Shall I?" else "because")
    else:
        assert not isinstance(item, ToolInDoubtItem), item
