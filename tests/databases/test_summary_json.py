"""Summaries as JSON: those of earlier versions are read as they would be written today."""

from __future__ import annotations

import msgspec
import pytest

from agentsdk.databases.summary_json import decode_summary
from agentsdk.types.summary import RunSummary

EARLIER = {
    "run_id": "r",
    "rev": 1,
    "status": "running",
    "agent": "a",
    "started_at": 1.0,
    "updated_at": 9.0,
    "reason": "",
    "held_until": 30.0,
}


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("running", "", ("running", 30.0)),
        ("waiting", "", ("waiting", 0.0)),
        ("finished", "", ("finished", 0.0)),
        ("stopped", "", ("ready", 9.0)),
        ("stopped", "CancelledError", ("ready", 9.0)),
        ("stopped", "ModelError", ("failed", 0.0)),
        ("waiting", '"status":"stopped" "due_at":', ("waiting", 0.0)),
    ],
)
def test_a_run_of_an_earlier_version_is_due_as_its_status_says(status: str, reason: str, expected: tuple[str, float]) -> None:
    found = decode_summary(msgspec.json.encode(EARLIER | {"status": status, "reason": reason}))
    assert (found.status, found.due_at) == expected
    assert found.reason == reason


def test_a_summary_of_this_version_is_as_it_was_written() -> None:
    summary = RunSummary(run_id="r", rev=1, status="running", agent="a", started_at=1.0, updated_at=2.0, held_until=30.0)
    assert decode_summary(msgspec.json.encode(summary)) == summary


@pytest.mark.parametrize("text", [b"", b"{", b'{"due_at":1}', b'{"status":"asleep"}', b"\xff"])
def test_what_is_no_summary_is_refused(text: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, ValueError)):
        decode_summary(text)
