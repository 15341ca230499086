"""Validation of a user's run store: what it raises becomes a `StoreError`, and what it returns is checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

from agentsdk.ports.run_store import RunStore, wait_for_revision
from agentsdk.types.declared import is_real, is_whole, shown
from agentsdk.types.errors import AgentsException, StoreError
from agentsdk.types.summary import RunSummary

T = TypeVar("T")


class CheckedStore:
    """The methods of `store` that runs use. They raise what a `RunStore` raises, `StoreError` for all else."""

    __slots__ = ("_store",)

    def __init__(self, store: RunStore) -> None:
        self._store = store

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> None:
        """Add events; what the store returns does not matter."""
        assert summary.rev == expected_rev + len(events), "a summary that is ahead of its log would keep the run from going on"
        await self._asked(run_id, "append", lambda: self._store.append(run_id, expected_rev, events, summary))

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """The events from number `from_rev` on."""
        events: object = await self._asked(run_id, "read", lambda: self._store.read(run_id, from_rev))
        if not isinstance(events, list | tuple) or not all(
            isinstance(event, bytes) for event in cast("Sequence[object]", events)
        ):
            raise self._wrong(run_id, "read", events, "a list of bytes, one for each event")
        return list(cast("Sequence[bytes]", events))

    async def summary(self, run_id: str) -> RunSummary | None:
        """The run's summary; None for a run that does not exist."""
        summary = await self._asked(run_id, "summary", lambda: self._store.summary(run_id))
        if summary is not None and not _is_summary(summary):
            raise self._wrong(run_id, "summary", summary, "the RunSummary that was appended last, or None")
        return summary

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep data beside the run; what the store returns does not matter."""
        await self._asked(run_id, "attach", lambda: self._store.attach(run_id, name, data))

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`; None if nothing was."""
        data: object = await self._asked(run_id, "attachment", lambda: self._store.attachment(run_id, name))
        if data is not None and not isinstance(data, bytes):
            raise self._wrong(run_id, "attachment", data, "the bytes that were attached, or None")
        return data

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """The run's revision once it is above `after_rev`, or after `timeout` seconds."""
        rev: object = await self._asked(run_id, "wait", lambda: wait_for_revision(self._store, run_id, after_rev, timeout))
        if not isinstance(rev, int) or not is_whole(rev, 0):
            raise self._wrong(run_id, "wait", rev, "the run's revision")
        return rev

    async def _asked(self, run_id: str, method: str, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            return await ask()
        except AgentsException:
            raise
        except Exception as error:
            raise StoreError(
                f"the store of run {run_id!r} raised {type(error).__name__} in {method}, expected what a RunStore does; "
                "see the chained exception, and go on with error.state, or with Runner.resume from what the store has"
            ) from error

    def _wrong(self, run_id: str, method: str, given: object, expected: str) -> StoreError:
        return StoreError(
            f"the store of run {run_id!r} gave {shown(given)} from {method}, expected {expected}; "
            "try it with agentsdk.testing.store_conformance"
        )


def _is_summary(given: object) -> bool:
    return (
        isinstance(given, RunSummary)
        and is_whole(given.rev, 0)
        and is_real(given.held_until)
        and isinstance(cast(object, given.owner), str)
    )
