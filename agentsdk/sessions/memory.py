"""A session in memory: gone with the process."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.ports.session import ReplacingSession, check_limit, check_session_id
from agentsdk.types.items import InputItem, Item, items_from_input


class MemorySession(ReplacingSession):
    """Keeps a conversation in a list."""

    def __init__(self, session_id: str) -> None:
        self.session_id = check_session_id(session_id)
        self._items: list[Item] = []

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
        self._items.extend(items_from_input(items))

    async def pop_item(self) -> Item | None:
        """Remove the latest item and return it; `None` when there is none."""
        return self._items.pop() if self._items else None

    async def replace_latest(self, expected: Sequence[Item], items: Sequence[InputItem]) -> bool:
        """Put `items` in the place of the latest items, if those are `expected`. Raises `UserError` for what is not an item."""
        given = items_from_input(items)
        start = max(0, len(self._items) - len(expected))
        if self._items[start:] != list(items_from_input(expected)):
            return False
        self._items[start:] = given
        return True

    async def clear_session(self) -> None:
        """Remove every item."""
        self._items.clear()
