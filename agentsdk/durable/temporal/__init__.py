"""Runs behind Temporal. What a name needs, the package `temporalio` (the extra `temporal`) too, is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.durable.temporal.payloads import EncryptedPayloads
    from agentsdk.durable.temporal.runs import TemporalRuns
    from agentsdk.durable.temporal.worker import temporal_worker
    from agentsdk.durable.temporal.workflow import AgentRun, run_job

__all__ = ["AgentRun", "EncryptedPayloads", "TemporalRuns", "run_job", "temporal_worker"]

if not TYPE_CHECKING:  # to a type checker it would say that every name is there, also a misspelt one
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "agentsdk.durable.temporal.payloads": "EncryptedPayloads",
            "agentsdk.durable.temporal.runs": "TemporalRuns",
            "agentsdk.durable.temporal.worker": "temporal_worker",
            "agentsdk.durable.temporal.workflow": "AgentRun run_job",
        },
    )
