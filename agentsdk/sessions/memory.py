"""A session in memory: gone with the process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec import structs

from agentsdk.ports.session import ManagedSession, check_compaction, check_labels, check_limit, check_session_id, unchanged
from agentsdk.types.items import InputItem, Item, items_from_input
from agentsdk.types.session import SessionSummary


class MemorySession(ManagedSession):
    """Keeps a conversation in a list. Only who has the object finds it: two of one id are two sessions.

    Raises `UserError` for a blank id, and as `update` does.
    """

    def __init__(self, session_id: str, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        self.session_id = check_session_id(session_id)
        check_labels(user, metadata)
        self._labels = (user or "", dict(metadata or {}))
        self._items: list[Item] = []
        self._archive: list[Item] = []
        self._compacted = 0  # so many of the items stand for those in the archive
        self._summary: SessionSummary | None = None

    def __repr__(self) -> str:
        return f"MemorySession({self.session_id!r})"

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """All items, or the latest `limit` of them. Raises `UserError` for a negative limit."""
        check_limit(limit)
        if limit is None:
            return list(self._items)
        return self._items[-limit:] if limit else []

    async def add_items(self, items: Sequence[InputItem]) -> None:
        """Append `items`, all or none. Raises `UserError` for an entry that is not an item."""
        given = items_from_input(items)
        if given:
            self._items.extend(given)
            self._changed()

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""
        if not self._items:
            return None
        popped = self._items.pop()
        self._compacted = min(self._compacted, len(self._items))
        self._changed()
        return popped

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`. Raises `UserError` for what is not an item."""
        given = items_from_input(items)
        start = max(0, len(self._items) - len(expected))
        wanted = self._items[start:]
        if wanted != list(items_from_input(expected)):
            return False
        same = unchanged(wanted, given)
        if wanted[same:] or given[same:]:
            self._items[start + same :] = given[same:]
            self._compacted = min(self._compacted, start + same)
            self._changed()
        return True

    async def clear_session(self) -> None:
        """Remove every item, and what else is kept of the session."""
        self._items.clear()
        self._archive.clear()
        self._compacted = 0
        self._summary = None

    async def summary(self) -> SessionSummary | None:
        """What is known of the session; None for one that has not begun."""
        return None if self._summary is None else structs.replace(self._summary, items=len(self._items))

    async def update(self, *, user: str | None = None, metadata: Mapping[str, str] | None = None) -> None:
        """Put another user and other metadata in the place of those kept. Raises `UserError` for what cannot be kept."""
        check_labels(user, metadata)
        known = self._begun(time.time())
        self._summary = structs.replace(
            known, user=user or known.user, metadata=known.metadata if metadata is None else dict(metadata)
        )

    async def branch(self, session_id: str, *, items: int | None = None) -> MemorySession:
        """A new session that begins with the first `items` items of this one, or all. Raises `UserError` for a blank id."""
        check_limit(items, "items")
        branch = MemorySession(session_id)
        branch._labels = self._labels
        branch._items = self._items[:items]
        now = time.time()
        branch._summary = structs.replace(
            self._begun(now), session_id=session_id, created_at=now, updated_at=now, branched_from=self.session_id
        )
        return branch

    async def compact(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the first items, if those are `expected`. Raises `UserError` for what is not an item."""
        check_compaction(expected, items)
        given = items_from_input(items)
        end = len(expected)
        if self._items[:end] != list(items_from_input(expected)):
            return False
        self._archive += self._items[self._compacted : end]
        self._compacted = len(given) + max(0, self._compacted - end)
        self._items[:end] = given
        return True

    async def get_original_items(self) -> list[Item]:
        """Every item as it was added: those that `compact` has replaced, and not those that it has put in their place."""
        return [*self._archive, *self._items[self._compacted :]]

    async def aclose(self) -> None:
        """Nothing: it holds no file and no connection."""

    def _changed(self) -> None:
        now = time.time()
        self._summary = structs.replace(self._begun(now), updated_at=now)

    def _begun(self, now: float) -> SessionSummary:
        user, metadata = self._labels
        return self._summary or SessionSummary(
            session_id=self.session_id, user=user, metadata=metadata, created_at=now, updated_at=now
        )
