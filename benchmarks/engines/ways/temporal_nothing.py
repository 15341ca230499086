"""A workflow of Temporal with one activity that does nothing: what Temporal takes by itself."""

from __future__ import annotations

from datetime import timedelta

from temporalio import activity, workflow


@activity.defn
async def nothing() -> None:
    """Do nothing."""


@workflow.defn
class Nothing:
    """Has that done."""

    @workflow.run
    async def run(self) -> None:
        """Have it done."""
        await workflow.execute_activity(nothing, start_to_close_timeout=timedelta(seconds=10))
