"""Every recorded call once more, whole, counted by host: how many replies (and requests) are equal to what was recorded.

The folder is named by AGENTSDK_RECORDINGS. The comparisons are those of each adapter's own test_recordings.py, which also
runs them byte by byte and in random splits.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.models.anthropic import test_recordings as anthropic
from tests.models.google import test_recordings as google
from tests.models.openai_chat import test_recordings as chat
from tests.models.openai_responses import test_recordings as responses
from tests.shown import show

FOLDER = chat.FOLDER

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not FOLDER, reason="AGENTSDK_RECORDINGS is not set")]


def replays() -> Iterable[tuple[list[dict[str, Any]], Coroutine[Any, Any, None]]]:
    """Recorded calls, and what compares our adapter's reading with them."""
    for one in (chat, responses, anthropic):
        for param in one.RECORDED if one is responses else one.recorded():  # type: ignore[attr-defined]
            yield [param.values[0]], one.test_recording(param.values[0], "whole")
    for param in google.recorded():  # whose replies depend on the conversation before them
        yield param.values[0], google.test_recording(param.values[0], "whole")


async def test_no_recorded_call_is_read_differently(pytestconfig: pytest.Config) -> None:
    replayed: Counter[str] = Counter()
    different: Counter[str] = Counter()
    failures: list[str] = []
    for calls, comparison in replays():
        host = calls[0]["request"]["uri"].split("/")[2]
        replayed[host] += len(calls)
        try:
            await comparison
        except (Exception, pytest.fail.Exception) as error:
            different[host] += len(calls)
            failures.append(f"{host}: {error!r}")
    rows = [(host, count, different[host]) for host, count in sorted(replayed.items())]
    show(pytestconfig, [f"{host}: {count} calls replayed, {count - bad} equal, {bad} different" for host, count, bad in rows])
    assert not failures
    recordings = [json.loads(path.read_text(encoding="utf-8")) for path in Path(FOLDER).glob("*.json")]
    assert replayed.total() == sum(len(one["interactions"]) for one in recordings)
