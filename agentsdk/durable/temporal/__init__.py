"""Runs behind Temporal. It needs the package `temporalio` (the extra `temporal`), which is imported on first use of a name.

Raises `UserError` where that is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsdk.durable.temporal.require import require_package
from agentsdk.types.lazy import lazy_names

if TYPE_CHECKING:
    from agentsdk.durable.temporal.payloads import EncryptedPayloads
    from agentsdk.durable.temporal.runs import TemporalRuns
    from agentsdk.durable.temporal.worker import temporal_worker
    from agentsdk.durable.temporal.workflow import AgentRun, run_job

__all__ = ["AgentRun", "EncryptedPayloads", "TemporalRuns", "run_job", "temporal_worker"]

require_package()

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
