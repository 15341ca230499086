"""`TellingStore`: a run store that tells of each append before it is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from agentsdk.ports.run_store import RunStore
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.types.summary import RunSummary


class TellingStore(RunStoreWrapper):
    """`store`, whose `append` awaits `tell` with the run's next summary first. What that raises, the append raises."""

    def __init__(self, store: RunStore, tell: Callable[[RunSummary], Awaitable[None]]) -> None:
        super().__init__(store)
        self._tell = tell

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Tell, and add events to a run's log. Raises `RunConflictError`."""
        await self._tell(summary)
        return await super().append(run_id, expected_rev, events, summary)
