"""Runs behind DBOS. What a name needs, the package `dbos` (the extra of that name) too, is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.durable.dbos.runs import DBOSRuns
    from agentsdk.durable.dbos.serializer import JSONSerializer

__all__ = ["DBOSRuns", "JSONSerializer"]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {"agentsdk.durable.dbos.runs": "DBOSRuns", "agentsdk.durable.dbos.serializer": "JSONSerializer"},
    )
