"""Whether DBOS can keep its workflows in SQLite here."""

from __future__ import annotations

import sqlite3
import sys

import pytest


def require_dbos_on_sqlite() -> None:
    """Skip the test where it cannot: from Python 3.12 on DBOS asks for `unixepoch('subsec')`, which SQLite has from 3.42 on."""
    if sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42):
        pytest.skip(f"DBOS on SQLite needs SQLite 3.42 or newer under Python 3.12 or newer, here is {sqlite3.sqlite_version}")
