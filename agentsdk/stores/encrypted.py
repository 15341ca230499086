"""A run store whose events and attachments only the holder of a key can read or change.

Each record is bound to its run, its number and the record before it, so a log opens only in the order in which it was written.
That cannot show that its end is missing: what this process has seen of a log is remembered for that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct

from agentsdk.databases.cipher import Cipher, is_chained, tag
from agentsdk.ports.run_store import RUN_STORE, RunStore
from agentsdk.stores.wrapper import RunStoreWrapper
from agentsdk.types.declared import Fields
from agentsdk.types.errors import RunNotFoundError, StateTamperedError
from agentsdk.types.summary import RunSummary

MAX_SEEN = 1_024
"""The runs whose latest event is remembered."""

_FIELDS = Fields("EncryptedRunStore", store=RUN_STORE)


class _Seen(Struct, frozen=True):
    """How a log was seen last: the tag of its first record (`b""`: not known), its length, and the tag of its last record."""

    first: bytes
    rev: int
    tag: bytes


class EncryptedRunStore(RunStoreWrapper):
    """Keeps runs in `store`, events and attachments encrypted: `EncryptedRunStore(SQLiteRunStore("runs.db"), key)`.

    `key` is 32 secret bytes or more (`secrets.token_bytes(32)`), or several: the first encrypts, all decrypt. To change keys,
    put the new one first; drop the old one once the runs written with it are deleted, at once if it has leaked.

    An event that was changed, moved to another number or run, or put behind others than it was written behind raises
    `StateTamperedError`; so do an attachment under another name, a record that is not encrypted, and a wrong key. So does a log
    that is shorter, or another one, than this object last saw it: it remembers that of the 1,024 runs it worked on last.

    What is not protected from someone who can read or write `store` itself: the summary stays readable and changeable (agent,
    status, reason, counts, times, owner), and run ids, attachment names, and how many events there are and of what size stay
    readable. Between two processes a log can be truncated, a run or an attachment removed or put back as it once was,
    without notice. Events written by version 0.1.0 are bound to their numbers only.
    Compare-and-set and leases are those of `store`, unchanged: they hold between all who go through it.

    Raises `UserError` for a bad key, and without the package `cryptography`.
    """

    def __init__(self, store: RunStore, key: bytes | Sequence[bytes]) -> None:
        _FIELDS.check_given(store=store)
        super().__init__(store)
        self._cipher = Cipher(key, "run")
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        """Add events to a run's log, if it is where expected. Raises `RunConflictError`."""
        records: list[bytes] = []
        after = await self._tag_before(run_id, expected_rev) if events else b""
        for number, event in enumerate(events, expected_rev):
            records.append(self._cipher.seal(run_id, _event(number), event, after=after))
            after = tag(records[-1])
        signals = await self._store.append(run_id, expected_rev, records, summary)
        if records:
            self._remember(run_id, expected_rev, records)
        return signals

    async def read(self, run_id: str, from_rev: int = 0) -> list[bytes]:
        """A run's events. Raises `RunNotFoundError`, `StateTamperedError`."""
        before = min(from_rev, 1)  # a record opens behind the one before it
        seen = self._seen.get(run_id)
        records = await self._store.read(run_id, from_rev - before)
        await self._compare(run_id, seen, from_rev - before, records)
        previous = records[0] if before and records else b""
        opened: list[bytes] = []
        for number, record in enumerate(records[before:], from_rev):
            place = _event(number)
            if is_chained(previous) and not is_chained(record):
                raise self._replaced(f"{place} of run {run_id!r}")
            opened.append(self._cipher.open(run_id, place, record, after=tag(previous)))
            previous = record
        if opened:
            self._remember(run_id, from_rev - before, records)
        return opened

    async def _tag_before(self, run_id: str, rev: int) -> bytes:
        """The tag of the record that event `rev` follows."""
        seen = self._seen.get(run_id)
        if rev == 0 or (seen is not None and seen.rev == rev):
            return b"" if seen is None or rev == 0 else seen.tag
        try:
            records = await self._store.read(run_id, rev - 1)
        except RunNotFoundError:
            records = []
        return tag(records[0]) if records else b""  # without it the log is elsewhere, and the append refused

    async def _compare(self, run_id: str, seen: _Seen | None, start: int, records: Sequence[bytes]) -> None:
        """Raises `StateTamperedError` if the log is not the one that was `seen`, and what came after it."""
        if seen is None or start >= seen.rev:
            return
        at = seen.rev - 1 - start
        if at < len(records) and tag(records[at]) == seen.tag:
            return
        first = records if start == 0 else await self._store.read(run_id)
        if not first or tag(first[0]) != seen.first:
            self._seen.pop(run_id, None)  # another run that was begun under this id
            return
        raise self._replaced(f"the log of run {run_id!r}")

    def _remember(self, run_id: str, start: int, records: Sequence[bytes]) -> None:
        seen = self._seen.pop(run_id, None)
        first = tag(records[0]) if start == 0 else b"" if seen is None else seen.first
        latest = _Seen(first, start + len(records), tag(records[-1]))
        if seen is not None and seen.first == first and seen.rev > latest.rev:
            latest = seen  # an append has overtaken this read
        self._seen[run_id] = latest
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)

    @staticmethod
    def _replaced(what: str) -> StateTamperedError:
        return StateTamperedError(
            f"{what} was replaced by an earlier one, expected it as it was written; refuse it, or load an untouched copy in a "
            "new process"
        )

    async def signals(self, run_id: str, after: int = 0) -> list[bytes]:
        """What was posted to a run. Raises `RunNotFoundError`, `StateTamperedError`."""
        return [self._cipher.open(run_id, _SIGNAL, record) for record in await self._store.signals(run_id, after)]

    async def post(self, run_id: str, signal: bytes) -> int:
        """Put a signal into a run's mailbox, encrypted. Raises `RunNotFoundError`, and `RunConflictError` where it is over."""
        return await self._store.post(run_id, self._cipher.seal(run_id, _SIGNAL, signal))

    async def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep `data` beside a run's log. Raises `RunNotFoundError`."""
        await self._store.attach(run_id, name, self._cipher.seal(run_id, _attachment(name), data))

    async def attachment(self, run_id: str, name: str) -> bytes | None:
        """What was attached under `name`. Raises `StateTamperedError`."""
        record = await self._store.attachment(run_id, name)
        return None if record is None else self._cipher.open(run_id, _attachment(name), record)

    async def delete(self, run_id: str) -> None:
        """Remove a run."""
        self._seen.pop(run_id, None)
        await self._store.delete(run_id)


# These texts are bound into the records: with another wording they would not open.


_SIGNAL = "signal"


def _event(number: int) -> str:
    return f"event {number}"


def _attachment(name: str) -> str:
    return f"attachment {name!a}"
