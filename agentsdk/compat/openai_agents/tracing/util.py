"""Ids and times of traces."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


def time_iso() -> str:
    """Now, in UTC."""
    return datetime.now(UTC).isoformat()


def gen_trace_id() -> str:
    """A new id of a trace."""
    return f"trace_{uuid.uuid4().hex}"


def gen_span_id() -> str:
    """A new id of a span."""
    return f"span_{uuid.uuid4().hex[:24]}"


def gen_group_id() -> str:
    """A new id of a group of traces."""
    return f"group_{uuid.uuid4().hex[:24]}"
