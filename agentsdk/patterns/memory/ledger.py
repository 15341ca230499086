"""What is kept beside a memory's file, in SQLite: conversations that no dream has seen, drafts, and changes.

A change is carried out in two transactions. The first writes down what the file is to be, and the second replaces the file and
says so. Whoever comes next finds by the file's digest what became of a change whose process died in between: it was made, and
counts, or it was not, and is forgotten. Both hold the database's write lock, so two writers never check the file at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, cast

from agentsdk.databases.sqlite import SQLiteDatabase, Tables
from agentsdk.patterns.memory.change import MemoryChange
from agentsdk.patterns.memory.note_file import NoteFile, digest
from agentsdk.types.errors import MemoryBusyError, MemoryFileError

if TYPE_CHECKING:
    import sqlite3

Kind = Literal["dream", "tool", "undo"]

TABLES = Tables(
    kind="memory",
    version=1,
    create=(
        """CREATE TABLE IF NOT EXISTS agentsdk_memories (
            memory TEXT PRIMARY KEY, dreamt_at REAL NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID""",
        """CREATE TABLE IF NOT EXISTS agentsdk_memory_entries (
            id INTEGER PRIMARY KEY AUTOINCREMENT, memory TEXT NOT NULL, at REAL NOT NULL, text TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_memory_entries_of ON agentsdk_memory_entries (memory, id)",
        """CREATE TABLE IF NOT EXISTS agentsdk_memory_runs (
            id INTEGER PRIMARY KEY AUTOINCREMENT, memory TEXT NOT NULL, run TEXT NOT NULL, items INTEGER NOT NULL,
            UNIQUE (memory, run))""",
        """CREATE TABLE IF NOT EXISTS agentsdk_memory_drafts (
            id TEXT PRIMARY KEY, memory TEXT NOT NULL, at REAL NOT NULL, before TEXT NOT NULL, text TEXT NOT NULL,
            last INTEGER NOT NULL) WITHOUT ROWID""",
        """CREATE TABLE IF NOT EXISTS agentsdk_memory_changes (
            id INTEGER PRIMARY KEY AUTOINCREMENT, memory TEXT NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
            before TEXT NOT NULL, after TEXT NOT NULL, draft TEXT NOT NULL, last INTEGER NOT NULL,
            made INTEGER NOT NULL DEFAULT 0, undoes INTEGER NOT NULL DEFAULT 0)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_memory_changes_of ON agentsdk_memory_changes (memory, id)",
    ),
    error=MemoryFileError,
    busy=MemoryBusyError,
)

BATCH_CHARACTERS = 32_000
"""Of the conversations that have not been seen, how much one model is shown at once."""

_MOST_RUNS = 1_000
"""So many runs of a memory are known again; older ones would have to come back after that many others."""

_MOST_DRAFTS = 8
"""Drafts of a memory that are kept: of those whose dream was left, nobody says so."""


@dataclass(frozen=True)
class Entry:
    """What was said in a run that was remembered at `at`, a Unix timestamp."""

    at: float
    text: str


@dataclass(frozen=True)
class Draft:
    """A memory that a dream works on: its text as it was found, and the conversations it has not taken in yet."""

    id: str
    text: str
    entries: list[Entry]


class Ledger:
    """The file of one memory, known as `memory`, and what is kept beside it. `keep` changes can be undone."""

    def __init__(self, database: SQLiteDatabase, file: NoteFile, memory: str, keep: int) -> None:
        self.file = file
        self._database = database
        self._memory = memory
        self._keep = keep

    async def add(self, run_id: str, items: int, at: float, text_from: Callable[[int], str]) -> None:
        """Keep what was said in a run of `items` items: what `text_from` gives of those that came since it was added last."""

        def job(connection: sqlite3.Connection) -> None:
            found = connection.execute(
                "SELECT items FROM agentsdk_memory_runs WHERE memory = ? AND run = ?", (self._memory, run_id)
            ).fetchone()
            seen = found[0] if found else 0
            if text := text_from(seen):
                row = (self._memory, at, text)
                connection.execute("INSERT INTO agentsdk_memory_entries (memory, at, text) VALUES (?, ?, ?)", row)
            connection.execute(
                "INSERT OR REPLACE INTO agentsdk_memory_runs (memory, run, items) VALUES (?, ?, ?)",
                (self._memory, run_id, items),
            )
            self._forget(connection, "agentsdk_memory_runs", _MOST_RUNS)

        await self._database.write(job)

    async def waiting(self) -> tuple[int, float]:
        """How many conversations no dream has taken in, and when the last dream was, or else when the first of them came."""

        def job(connection: sqlite3.Connection) -> tuple[int, float]:
            count, first = connection.execute(
                "SELECT count(*), min(at) FROM agentsdk_memory_entries WHERE memory = ?", (self._memory,)
            ).fetchone()
            known = self._known(connection)
            return count, known[0] if known is not None else first or 0.0

        return await self._database.run(job)

    async def open_draft(self, draft_id: str, at: float, clean: Callable[[str], str]) -> Draft | None:
        """A draft of the file as it is, `clean`ed; the same when asked again.

        None where there is nothing to do: every conversation is seen, and the file is as a dream has left it.
        """

        def job(connection: sqlite3.Connection) -> Draft | None:
            text = self._settled(connection)
            made = connection.execute("SELECT last FROM agentsdk_memory_drafts WHERE id = ?", (draft_id,)).fetchone()
            entries = self._entries(connection, None if made is None else made[0])
            known = self._known(connection)
            if made is None and not entries and (not text or (known is not None and known[1] == digest(text))):
                return None
            if made is None:
                last = entries[-1][0] if entries else 0
                connection.execute(
                    "INSERT INTO agentsdk_memory_drafts (id, memory, at, before, text, last) VALUES (?, ?, ?, ?, ?, ?)",
                    (draft_id, self._memory, at, text, clean(text), last),
                )
                connection.execute(
                    """DELETE FROM agentsdk_memory_drafts WHERE memory = ? AND id NOT IN (
                        SELECT id FROM agentsdk_memory_drafts WHERE memory = ? ORDER BY at DESC, id = ? DESC LIMIT ?)""",
                    (self._memory, self._memory, draft_id, _MOST_DRAFTS),
                )
            return Draft(draft_id, clean(text), [Entry(at, text) for _, at, text in entries])

        return await self._database.write(job)

    async def draft_text(self, draft_id: str) -> str:
        """The text of a draft. Raises `MemoryBusyError` for one that is gone."""
        return (await self._database.run(lambda connection: self._draft(connection, draft_id)))[1]

    async def write_draft(self, draft_id: str, text: str) -> None:
        """Make `text` the text of a draft."""

        def job(connection: sqlite3.Connection) -> None:
            self._draft(connection, draft_id)
            connection.execute("UPDATE agentsdk_memory_drafts SET text = ? WHERE id = ?", (text, draft_id))

        await self._database.write(job)

    async def commit(self, draft_id: str, at: float, clean: Callable[[str], str]) -> MemoryChange | None:
        """Put a draft in the place of the file; None where that changes nothing. Asked again, it has done so.

        Raises `MemoryBusyError` where the file is not as the draft found it.
        """

        def intend(connection: sqlite3.Connection) -> tuple[int, MemoryChange | None]:
            found = self._settled(connection)
            made = connection.execute(
                "SELECT id, kind, at, before, after FROM agentsdk_memory_changes WHERE draft = ?", (draft_id,)
            ).fetchone()
            if made is not None:
                return 0, MemoryChange(*made[1:])
            before, text, last = self._draft(connection, draft_id)
            if before != found:
                raise self._changed()
            after = clean(text)
            if after == found:
                self._dreamt(connection, at, found, draft_id, last)
                return 0, None
            return self._intended(connection, MemoryChange("dream", at, found, after), draft_id, last)

        return await self._write(intend)

    async def replace(self, kind: Kind, before: str, after: str, at: float) -> MemoryChange | None:
        """Put `after` in the place of a file that holds `before`. Raises `MemoryBusyError` where it holds something else."""

        def intend(connection: sqlite3.Connection) -> tuple[int, MemoryChange | None]:
            if self._settled(connection) != before:
                raise self._changed()
            if before == after:
                return 0, None
            return self._intended(connection, MemoryChange(kind, at, before, after))

        return await self._write(intend)

    async def undo(self, at: float) -> MemoryChange | None:
        """Put back what was there before the last change that is not undone yet; None where there is none."""

        def intend(connection: sqlite3.Connection) -> tuple[int, MemoryChange | None]:
            found = self._settled(connection)
            row = connection.execute(
                """SELECT id, before FROM agentsdk_memory_changes AS one WHERE memory = ? AND kind != 'undo' AND NOT EXISTS (
                    SELECT 1 FROM agentsdk_memory_changes WHERE undoes = one.id) ORDER BY id DESC LIMIT 1""",
                (self._memory,),
            ).fetchone()
            if row is None:
                return 0, None
            return self._intended(connection, MemoryChange("undo", at, found, row[1]), undoes=row[0])

        return await self._write(intend)

    async def changes(self) -> list[MemoryChange]:
        """The changes that are kept, the oldest first."""

        def job(connection: sqlite3.Connection) -> list[MemoryChange]:
            with suppress(MemoryFileError):
                self._settled(connection)
            rows = connection.execute(
                "SELECT kind, at, before, after FROM agentsdk_memory_changes WHERE memory = ? AND made ORDER BY id",
                (self._memory,),
            )
            return [MemoryChange(*row) for row in rows]

        return await self._database.write(job)

    def _settled(self, connection: sqlite3.Connection) -> str:
        """The file's text, once it is known what became of changes whose process died: one that was made counts."""
        text = self.file.text()
        open_changes = connection.execute(
            "SELECT id, after FROM agentsdk_memory_changes WHERE memory = ? AND NOT made", (self._memory,)
        ).fetchall()
        for number, after in open_changes:
            if after == text:
                self._made(connection, number)
            else:
                connection.execute("DELETE FROM agentsdk_memory_changes WHERE id = ?", (number,))
        return text

    def _intended(
        self, connection: sqlite3.Connection, change: MemoryChange, draft: str = "", last: int = 0, *, undoes: int = 0
    ) -> tuple[int, MemoryChange]:
        row = (self._memory, change.kind, change.at, change.before, change.after, draft, last, undoes)
        cursor = connection.execute(
            """INSERT INTO agentsdk_memory_changes (memory, kind, at, before, after, draft, last, undoes)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            row,
        )
        return cast(int, cursor.lastrowid), change

    async def _write(self, intend: Callable[[sqlite3.Connection], tuple[int, MemoryChange | None]]) -> MemoryChange | None:
        """Write a change down, and make it; anew where another process has taken it for one that was left, and forgotten it."""
        while True:
            number, change = await self._database.write(intend)
            if not number or await self._database.write(partial(self._is_made, number)):
                return change

    def _is_made(self, number: int, connection: sqlite3.Connection) -> bool:
        """Make a change that is written down; False where it is no more. Raises `MemoryBusyError` where the file is another."""
        row = connection.execute("SELECT before, after FROM agentsdk_memory_changes WHERE id = ?", (number,)).fetchone()
        if row is None:
            return False
        before, after = row
        found = self.file.text()
        if found not in (before, after):
            raise self._changed()
        if found != after:  # or it was, and the transaction came to nothing
            self.file.replace(after)
        self._made(connection, number)
        return True

    def _made(self, connection: sqlite3.Connection, number: int) -> None:
        connection.execute("UPDATE agentsdk_memory_changes SET made = 1 WHERE id = ?", (number,))
        kind, at, after, draft, last = connection.execute(
            "SELECT kind, at, after, draft, last FROM agentsdk_memory_changes WHERE id = ?", (number,)
        ).fetchone()
        if kind == "dream":
            self._dreamt(connection, at, after, draft, last)
        elif kind == "undo":  # or the next dream would do again what was undone
            connection.execute("UPDATE agentsdk_memories SET digest = ? WHERE memory = ?", (digest(after), self._memory))
        self._forget(connection, "agentsdk_memory_changes", self._keep)

    def _dreamt(self, connection: sqlite3.Connection, at: float, text: str, draft: str, last: int) -> None:
        connection.execute("DELETE FROM agentsdk_memory_entries WHERE memory = ? AND id <= ?", (self._memory, last))
        connection.execute("DELETE FROM agentsdk_memory_drafts WHERE id = ?", (draft,))
        row = (self._memory, at, digest(text))
        connection.execute("INSERT OR REPLACE INTO agentsdk_memories (memory, dreamt_at, digest) VALUES (?, ?, ?)", row)

    def _entries(self, connection: sqlite3.Connection, last: int | None) -> list[tuple[int, float, str]]:
        """The conversations for one draft, the oldest first; those up to `last` where it has been made."""
        rows = connection.execute(
            "SELECT id, at, text FROM agentsdk_memory_entries WHERE memory = ? ORDER BY id", (self._memory,)
        )
        entries: list[tuple[int, float, str]] = []
        room = BATCH_CHARACTERS
        for row in rows:
            room -= len(row[2])
            if (last is not None and row[0] > last) or (last is None and entries and room < 0):
                break
            entries.append(row)
        return entries

    def _known(self, connection: sqlite3.Connection) -> tuple[float, str] | None:
        """When the last dream was, and the digest of what it left."""
        query = "SELECT dreamt_at, digest FROM agentsdk_memories WHERE memory = ?"
        return cast("tuple[float, str] | None", connection.execute(query, (self._memory,)).fetchone())

    def _draft(self, connection: sqlite3.Connection, draft_id: str) -> tuple[str, str, int]:
        query = "SELECT before, text, last FROM agentsdk_memory_drafts WHERE id = ?"
        found = connection.execute(query, (draft_id,)).fetchone()
        if found is None:
            raise MemoryBusyError(f"the draft of memory {str(self.file.path)!r} is gone, expected it to be kept; dream again")
        return cast("tuple[str, str, int]", found)

    def _forget(self, connection: sqlite3.Connection, table: str, keep: int) -> None:
        """Keep the newest rows of a table only."""
        connection.execute(
            f"""DELETE FROM {table} WHERE memory = ? AND id <= (
                SELECT id FROM {table} WHERE memory = ? ORDER BY id DESC LIMIT 1 OFFSET ?)""",
            (self._memory, self._memory, keep),
        )

    def _changed(self) -> MemoryBusyError:
        return MemoryBusyError(
            f"memory {str(self.file.path)!r} was changed meanwhile, expected it to stay as it was read; read it and try again"
        )
