"""`RunSummary` as JSON, for stores that keep it so: what an earlier version wrote is read as it would be written today."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agentsdk.types.summary import RunSummary


def decode_summary(text: bytes) -> RunSummary:
    """The summary that `text` holds. Raises `msgspec.MsgspecError` and `ValueError` where that is none."""
    if b'"due_at":' in text:
        return msgspec.json.decode(text, type=RunSummary)
    # Of a version that did not know when a run is due, and called one stopped that nobody worked on.
    stored = msgspec.json.decode(text.replace(b'"status":"stopped"', b'"status":"failed"', 1), type=RunSummary)
    if stored.status == "failed" and stored.reason in ("", "CancelledError"):
        return replace(stored, status="ready", due_at=stored.updated_at)
    return replace(stored, due_at=stored.held_until) if stored.status == "running" else stored
