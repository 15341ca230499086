"""Sessions: conversations kept between runs. The adapters, and so their drivers, are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.ports.session import ManagedSession, ReplacingSession, Session
    from agentsdk.sessions.encrypted import EncryptedSession
    from agentsdk.sessions.memory import MemorySession
    from agentsdk.sessions.postgres import PostgresSession
    from agentsdk.sessions.redis import RedisSession
    from agentsdk.sessions.sqlite import SQLiteSession
    from agentsdk.types.session import SessionCompaction, SessionQuery, SessionSummary

__all__ = [
    "EncryptedSession",
    "ManagedSession",
    "MemorySession",
    "PostgresSession",
    "RedisSession",
    "ReplacingSession",
    "SQLiteSession",
    "Session",
    "SessionCompaction",
    "SessionQuery",
    "SessionSummary",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.ports.session": "ManagedSession ReplacingSession Session",
            "agentsdk.sessions.encrypted": "EncryptedSession",
            "agentsdk.sessions.memory": "MemorySession",
            "agentsdk.sessions.postgres": "PostgresSession",
            "agentsdk.sessions.redis": "RedisSession",
            "agentsdk.sessions.sqlite": "SQLiteSession",
            "agentsdk.types.session": "SessionCompaction SessionQuery SessionSummary",
        },
    )
