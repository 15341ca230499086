"""Run stores: where durable runs are kept. The adapters, and so their drivers, are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.ports.run_store import RunStore, conflict, not_found, wait_by_polling, wait_for_revision
    from agentsdk.stores.encrypted import EncryptedRunStore
    from agentsdk.stores.file import FileRunStore
    from agentsdk.stores.memory import MemoryRunStore
    from agentsdk.stores.postgres import PostgresRunStore
    from agentsdk.stores.redis import RedisRunStore
    from agentsdk.stores.sqlite import SQLiteRunStore
    from agentsdk.types.queue import QueueStatus
    from agentsdk.types.summary import DueRuns, RunQuery, RunSummary

__all__ = [
    "DueRuns",
    "EncryptedRunStore",
    "FileRunStore",
    "MemoryRunStore",
    "PostgresRunStore",
    "QueueStatus",
    "RedisRunStore",
    "RunQuery",
    "RunStore",
    "RunSummary",
    "SQLiteRunStore",
    "conflict",
    "not_found",
    "wait_by_polling",
    "wait_for_revision",
]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.ports.run_store": "RunStore conflict not_found wait_by_polling wait_for_revision",
            "agentsdk.stores.encrypted": "EncryptedRunStore",
            "agentsdk.stores.file": "FileRunStore",
            "agentsdk.stores.memory": "MemoryRunStore",
            "agentsdk.stores.postgres": "PostgresRunStore",
            "agentsdk.stores.redis": "RedisRunStore",
            "agentsdk.stores.sqlite": "SQLiteRunStore",
            "agentsdk.types.queue": "QueueStatus",
            "agentsdk.types.summary": "DueRuns RunQuery RunSummary",
        },
    )
