"""`FaultyStore`: a run store that fails once, where and how a test wants it to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, TypeVar, get_args

from agentsdk.ports.run_store import RunStore, wait_for_revision
from agentsdk.types.errors import StoreBusyError, StoreError, StoreUnavailableError, UserError
from agentsdk.types.summary import ALL_RUNS, DueRuns, RunQuery, RunStatus, RunSummary

T = TypeVar("T")

Fault = Literal["locked", "full", "lost", "torn"]
"""`locked`: `StoreBusyError`, nothing done. `full`: `StoreError`, nothing done. `lost`: `StoreUnavailableError`, nothing done.
`torn`: `StoreUnavailableError` after the work was done, as if the response was lost."""


class FaultyStore(RunStore):
    """Fails operation number `at` (from 1 on) with `fault`; before and after it, `store` works.

    Every method but `aclose` and `wait_signals`, which only a run that takes a while calls, counts as an operation. To see an
    app through a fault anywhere, run it once with an `at` that is never reached, then for each `at` up to `operations`.

    Raises `UserError` for an unknown fault, or an `at` below 1.
    """

    def __init__(self, store: RunStore, fault: Fault, at: int) -> None:
        if fault not in get_args(Fault):
            raise UserError(f"FaultyStore(fault={fault!r}), expected one of {', '.join(get_args(Fault))}; choose one")
        if at < 1:
            raise UserError(f"FaultyStore(at={at!r}), expected at least 1; the first operation is number 1")
        self.store = store
        self.operations = 0
        self._fault = fault
        self._at = at

    def __repr__(self) -> str:
        return f"FaultyStore({self.store!r}, {self._fault!r}, at={self._at})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """As `RunStore.append`, or the fault."""
        return await self._operate(lambda: self.store.append(run_id, expected_rev, events, summary))

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """As `RunStore.read`, or the fault."""
        return await self._operate(lambda: self.store.read(run_id, from_rev))

    async def summary(self, run_id: str) -> RunSummary | None:
        """As `RunStore.summary`, or the fault."""
        return await self._operate(lambda: self.store.summary(run_id))

    async def due(self, query: DueRuns) -> list[RunSummary]:
        """As `RunStore.due`, or the fault."""
        return await self._operate(lambda: self.store.due(query))

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """As `RunStore.signals`, or the fault."""
        return await self._operate(lambda: self.store.signals(run_id, after))

    async def list(self, query: RunQuery = ALL_RUNS) -> list[RunSummary]:
        """As `RunStore.list`, or the fault."""
        return await self._operate(lambda: self.store.list(query))

    async def post(self, run_id: str, signal: bytes) -> int:
        """As `RunStore.post`, or the fault."""
        return await self._operate(lambda: self.store.post(run_id, signal))

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """As `RunStore.attach`, or the fault."""
        await self._operate(lambda: self.store.attach(run_id, name, data))

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """As `RunStore.attachment`, or the fault."""
        return await self._operate(lambda: self.store.attachment(run_id, name))

    async def delete(self, run_id: str) -> None:
        """As `RunStore.delete`, or the fault."""
        await self._operate(lambda: self.store.delete(run_id))

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """As `RunStore.prune`, or the fault."""
        return await self._operate(lambda: self.store.prune(before, statuses))

    async def wait(self, run_id: str, after_rev: int, timeout: float) -> int:
        """As `RunStore.wait`, or the fault."""
        return await self._operate(lambda: wait_for_revision(self.store, run_id, after_rev, timeout))

    async def wait_signals(self, run_id: str, after: int, timeout: float) -> int:
        """As `RunStore.wait_signals`."""
        return await self.store.wait_signals(run_id, after, timeout)

    async def wait_due(self, seen: int, timeout: float) -> int:
        """As `RunStore.wait_due`, or the fault."""
        return await self._operate(lambda: self.store.wait_due(seen, timeout))

    async def aclose(self) -> None:
        """Close `store`."""
        await self.store.aclose()

    async def _operate(self, call: Callable[[], Awaitable[T]]) -> T:
        self.operations += 1
        if self.operations != self._at:
            return await call()
        message = f"operation {self._at} of {self!r} failed as it was told to"
        if self._fault == "locked":
            raise StoreBusyError(f"{message}: locked, nothing was done; try again")
        if self._fault == "full":
            raise StoreError(f"{message}: full, nothing was done; make room")
        if self._fault == "torn":
            await call()
        raise StoreUnavailableError(f"{message}: the connection was lost, it may have been done; read the run again")
