"""Sessions in other databases."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.extensions.memory.async_sqlite_session import AsyncSQLiteSession as AsyncSQLiteSession
    from agentsdk.compat.openai_agents.extensions.memory.encrypt_session import EncryptedSession as EncryptedSession

_NAMES = {
    "AsyncSQLiteSession": "async_sqlite_session",
    "EncryptedSession": "encrypt_session",
}
_ABSENT = {
    "AdvancedSQLiteSession": "branches and usage of a conversation are what agentsdk.sessions.SQLiteSession has",
    "DaprSession": "agentsdk has no Dapr store; use SQLiteSession, or a Session of your own",
    "MongoDBSession": "agentsdk has no MongoDB store; use SQLiteSession, or a Session of your own",
    "RedisSession": "agentsdk.sessions.RedisSession is for the main API; use SQLiteSession here, or a Session of your own",
    "SQLAlchemySession": "agentsdk.sessions.PostgresSession is for the main API; use SQLiteSession here",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = _NAMES.get(name)
        if module is not None:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
        if name in _ABSENT:
            raise AttributeError(f"'extensions.memory.{name}' of openai-agents is not in {__name__!r}: {_ABSENT[name]}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
