"""A worker of the command line stops at SIGTERM, also where the event loop takes no signal handlers, as on Windows."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agentsdk.cli.given import until_signalled


@pytest.mark.anyio
@pytest.mark.parametrize("is_windows", [False, True], ids=["here", "as on Windows"])
async def test_the_first_signal_stops_and_the_next_cancels(is_windows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise NotImplementedError

    if is_windows:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "add_signal_handler", refused)
        monkeypatch.setattr(loop, "remove_signal_handler", refused)
    before = signal.getsignal(signal.SIGTERM)
    stops: list[str] = []

    async def forever() -> None:
        await asyncio.Event().wait()

    def stop() -> None:
        stops.append("asked")
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)  # nothing ends: somebody is impatient

    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(5):
        await until_signalled(asyncio.ensure_future(forever()), stop)
    assert stops == ["asked"]
    assert signal.getsignal(signal.SIGTERM) == before
