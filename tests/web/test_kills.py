"""Clients follow runs while the service is killed: a sample of `python -m benchmarks.web --kill`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.web import measure

pytestmark = pytest.mark.anyio


async def test_every_client_goes_on_from_its_last_event_after_a_kill(tmp_path: Path) -> None:
    lags, missed, twice, recorded = await measure(tmp_path, streams=30, runs=20, rate=1e6, kill=True)
    assert (missed, twice) == (0, 0)
    assert recorded >= 20 * 10 and len(lags) > 0
