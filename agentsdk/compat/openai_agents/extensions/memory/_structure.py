"""The tables of `AdvancedSQLiteSession` beside those of `SQLiteSession`, and what it notes of each item."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, cast

MAIN = "main"
_BY_TYPE = ("computer_call", "shell_call", "apply_patch_call", "file_search_call", "web_search_call", "code_interpreter_call")
_OF_SERVERS = ("mcp_call", "mcp_approval_request")
CALLS = (*_BY_TYPE, *_OF_SERVERS, "function_call", "custom_tool_call", "tool_call", "tool_search_call")
"""Types of items that count as one use of a tool."""


def make_tables(connection: sqlite3.Connection, sessions: str, messages: str) -> None:
    """Make those that are not there, under the names and with the columns that openai-agents gives them."""
    connection.execute(
        f"""
        CREATE TABLE IF NOT EXISTS message_structure (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL REFERENCES {sessions} (session_id) ON DELETE CASCADE,
            message_id INTEGER NOT NULL REFERENCES {messages} (id) ON DELETE CASCADE,
            branch_id TEXT NOT NULL DEFAULT '{MAIN}',
            message_type TEXT NOT NULL,
            sequence_number INTEGER NOT NULL,
            user_turn_number INTEGER,
            branch_turn_number INTEGER,
            tool_name TEXT,
            created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
        )
        """
    )
    connection.execute(
        f"""
        CREATE TABLE IF NOT EXISTS turn_usage (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL REFERENCES {sessions} (session_id) ON DELETE CASCADE,
            branch_id TEXT NOT NULL DEFAULT '{MAIN}',
            user_turn_number INTEGER NOT NULL,
            requests INTEGER DEFAULT 0,
            input_tokens INTEGER DEFAULT 0,
            output_tokens INTEGER DEFAULT 0,
            total_tokens INTEGER DEFAULT 0,
            input_tokens_details JSON,
            output_tokens_details JSON,
            created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
            UNIQUE (session_id, branch_id, user_turn_number)
        )
        """
    )
    for name, columns in (("session_seq", "session_id, branch_id, sequence_number"), ("message", "message_id")):
        connection.execute(f"CREATE INDEX IF NOT EXISTS idx_structure_{name} ON message_structure ({columns})")


def make_reservations(connection: sqlite3.Connection) -> None:
    """Make the table of the names that branches have, or had; older databases have none."""
    connection.execute(
        """
        CREATE TABLE IF NOT EXISTS branch_reservations (
            session_id TEXT NOT NULL,
            branch_id TEXT NOT NULL,
            PRIMARY KEY (session_id, branch_id)
        )
        """
    )


def check_owner(connection: sqlite3.Connection, place: object, sessions: str, messages: str) -> None:
    """Raises where the tables lean on others than `sessions` and `messages`: two pairs would mix their conversations."""
    wanted = {"message_structure": {"session_id": sessions, "message_id": messages}, "turn_usage": {"session_id": sessions}}
    columns = {"session_id": "session_id", "message_id": "id"}
    for table, owners in wanted.items():
        rows = connection.execute(f"PRAGMA foreign_key_list({table})").fetchall()
        for column, owner in owners.items():
            found = [(row[2], row[4] or columns[column]) for row in rows if _same(row[3], column)]
            if len(found) != 1:
                raise ValueError(
                    f"table {table!r} of {place} has {len(found)} foreign keys of {column!r}, expected exactly one owner "
                    "foreign key; make the tables with create_tables=True"
                )
            if not (_same(found[0][0], owner) and _same(found[0][1], columns[column])):
                raise ValueError(
                    f"table {table!r} of {place} already belongs to {found[0][0]!r} by its column {found[0][1]!r}, expected "
                    f"{owner!r}; give its tables, or another db_path"
                )


def check_base(connection: sqlite3.Connection, place: object, *tables: str) -> None:
    """Raises where one of `SQLiteSession`'s own tables is missing."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    missing = [table for table in tables if not any(_same(row[0], table) for row in rows)]
    if missing:
        raise ValueError(
            f"{place} has no table {missing[0]!r}, expected the configured base tables; make them with create_tables=True"
        )


def _same(one: str, other: str) -> bool:
    """As SQLite compares names: only the letters of ASCII have two cases."""
    return one.encode().lower() == other.encode().lower()


def kind_of(item: Mapping[str, Any]) -> str:
    """The type of an item, as it is kept: `user` and `assistant` for messages."""
    role = item.get("role")
    return str(role) if role in ("user", "assistant") else str(item.get("type") or "other")


def tool_of(item: Mapping[str, Any]) -> str | None:
    """The tool that an item calls, with its server or namespace; None where it calls none."""
    kind, name = item.get("type"), item.get("name")
    if kind in _OF_SERVERS:
        return ".".join(str(part) for part in (item.get("server_label"), name) if part) or None
    if kind in ("tool_search_call", "tool_search_output"):
        return "tool_search"
    if kind in _BY_TYPE:
        return str(kind)
    if not isinstance(name, str):
        return None
    namespace = item.get("namespace")
    return f"{namespace}.{name}" if namespace and namespace != name else name


def text_of(content: Any) -> str:
    """A message's content as one text: as it is, or as JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def searched_in(content: Any) -> list[str]:
    """The texts of a message's content: itself, or those of its parts."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    parts = cast("Sequence[Any]", content)
    texts = [cast("Mapping[str, Any]", part).get("text") for part in parts if isinstance(part, Mapping)]
    return [text for text in texts if isinstance(text, str)]


def details_text(details: Any) -> str | None:
    """Details of a usage as JSON; None where there are none."""
    if details is None:
        return None
    return json.dumps(details if isinstance(details, dict) else details.model_dump())
