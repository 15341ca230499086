"""A run store whose events and attachments only the holder of a key can read or change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentsdk.databases.cipher import Cipher
from agentsdk.ports.run_store import RunStore
from agentsdk.types.summary import RunQuery, RunStatus, RunSummary


class EncryptedRunStore(RunStore):
    """Keeps runs in `store`, events and attachments encrypted: `EncryptedRunStore(SQLiteRunStore("runs.db"), key)`.

    `key` is 32 secret bytes or more (`secrets.token_bytes(32)`), or several: the first encrypts, all decrypt. To change keys,
    put the new one first; drop the old one once the runs written with it are deleted, at once if it has leaked.

    An event that was changed, or moved to another number or run, raises `StateTamperedError`; so do an attachment under another
    name, a record that is not encrypted, and a wrong key.

    What is not protected from someone who can read or write `store` itself: the summary stays readable and changeable (agent,
    status, reason, counts, times, owner), and run ids, attachment names, and how many events there are and of what size stay
    readable. A log can be cut at its end, a run or an attachment removed or put back as it once was, without notice.
    Compare-and-set and leases are those of `store`, unchanged: they hold between all who go through it.

    Raises `UserError` for a bad key, and without the package `cryptography`.
    """

    def __init__(self, store: RunStore, key: bytes | Sequence[bytes]) -> None:
        self._store = store
        self._cipher = Cipher(key, "run")

    def __repr__(self) -> str:
        return f"EncryptedRunStore({self._store!r})"

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> None:
        """Add events to a run's log, if it is where expected. Raises `RunConflict`."""
        records = [self._cipher.seal(run_id, _event(number), event) for number, event in enumerate(events, expected_rev)]
        await self._store.append(run_id, expected_rev, records, summary)

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`, `StateTamperedError`."""
        records = await self._store.read(run_id, from_rev)
        return [self._cipher.open(run_id, _event(number), record) for number, record in enumerate(records, from_rev)]

    async def summary(self, run_id: str) -> RunSummary | None:
        """A run's summary."""
        return await self._store.summary(run_id)

    async def list(self, query: RunQuery) -> list[RunSummary]:
        """The runs that fit."""
        return await self._store.list(query)

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        await self._store.attach(run_id, name, self._cipher.seal(run_id, _attachment(name), data))

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`. Raises `StateTamperedError`."""
        record = await self._store.attachment(run_id, name)
        return None if record is None else self._cipher.open(run_id, _attachment(name), record)

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        await self._store.delete(run_id)

    async def prune(self, before: float, statuses: Iterable[RunStatus] = ("finished",)) -> int:
        """Delete runs that have been at rest since before `before`."""
        return await self._store.prune(before, statuses)

    async def aclose(self) -> None:
        """Close the store within."""
        await self._store.aclose()


# What these give is sealed into the records: another wording could not open them.


def _event(number: int) -> str:
    return f"event {number}"


def _attachment(name: str) -> str:
    return f"attachment {name!a}"
