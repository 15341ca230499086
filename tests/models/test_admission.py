from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsdk.models.admission import Admission

Move = tuple[Literal["enter", "leave", "cancel"], int]

moves = st.lists(st.tuples(st.sampled_from(["enter", "enter", "leave", "cancel"]), st.integers(0, 50)), max_size=60)


async def settle() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


@given(places=st.integers(1, 5), played=moves)
def test_first_come_first_served_and_never_too_many(places: int, played: list[Move]) -> None:
    asyncio.run(play(places, played, settled=1))


@given(places=st.integers(1, 5), played=moves, settled=st.integers(2, 5))
def test_moves_that_meet_lose_no_place(places: int, played: list[Move], settled: int) -> None:
    asyncio.run(play(places, played, settled))


async def play(places: int, played: list[Move], settled: int) -> None:
    """Every move beside a list of who should be in, and who waits in which order; looked at after each `settled` moves."""
    admission = Admission(places)
    inside: list[int] = []
    waiting: list[int] = []
    entered: list[int] = []
    tasks: dict[int, asyncio.Task[None]] = {}

    async def come(number: int) -> None:
        await admission.enter()
        entered.append(number)

    expected: list[int] = []
    for number, (move, which) in enumerate(played):
        if move == "enter":
            tasks[number] = asyncio.create_task(come(number))
            (inside if len(inside) < places else waiting).append(number)
            expected += inside[-1:] if inside and inside[-1] == number else []
        elif move == "leave" and inside:
            inside.pop(which % len(inside))
            admission.leave()
            if waiting:
                inside.append(waiting.pop(0))
                expected.append(inside[-1])
        elif move == "cancel" and waiting:
            tasks[waiting.pop(which % len(waiting))].cancel()
        if (number + 1) % settled:
            continue
        await settle()
        assert entered == expected if settled == 1 else sorted(entered) == sorted(expected)
        assert (admission.inside, admission.waiting) == (len(inside), len(waiting))
    for task in tasks.values():
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    assert admission.waiting == 0


@pytest.mark.anyio
async def test_who_is_cancelled_when_it_is_its_turn_passes_it_on() -> None:
    admission = Admission(1)
    await admission.enter()
    first, second = (asyncio.create_task(admission.enter()) for _ in range(2))
    await settle()
    admission.leave()
    first.cancel()
    await second
    assert (first.cancelled(), admission.inside, admission.waiting) == (True, 1, 0)


@pytest.mark.anyio
async def test_who_runs_out_of_patience_leaves_nothing_behind() -> None:
    admission = Admission(1)
    await admission.enter()
    with pytest.raises(TimeoutError):
        await admission.enter(0.001)
    assert (admission.inside, admission.waiting) == (1, 0)
    admission.leave()
    await admission.enter(0.001)
    assert admission.inside == 1
