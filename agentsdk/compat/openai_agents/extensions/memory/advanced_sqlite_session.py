"""`AdvancedSQLiteSession`: a session in SQLite whose conversation has turns, branches, and the tokens that it took."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from agentsdk.compat.openai_agents.extensions.memory._structure import (
    CALLS,
    MAIN,
    check_base,
    check_owner,
    details_text,
    kind_of,
    make_reservations,
    make_tables,
    searched_in,
    text_of,
    tool_of,
)
from agentsdk.compat.openai_agents.items import plain
from agentsdk.compat.openai_agents.memory.session_settings import SessionSettings, resolve_session_limit
from agentsdk.compat.openai_agents.memory.sqlite_session import SQLiteSession
from agentsdk.compat.openai_agents.result import RunResultBase

_PREVIEW = 100
_PLACE = (
    "INSERT INTO message_structure (session_id, message_id, branch_id, message_type, sequence_number, user_turn_number, "
    "branch_turn_number, tool_name)"
)
_COUNTS = ("requests", "input_tokens", "output_tokens", "total_tokens")


class AdvancedSQLiteSession(SQLiteSession):
    """The items of one conversation in a SQLite database, in branches of turns, each of which begins with a user's message.

    A new branch shares the messages before the turn that it starts at; it is the current one of this object from then on. The
    name of a branch is not given to another one, also when it is deleted. `create_tables` makes openai-agents' tables where
    they are not there; without it they must be.
    """

    def __init__(
        self,
        *,
        session_id: str,
        db_path: str | Path = ":memory:",
        create_tables: bool = False,
        logger: logging.Logger | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._current_branch_id = MAIN
        self._creates_tables = create_tables
        self._logger = logger or logging.getLogger(__name__)
        super().__init__(session_id, db_path, session_settings=session_settings, **kwargs)

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        names = (self.sessions_table, self.messages_table)
        if self._creates_tables:
            connection.execute("BEGIN IMMEDIATE")  # of two that make them with other names the second sees the first's
            super()._make_tables(connection)
            make_tables(connection, *names)
        check_owner(connection, self.db_path, *names)
        check_base(connection, self.db_path, *names)
        make_reservations(connection)

    async def get_items(self, limit: int | None = None, branch_id: str | None = None) -> list[Any]:
        """All items of a branch, the current one by default, or the latest `limit` of them; rows that are no JSON are left
        out."""
        branch = branch_id or self._current_branch_id
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []

        def read(connection: sqlite3.Connection) -> list[Any]:
            items: list[Any] = []
            for (text,) in connection.execute(
                f"SELECT m.message_data {self._messages_of} ORDER BY s.sequence_number DESC", (self.session_id, branch)
            ):
                if most is not None and len(items) == most:
                    break
                try:
                    items.append(json.loads(text))
                except ValueError:
                    continue
            return items[::-1]

        return await self._with(read)

    @property
    def _messages_of(self) -> str:
        """The part of a query for a session's messages of a branch, as `m`, with their places, as `s`."""
        joined = f"FROM message_structure s JOIN {self.messages_table} m ON m.id = s.message_id"
        return f"{joined} WHERE s.session_id = ? AND s.branch_id = ?"

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end of the current branch, all or none."""
        if not items:
            self._connected()  # raises where the session is closed
            return
        branch = self._current_branch_id
        entries: list[Any] = [plain(item) for item in items]
        texts = [json.dumps(entry) for entry in entries]

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"INSERT OR IGNORE INTO {self.sessions_table} (session_id) VALUES (?)", (self.session_id,))
            turn = connection.execute(
                "SELECT COALESCE(MAX(user_turn_number), 0) FROM message_structure WHERE session_id = ? AND branch_id = ?",
                (self.session_id, branch),
            ).fetchone()[0]
            last = self._last_place(connection)
            insert = f"INSERT INTO {self.messages_table} (session_id, message_data) VALUES (?, ?)"
            for place, (entry, text) in enumerate(zip(entries, texts, strict=True), last + 1):
                kind = kind_of(entry)
                turn += kind == "user"
                message = connection.execute(insert, (self.session_id, text)).lastrowid
                connection.execute(
                    f"{_PLACE} VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (self.session_id, message, branch, kind, place, turn, turn, tool_of(entry)),
                )
            connection.execute(
                f"UPDATE {self.sessions_table} SET updated_at = CURRENT_TIMESTAMP WHERE session_id = ?", (self.session_id,)
            )

        await self._with(write)

    def _last_place(self, connection: sqlite3.Connection) -> int:
        query = "SELECT COALESCE(MAX(sequence_number), 0) FROM message_structure WHERE session_id = ?"
        return int(connection.execute(query, (self.session_id,)).fetchone()[0])

    async def pop_item(self) -> Any | None:
        """Take the latest item of the current branch away and give it; None where there is none.

        A message that another branch has too stays there. With its last item a turn loses its usage.
        """
        branch = self._current_branch_id

        def take(connection: sqlite3.Connection) -> Any | None:
            connection.execute("BEGIN IMMEDIATE")
            self._reserve_known(connection)
            query = (
                f"SELECT s.id, s.user_turn_number, m.message_data {self._messages_of} ORDER BY s.sequence_number DESC LIMIT 1"
            )
            while (row := connection.execute(query, (self.session_id, branch)).fetchone()) is not None:
                self._drop(connection, branch, row[0])
                connection.execute(
                    "DELETE FROM turn_usage WHERE session_id = :session AND branch_id = :branch AND user_turn_number = :turn "
                    "AND NOT EXISTS (SELECT 1 FROM message_structure s WHERE s.session_id = :session AND s.branch_id = :branch "
                    "AND s.user_turn_number = :turn)",
                    {"session": self.session_id, "branch": branch, "turn": row[1]},
                )
                try:
                    return json.loads(row[2])
                except ValueError:
                    continue
            return None

        return await self._with(take)

    def _drop(self, connection: sqlite3.Connection, branch: str, row: int | None = None) -> None:
        """Take a branch's rows away, or one of them, and the messages that no other branch has."""
        these = "SELECT message_id FROM message_structure WHERE session_id = :session AND branch_id = :branch"
        others = "SELECT message_id FROM message_structure WHERE session_id = :session AND branch_id != :branch"
        one = " AND id = :row" if row is not None else ""
        values = {"session": self.session_id, "branch": branch, "row": row}
        connection.execute(f"DELETE FROM {self.messages_table} WHERE id IN ({these}{one}) AND id NOT IN ({others})", values)
        connection.execute(f"DELETE FROM message_structure WHERE session_id = :session AND branch_id = :branch{one}", values)

    def _reserve_known(self, connection: sqlite3.Connection) -> None:
        """Keep the names of the branches that there are, before they may go."""
        connection.execute(
            "INSERT OR IGNORE INTO branch_reservations (session_id, branch_id) "
            "SELECT DISTINCT session_id, branch_id FROM message_structure WHERE session_id = ?",
            (self.session_id,),
        )

    async def clear_session(self) -> None:
        """Take all items of all branches away, and go back to the first branch."""

        def clear(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            self._reserve_known(connection)
            for table in ("turn_usage", "message_structure", self.messages_table, self.sessions_table):
                connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (self.session_id,))

        await self._with(clear)
        self._current_branch_id = MAIN

    async def store_run_usage(self, result: RunResultBase) -> None:
        """Keep the tokens of a run as those of the current branch's latest turn, in place of any kept before. An error is only
        logged."""
        branch = self._current_branch_id
        usage = result.context_wrapper.usage

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            query = "SELECT MAX(user_turn_number) FROM message_structure WHERE session_id = ? AND branch_id = ?"
            turn = connection.execute(query, (self.session_id, branch)).fetchone()[0]
            if turn is None:
                return
            details = (details_text(usage.input_tokens_details), details_text(usage.output_tokens_details))
            connection.execute(
                "INSERT OR REPLACE INTO turn_usage (session_id, branch_id, user_turn_number, requests, input_tokens, "
                "output_tokens, total_tokens, input_tokens_details, output_tokens_details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self.session_id, branch, turn, *(getattr(usage, name) for name in _COUNTS), *details),
            )

        try:
            await self._with(write)
        except Exception:
            self._logger.exception("the usage of a run of session %r was not kept", self.session_id)

    async def create_branch_from_turn(self, turn_number: int, branch_name: str | None = None) -> str:
        """Start a branch with what the current one has before a turn, and go over to it: its name."""
        if branch_name is not None and not branch_name.strip():
            raise ValueError("Branch name cannot be empty")
        old = self._current_branch_id

        def copy(connection: sqlite3.Connection) -> str:
            connection.execute("BEGIN IMMEDIATE")
            begun = connection.execute(
                "SELECT 1 FROM message_structure WHERE session_id = ? AND branch_id = ? AND branch_turn_number = ? "
                "AND message_type = 'user'",
                (self.session_id, old, turn_number),
            ).fetchone()
            if begun is None:
                raise ValueError(f"Turn {turn_number} does not contain a user message in branch {old!r}")
            self._reserve_known(connection)
            name = self._reserve(connection, branch_name, turn_number)
            connection.execute(
                f"{_PLACE} SELECT session_id, message_id, ?, message_type, "
                "? + ROW_NUMBER() OVER (ORDER BY sequence_number), user_turn_number, branch_turn_number, tool_name "
                "FROM message_structure WHERE session_id = ? AND branch_id = ? AND branch_turn_number < ? "
                "ORDER BY sequence_number",
                (name, self._last_place(connection), self.session_id, old, turn_number),
            )
            return name

        self._current_branch_id = await self._with(copy)
        return self._current_branch_id

    def _reserve(self, connection: sqlite3.Connection, name: str | None, turn: int) -> str:
        """Take a name that no branch has had: the one given, or one that is made."""
        made = f"branch_from_turn_{turn}_{int(time.time())}"
        number = 1
        while True:
            wanted = name or (made if number == 1 else f"{made}_{number}")
            try:
                connection.execute("INSERT INTO branch_reservations VALUES (?, ?)", (self.session_id, wanted))
            except sqlite3.IntegrityError:
                if name is not None:
                    raise ValueError(f"Branch ID {name!r} has already been used. Choose a new branch ID.") from None
                number += 1
            else:
                return wanted

    async def create_branch_from_content(self, search_term: str, branch_name: str | None = None) -> str:
        """Start a branch before the first turn of the current one whose message has a text in it: its name."""
        found = await self.find_turns_by_content(search_term)
        if not found:
            raise ValueError(f"No user turns found containing {search_term!r}")
        return await self.create_branch_from_turn(found[0]["turn"], branch_name)

    async def switch_to_branch(self, branch_id: str) -> None:
        """Go over to a branch that has messages."""
        await self._with(lambda connection: self._check_branch(connection, branch_id))
        self._current_branch_id = branch_id

    def _check_branch(self, connection: sqlite3.Connection, branch_id: str) -> None:
        query = "SELECT 1 FROM message_structure WHERE session_id = ? AND branch_id = ? LIMIT 1"
        if connection.execute(query, (self.session_id, branch_id)).fetchone() is None:
            raise ValueError(f"Branch {branch_id!r} does not exist")

    async def delete_branch(self, branch_id: str, force: bool = False) -> None:
        """Delete a branch with its messages that no other has; the current one only with `force`, and then `main` is."""
        if not branch_id.strip():
            raise ValueError("Branch ID cannot be empty")
        if branch_id == MAIN:
            raise ValueError(f"Cannot delete the {MAIN!r} branch")

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            self._check_branch(connection, branch_id)
            if branch_id == self._current_branch_id and not force:
                raise ValueError(f"Cannot delete current branch {branch_id!r}; use force=True, or go to another one before")
            self._reserve_known(connection)
            connection.execute("DELETE FROM turn_usage WHERE session_id = ? AND branch_id = ?", (self.session_id, branch_id))
            self._drop(connection, branch_id)

        await self._with(delete)
        if branch_id == self._current_branch_id:
            self._current_branch_id = MAIN

    async def list_branches(self) -> list[dict[str, Any]]:
        """`branch_id`, `message_count`, `user_turns`, `is_current` and `created_at` of each branch that has messages."""
        rows = await self._rows(
            "SELECT branch_id, COUNT(*), SUM(message_type = 'user'), MIN(created_at) FROM message_structure "
            "WHERE session_id = ? GROUP BY branch_id ORDER BY MIN(created_at), MIN(id)",
            self.session_id,
        )
        return [
            {
                "branch_id": branch,
                "message_count": messages,
                "user_turns": turns,
                "is_current": branch == self._current_branch_id,
                "created_at": created,
            }
            for branch, messages, turns, created in rows
        ]

    async def _rows(self, query: str, *values: Any) -> list[Any]:
        return await self._with(lambda connection: connection.execute(query, values).fetchall())

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[dict[str, Any]]:
        """`turn`, `content` cut short, `full_content`, `timestamp` and `can_branch` of each user's message of a branch."""
        return [turn async for turn in self._turns(branch_id, None)]

    async def find_turns_by_content(self, search_term: str, branch_id: str | None = None) -> list[dict[str, Any]]:
        """The same of those whose text has `search_term` in it, whatever the case of the letters of ASCII."""
        return [turn async for turn in self._turns(branch_id, search_term)]

    async def _turns(self, branch_id: str | None, term: str | None) -> AsyncIterator[dict[str, Any]]:
        rows = await self._rows(
            f"SELECT s.branch_turn_number, m.message_data, s.created_at {self._messages_of} AND s.message_type = 'user' "
            "ORDER BY s.branch_turn_number",
            self.session_id,
            branch_id or self._current_branch_id,
        )
        for turn, content, created in _readable(rows):
            if term is not None and not any(_folded(term) in _folded(text) for text in searched_in(content)):
                continue
            text = text_of(content)
            short = text if len(text) <= _PREVIEW else text[:_PREVIEW] + "..."
            yield {"turn": turn, "content": short, "full_content": content, "timestamp": created, "can_branch": True}

    async def get_conversation_by_turns(self, branch_id: str | None = None) -> dict[int, list[dict[str, str | None]]]:
        """The `type` and `tool_name` of each item of a branch, by the number of its turn."""
        rows = await self._rows(
            "SELECT branch_turn_number, message_type, tool_name FROM message_structure WHERE session_id = ? AND branch_id = ? "
            "ORDER BY sequence_number",
            self.session_id,
            branch_id or self._current_branch_id,
        )
        turns: dict[int, list[dict[str, str | None]]] = {}
        for turn, kind, tool in rows:
            turns.setdefault(turn, []).append({"type": kind, "tool_name": tool})
        return turns

    async def get_tool_usage(self, branch_id: str | None = None) -> list[tuple[str, int, int]]:
        """The tools that were called in a branch: the name, how often, and in which turn.

        A result of a tool search counts in a turn that has no call of one.
        """
        places = ", ".join("?" * len(CALLS))
        return await self._rows(
            "SELECT tool_name, COUNT(*), user_turn_number FROM message_structure s WHERE session_id = ? AND branch_id = ? "
            f"AND tool_name IS NOT NULL AND (message_type IN ({places}) OR (message_type = 'tool_search_output' AND NOT EXISTS "
            "(SELECT 1 FROM message_structure c WHERE c.session_id = s.session_id AND c.branch_id = s.branch_id "
            "AND c.user_turn_number = s.user_turn_number AND c.message_type = 'tool_search_call'))) "
            "GROUP BY tool_name, user_turn_number ORDER BY user_turn_number, tool_name",
            self.session_id,
            branch_id or self._current_branch_id,
            *CALLS,
        )

    async def get_session_usage(self, branch_id: str | None = None) -> dict[str, int] | None:
        """The tokens of all turns of a branch, or of all branches, and `total_turns`; None where none are kept."""
        query = f"SELECT {', '.join(f'SUM({name})' for name in _COUNTS)}, COUNT(*) FROM turn_usage WHERE session_id = ?"
        of_branch = () if branch_id is None else (branch_id,)
        (row,) = await self._rows(f"{query} AND branch_id = ?" if of_branch else query, self.session_id, *of_branch)
        return dict(zip((*_COUNTS, "total_turns"), row, strict=True)) if row[-1] else None

    async def get_turn_usage(
        self, user_turn_number: int | None = None, branch_id: str | None = None
    ) -> list[dict[str, Any]] | dict[str, Any]:
        """The tokens of each turn of a branch; with a number those of one, `{}` where none are kept."""
        names = ("user_turn_number", *_COUNTS, "input_tokens_details", "output_tokens_details")
        rows = await self._rows(
            f"SELECT {', '.join(names)} FROM turn_usage WHERE session_id = ? AND branch_id = ? ORDER BY user_turn_number",
            self.session_id,
            branch_id or self._current_branch_id,
        )
        kept: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]
        for usage in kept:
            for name in names[-2:]:
                usage[name] = json.loads(usage[name]) if usage[name] else None
        if user_turn_number is None:
            return kept
        for usage in kept:
            if usage.pop("user_turn_number") == user_turn_number:
                return usage
        return {}


def _readable(rows: list[Any]) -> Iterator[tuple[int, Any, str]]:
    """The turn, content and time of each message that is one."""
    for turn, text, created in rows:
        try:
            content = json.loads(text).get("content", "")
        except (ValueError, AttributeError):
            continue
        yield turn, content, created


def _folded(text: str) -> str:
    """A text with the letters of ASCII in one case, as SQLite compares."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
