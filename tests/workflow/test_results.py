"""The order in which a program gets its results is the record's, whatever stands between a step and who waits for it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsdk import Runner, RunState
from agentsdk.core.state import fold
from agentsdk.events import RunEnded, RunEvent
from agentsdk.workflow import Workflow, rest, results, step, workflow

pytestmark = pytest.mark.anyio

Tree = tuple[str, Any]
"""A step with the passes of the loop that it takes, or a way to wait for several trees."""

WAYS = ("sequence", "gather", "group", "first", "as_completed", "shield", "queue", "event")

trees: st.SearchStrategy[Tree] = st.recursive(
    st.tuples(st.just("step"), st.integers(0, 12)),
    lambda inner: st.tuples(st.sampled_from(WAYS), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=9,
)


@pytest.fixture(params=["idle", "never idle"])
def loop_that_says(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of a loop that does not say whether it is idle, as of one that never is, so many passes are waited for."""
    if request.param == "never idle":
        never_idle(monkeypatch)
    yield request.param


def never_idle(patch: pytest.MonkeyPatch) -> None:
    for module in (rest, results):
        patch.setattr(module, "is_idle", lambda loop: False)


def program_of(tree: Tree, runs: list[int]) -> Workflow[int, list[str]]:
    """Tasks that share a list, in which each notes what it comes to: its order is that of the world."""

    @step(effect="none")
    async def work(passes: int) -> int:
        runs.append(passes)
        for _ in range(passes):
            await asyncio.sleep(0)
        return passes

    async def play(tree: Tree, place: str, seen: list[str]) -> None:
        way, inner = tree
        if way == "step":
            seen.append(f"{place} begins")
            await work(inner)
            seen.append(place)
            return
        jobs = (play(one, f"{place}.{number}", seen) for number, one in enumerate(inner))
        await _wait(way, jobs)
        seen.append(f"{place} {way}")

    @workflow(name="tree")
    async def program(x: int) -> list[str]:
        seen: list[str] = []
        await play(tree, "", seen)
        return seen

    return program


async def _wait(way: str, jobs: Iterable[Any]) -> None:
    if way == "sequence":
        for job in jobs:
            await asyncio.create_task(job)
    elif way == "gather":
        await asyncio.gather(*jobs)
    elif way == "group":
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    else:
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            await _wait_for_tasks(way, tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_for_tasks(way: str, tasks: list[asyncio.Task[None]]) -> None:
    if way == "first":
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    elif way == "as_completed":
        for job in asyncio.as_completed(tasks):
            await job
    elif way == "shield":
        await asyncio.gather(*[asyncio.shield(task) for task in tasks])
    else:
        queue: asyncio.Queue[None] = asyncio.Queue()
        done = [asyncio.Event() for _ in tasks]

        async def told(number: int, task: asyncio.Task[None]) -> None:
            await task
            queue.put_nowait(None)
            done[number].set()

        async with asyncio.TaskGroup() as group:
            for number, task in enumerate(tasks):
                group.create_task(told(number, task))
            for event in done:
                await (event.wait() if way == "event" else queue.get())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tasks are eager from Python 3.12 on")
@settings(max_examples=20)
@given(tree=trees)
def test_tasks_that_run_at_once_see_the_same_over_their_record(tree: Tree) -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined, unused-ignore]
        await check(tree, everywhere=True)

    asyncio.run(main())


async def check(tree: Tree, *, everywhere: bool = False) -> None:
    """Run, run over the whole record, and from the middle of it, or from everywhere in it: each record gives what it gave."""
    runs: list[int] = []
    program = program_of(tree, runs)
    result = await program.run(1)
    log = [event for event in result.to_state().value.log if not isinstance(event, RunEnded)]
    await check_again(program, runs, log, result.final_output)
    for length in range(1, len(log) + 1) if everywhere else (max(1, len(log) // 2),):
        resumed = await Runner.run(program, RunState(fold(log[:length])))
        log_again = [event for event in resumed.to_state().value.log if not isinstance(event, RunEnded)]
        await check_again(program, runs, log_again, resumed.final_output)


async def check_again(program: Workflow[int, list[str]], runs: list[int], log: list[RunEvent], seen: list[str]) -> None:
    runs.clear()
    again = await Runner.run(program, RunState(fold(log)))
    assert (again.final_output, runs) == (seen, [])


@settings(max_examples=40)
@given(tree=trees, is_idle=st.booleans())
def test_a_tree_of_tasks_sees_the_same_over_its_record(tree: Tree, is_idle: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not is_idle:
            never_idle(patch)
        asyncio.run(check(tree, everywhere=True))


@pytest.mark.parametrize("ways", [("gather", "group"), ("shield", "event"), ("queue", "as_completed"), ("first", "group")])
async def test_twenty_means_inside_each_other_are_waited_for(ways: tuple[str, str], loop_that_says: str) -> None:
    deep: list[Tree] = []
    for passes in (3, 2):
        tree: Tree = ("step", passes)
        for level in range(20):
            tree = (ways[level % 2], [tree])
        deep.append(tree)
    await check(("gather", [("first", [*deep, ("step", 4)]), ("sequence", [("step", 1)] * 9)]))


async def test_fifty_workflows_side_by_side_each_see_their_own_record() -> None:
    race: Tree = ("first", [("group", [("step", 5), ("gather", [("step", 2)])]), ("as_completed", [("step", 3), ("step", 4)])])
    await asyncio.gather(*[check(("sequence", [race, ("step", number % 7), race])) for number in range(50)])


@pytest.fixture
async def callbacks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many callbacks the loop has been given, in a list of one."""
    loop, given = asyncio.get_running_loop(), [0]
    call_soon = loop.call_soon

    def counted(*args: Any, **options: Any) -> asyncio.Handle:
        given[0] += 1
        return call_soon(*args, **options)

    monkeypatch.setattr(loop, "call_soon", counted)
    return given


async def test_workflows_side_by_side_wait_for_rest_together(monkeypatch: pytest.MonkeyPatch, callbacks: list[int]) -> None:
    never_idle(monkeypatch)
    program = program_of(("sequence", [("step", 1)] * 3), [])
    await program.run(1)
    of_one, callbacks[0] = callbacks[0], 0
    await asyncio.gather(*[program.run(1) for _ in range(40)])
    assert callbacks[0] < 10 * of_one, f"forty workflows took {callbacks[0]} callbacks, one {of_one}"


async def test_of_steps_that_wait_to_begin_one_is_woken_for_each_result(callbacks: list[int]) -> None:
    taken: list[int] = []
    for count in (20, 200):
        callbacks[0] = 0
        await program_of(("gather", [("step", 0)] * count), []).run(1)
        taken.append(callbacks[0])
    assert taken[1] < 15 * taken[0], f"ten times the steps took {taken[1]} callbacks in place of {taken[0]}"
