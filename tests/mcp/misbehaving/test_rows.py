"""Runs with misbehaving servers: each ends as it must, and leaves nothing behind."""

from __future__ import annotations

import pytest

from tests.mcp.misbehaving import rows
from tests.mcp.misbehaving.clock import PATIENCE, JumpingLoop
from tests.mcp.misbehaving.ours import Contestant
from tests.mcp.misbehaving.play import Row, judge, play

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": JumpingLoop}


PLAYS = [(row, over, era) for row in rows.ROWS for over, era in row.over]


def test_every_server_has_a_row() -> None:
    assert rows.unnamed() == set()


@pytest.mark.parametrize(("row", "over", "era"), PLAYS, ids=[f"{row.case}-{over}-{era[:4]}" for row, over, era in PLAYS])
async def test_row(row: Row, over: str, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", rows.SECRET)
    seen = await play(Contestant(), row, over, era)
    judge(row, seen)
    assert seen.longest < 3 * PATIENCE, f"a run took {seen.longest:.0f} s, most of which were jumped over"
