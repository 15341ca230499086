"""A sample of `benchmarks.code_mode`: the tasks, without the time that a model and the calls take."""

from __future__ import annotations

import pytest

from benchmarks import code_mode

pytestmark = pytest.mark.anyio


async def test_most_tasks_take_fewer_tokens_as_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FIXED_S", "TOKEN_S", "CALL_S"):
        monkeypatch.setattr(code_mode, name, 0)
    assert await code_mode.main() == 0, capsys.readouterr().out
