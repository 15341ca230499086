"""An operation has ended, done or undone, before its caller goes on."""

from __future__ import annotations

import asyncio

import pytest

from agentsdk.databases.finished import finished

pytestmark = pytest.mark.anyio


async def test_its_result_or_its_error() -> None:
    assert await finished(asyncio.ensure_future(asyncio.sleep(0, "done"))) == "done"
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failed.set_exception(ValueError("undone"))
    with pytest.raises(ValueError, match="undone"):
        await finished(failed)


@pytest.mark.parametrize("error", [None, ValueError("undone")])
async def test_a_caller_cancelled_twice_goes_on_once_it_has_ended(error: Exception | None) -> None:
    operation: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    caller = asyncio.create_task(finished(operation))
    for _ in range(2):
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.sleep(0)
        assert not caller.done()
    if error is None:
        operation.set_result(None)
    else:
        operation.set_exception(error)
    with pytest.raises(asyncio.CancelledError):
        await caller
