"""The history of a run as the page keeps it: the state at any event, and nobody held up by a long log."""

from __future__ import annotations

import asyncio

import pytest

from agentsdk import Message
from agentsdk.core.state import fold
from agentsdk.models.prices import price_with
from agentsdk.types.events import InputAdded, RunEvent, RunStarted
from agentsdk.ui.history import History

pytestmark = pytest.mark.anyio


def events(count: int) -> tuple[RunEvent, ...]:
    started = RunStarted("r", "Clerk", (Message("user", "go"),), 0, 1.0)
    return (started, *[InputAdded((Message("user", str(number)),)) for number in range(count - 1)])


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1_000])
async def test_the_state_at_each_event_is_the_fold_of_the_log_up_to_it_in_any_order(count: int) -> None:
    log, history = events(count), History("r", price_with(None))
    history.extend(log[: count // 2])
    await history.fold()
    history.extend(log[count // 2 :])
    await history.fold()
    for revision in sorted({1, count // 2 or 1, count - 1 or 1, count}, reverse=True):
        assert history.state(revision) == fold(log[:revision])


async def test_others_have_their_turn_while_a_long_log_is_folded() -> None:
    history, turns = History("r", price_with(None)), 0
    history.extend(events(10_000))

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    await history.fold()
    beside.cancel()
    assert turns >= 4
    assert history.state(10_000) == fold(events(10_000))
