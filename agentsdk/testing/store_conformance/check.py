"""One rule of the suite: `Check`, the `Ground` it stands on, and how it says what it saw."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Literal, Self, TypeVar
from unittest import SkipTest
from uuid import uuid4

from msgspec import Struct

from agentsdk.ports.run_store import RunStore
from agentsdk.types.errors import StoreError, UserError
from agentsdk.types.summary import RunStatus, RunSummary

T = TypeVar("T")

Factory = Callable[[], RunStore]
Kind = Literal["semantics", "concurrency", "kill"]

NOW = 1_000_000.0
"""When the checks take place: in 1970, so that no real run is old to them."""


class Ground:
    """What a check stands on: handles of one store, and run ids that nobody else has. Its runs are deleted at the end."""

    def __init__(self, factory: Factory, shared: bool, workers: int, rounds: int) -> None:
        self.factory = factory
        self.shared = shared
        self.workers = workers
        self.rounds = rounds
        self.store: RunStore
        self.run_ids: list[str] = []
        self._unique = uuid4().hex
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.store = self.factory()
        self._stack.push_async_callback(self.store.aclose)
        self._stack.push_async_callback(self._delete_runs)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    def open(self) -> RunStore:
        """Another handle of the store; the same one if the store is not shared."""
        if not self.shared:
            return self.store
        store = self.factory()
        self._stack.push_async_callback(store.aclose)
        return store

    def run_id(self, prefix: str = "conformance-") -> str:
        """A run id of this check's own."""
        return self.own(f"{prefix}{self._unique}-{len(self.run_ids)}")

    def own(self, run_id: str) -> str:
        """`run_id`, to be deleted at the end."""
        self.run_ids.append(run_id)
        return run_id

    async def _delete_runs(self) -> None:
        if self.shared:
            with suppress(StoreError):
                for run_id in self.run_ids:
                    await self.store.delete(run_id)


class Check(Struct, frozen=True):
    """One rule of the suite.

    `shared` says that it needs a store which several handles and processes open. `await check(factory)` raises
    `AssertionError` where the rule is broken, and `unittest.SkipTest`, which pytest knows, where a store is not `shared`
    that must be. `workers` race or write concurrently, `rounds` times.
    """

    name: str
    kind: Kind
    body: Callable[[Ground], Awaitable[None]]
    shared: bool

    async def __call__(self, factory: Factory, *, shared: bool = True, workers: int = 8, rounds: int = 20) -> None:
        """Run it on a store of `factory`."""
        if self.shared and not shared:
            raise SkipTest("the store is not shared")
        try:
            async with Ground(factory, shared, workers, rounds) as ground:
                await self.body(ground)
        except (SkipTest, UserError):
            raise
        except Exception as error:
            seen = error if isinstance(error, AssertionError) else f"saw {type(error).__name__}: {error}, expected no error"
            raise AssertionError(f"{self.name}: {seen}") from error


def rule(kind: Kind, *, shared: bool = False) -> Callable[[Callable[[Ground], Awaitable[None]]], Check]:
    """Make a function a `Check` of its name."""

    def made(body: Callable[[Ground], Awaitable[None]]) -> Check:
        return Check(body.__name__, kind, body, shared)

    return made


def summed(
    run_id: str,
    rev: int,
    *,
    status: RunStatus = "running",
    agent: str = "agent",
    at: float = NOW,
    owner: str = "",
    held_until: float = 0.0,
) -> RunSummary:
    """A summary; the run was begun and last appended to at `at`. In work, it is due when its lease passes."""
    return RunSummary(
        run_id=run_id,
        rev=rev,
        status=status,
        agent=agent,
        started_at=at,
        updated_at=at,
        owner=owner,
        held_until=held_until,
        due_at=held_until if status == "running" else 0.0,
    )


async def append(
    store: RunStore, run_id: str, rev: int, *events: bytes, at: float = NOW, owner: str = "", held_until: float = 0.0
) -> int:
    """Append `events` with a summary to match; how many signals were posted."""
    summary = summed(run_id, rev + len(events), at=at, owner=owner, held_until=held_until)
    return await store.append(run_id, rev, events, summary)


def expect(seen: object, expected: object, what: str) -> None:
    """Raises `AssertionError` if they differ."""
    if seen != expected:
        raise AssertionError(f"{what}: saw {_short(seen)}, expected {_short(expected)}")


async def expect_error(kind: type[StoreError], call: Awaitable[object], what: str) -> None:
    """Raises `AssertionError` unless `call` raises a `kind`."""
    try:
        seen = await call
    except kind:
        return
    except Exception as error:
        raise AssertionError(f"{what}: saw {type(error).__name__}: {error}, expected {kind.__name__}") from error
    raise AssertionError(f"{what}: saw {_short(seen)} returned, expected {kind.__name__}")


async def expect_log(store: RunStore, run_id: str, events: Sequence[bytes], what: str) -> None:
    """Raises `AssertionError` unless the run's log is `events`, and its summary says so."""
    log = await store.read(run_id)
    expect(len(log), len(events), f"{what}, number of events")
    for number, (seen, expected) in enumerate(zip(log, events, strict=True)):
        expect(seen, expected, f"{what}, event {number}")
    summary = await store.summary(run_id)
    expect(summary and summary.rev, len(events), f"{what}, summary.rev")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}... ({len(text)} characters)"
