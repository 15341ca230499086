"""`AsyncSQLiteSession`: `SQLiteSession` with an async `close`."""

from __future__ import annotations

from agentsdk.compat.openai_agents.memory.sqlite_session import SQLiteSession


class AsyncSQLiteSession(SQLiteSession):
    """The items of one conversation in a SQLite database."""

    async def close(self) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Close the database."""
        super().close()
