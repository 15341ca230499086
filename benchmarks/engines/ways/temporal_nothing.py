"""A workflow of Temporal with one activity that does nothing: what Temporal takes by itself."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import activity, workflow

begun: dict[str, asyncio.Event] = {}
"""By the id of a workflow: its activity has begun."""


@activity.defn
async def nothing() -> None:
    """Do nothing, but say so."""
    if (event := begun.get(activity.info().workflow_id or "")) is not None:
        event.set()


@workflow.defn(sandboxed=False)
class Nothing:
    """Has that done."""

    @workflow.run
    async def run(self) -> None:
        """Have it done."""
        await workflow.execute_activity(nothing, start_to_close_timeout=timedelta(seconds=10))
