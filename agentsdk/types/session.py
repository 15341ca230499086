"""What is told of sessions beside their items: summaries, queries to find them by, and what a compaction has come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from agentsdk.types.declared import Expected, Fields, a, optional, whole
from agentsdk.types.usage import Usage

MAX_USER_CHARS = 200


class SessionSummary(Struct, frozen=True, kw_only=True):
    """What is known of a session beside its items.

    Times are Unix timestamps in seconds: when it began, and when something was last added to it or taken back. `items` counts
    those it holds.
    `branched_from` is the id of the session it was branched from. Of a session begun by an earlier version nothing was kept:
    `""`, `{}` and 0.
    """

    session_id: str
    user: str = ""
    metadata: Mapping[str, str] = {}
    created_at: float = 0.0
    updated_at: float = 0.0
    items: int = 0
    branched_from: str = ""


class SessionQuery(Struct, frozen=True, kw_only=True):
    """Which sessions `list` gives: those of `user` that have each entry of `metadata`, the latest changed first.

    `after` is the last summary of the page before. A session that changes while pages are read moves to the first one. Raises
    `UserError` for a `limit` below 1, and for a field of another type.
    """

    user: str | None = None
    metadata: Mapping[str, str] = {}
    limit: int = 100
    after: SessionSummary | None = None

    def __post_init__(self) -> None:
        _QUERY.check(self)


class SessionCompaction(Struct, frozen=True, kw_only=True):
    """What compacting a session has come to.

    `reason` names the strategies that made it smaller, from `before` tokens to `after`, from `items_before` items to
    `items_after`. `lost_terms`: names, numbers and questions that a summary lost. `usage` is what the summaries took.
    """

    reason: str
    before: int
    after: int
    items_before: int
    items_after: int
    lost_terms: tuple[str, ...] = ()
    usage: Usage = Usage()


def _is_label(value: object) -> bool:
    """Whether every store can keep it: PostgreSQL's text holds no NUL."""
    return isinstance(value, str) and not any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value)


def _is_user(value: object) -> bool:
    return _is_label(value) and bool(cast(str, value).strip()) and len(cast(str, value)) <= MAX_USER_CHARS


def _is_metadata(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _is_label(name) and _is_label(text) for name, text in cast("Mapping[object, object]", value).items()
    )


USER = optional(
    Expected(f"text that is not blank, of at most {MAX_USER_CHARS} characters without NUL and lone surrogates", _is_user)
)
METADATA = Expected("a dict of texts without NUL and lone surrogates; write {'topic': 'taxes'}, say", _is_metadata)
_QUERY = Fields(
    "SessionQuery",
    user=USER,
    metadata=METADATA,
    limit=whole("at least 1; ask for a page of 100", 1),
    after=optional(a(SessionSummary, "a SessionSummary; pass the last one of the page before")),
)
