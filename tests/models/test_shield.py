"""What a cancellation does not interrupt is whole, and the cancellation is not lost."""

from __future__ import annotations

import asyncio

import pytest

from agentsdk.models.shield import shielded, wait_until_done

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("waits", ["shielded", "wait_until_done"])
async def test_a_cancellation_waits_for_the_end(waits: str) -> None:
    begun, go_on, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def closing() -> None:
        begun.set()
        await go_on.wait()
        ended.append("closed")

    job = shielded(closing()) if waits == "shielded" else wait_until_done(asyncio.create_task(closing()))
    caller = asyncio.create_task(job)
    await begun.wait()
    for _ in range(2):
        caller.cancel()
        await asyncio.sleep(0)
        assert not caller.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended == ["closed"]


async def test_an_error_goes_before_a_cancellation() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("not closed")

    with pytest.raises(ValueError, match="not closed"):
        await shielded(fails())
    caller = asyncio.create_task(shielded(fails()))
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(ValueError, match="not closed"):
        await caller
