"""Sessions in other databases, each over its library, which is imported when the session is."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents._absent import absent

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.extensions.memory.advanced_sqlite_session import (
        AdvancedSQLiteSession as AdvancedSQLiteSession,
    )
    from agentsdk.compat.openai_agents.extensions.memory.async_sqlite_session import AsyncSQLiteSession as AsyncSQLiteSession
    from agentsdk.compat.openai_agents.extensions.memory.encrypt_session import EncryptedSession as EncryptedSession
    from agentsdk.compat.openai_agents.extensions.memory.redis_session import RedisSession as RedisSession
    from agentsdk.compat.openai_agents.extensions.memory.sqlalchemy_session import SQLAlchemySession as SQLAlchemySession

_NAMES = {
    "AdvancedSQLiteSession": "advanced_sqlite_session",
    "AsyncSQLiteSession": "async_sqlite_session",
    "EncryptedSession": "encrypt_session",
    "RedisSession": "redis_session",
    "SQLAlchemySession": "sqlalchemy_session",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        module = _NAMES.get(name)
        if module is None:
            raise absent(__name__, name)
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
