"""`LexicalIndex`: which tools have the words of a query, ranked by SQLite's full-text search (FTS5, bm25) in memory."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from agentsdk.types.errors import UserError

if TYPE_CHECKING:
    import sqlite3

MOST_WORDS = 64
"""A query of more different words is searched for by the first half and the last half of so many."""


class ToolText(NamedTuple):
    """What there is to search of a tool."""

    name: str
    description: str
    parameters: str
    tags: str


_COLUMNS = ", ".join(ToolText._fields)
_WEIGHTS = "6.0, 3.0, 1.0, 3.0"
"""How much a word counts in each field of a `ToolText`."""


class LexicalIndex:
    """Tools by the words in their texts. Raises `UserError` where this Python's SQLite cannot search."""

    def __init__(self, texts: Sequence[ToolText] = ()) -> None:
        require_fts5()
        self._database = _connect()
        self._count = 0
        weakref.finalize(self, self._database.close)
        self._database.execute(f"CREATE VIRTUAL TABLE tool USING fts5({_COLUMNS}, content='', tokenize='porter unicode61')")
        self._database.execute("INSERT INTO tool (tool, rank) VALUES ('rank', ?)", (f"bm25({_WEIGHTS})",))
        self.add(texts)

    def add(self, texts: Sequence[ToolText]) -> None:
        """Put more tools at the end."""
        rows = [(at, *[" ".join(_words(field)) for field in text]) for at, text in enumerate(texts, self._count)]
        self._database.executemany(f"INSERT INTO tool (rowid, {_COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)
        self._database.commit()
        self._count += len(rows)

    def search(self, query: str, limit: int) -> list[int]:
        """Where the best tools for a query stand among the texts, the best first. Those that have none of its words are not
        among them."""
        words = [word for word in dict.fromkeys(_words(query)) if word not in _STOP_WORDS]
        if len(words) > MOST_WORDS:
            words = [*words[: MOST_WORDS // 2], *words[-MOST_WORDS // 2 :]]
        if not words or not limit:
            return []
        asked = " OR ".join([f'"{word}"' for word in words])  # of letters and digits alone, so there is nothing to escape
        found = self._database.execute("SELECT rowid FROM tool WHERE tool MATCH ? ORDER BY rank LIMIT ?", (asked, limit))
        return [at for (at,) in found]


@cache
def require_fts5() -> None:
    """Raises `UserError` where this Python's SQLite cannot search."""
    try:
        database = _connect()
        try:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        finally:
            database.close()
    except Exception as error:  # no module sqlite3, or one without FTS5
        raise UserError(
            f"this Python cannot search texts by their words ({type(error).__name__}: {error}), expected the module sqlite3 "
            "with FTS5; use a Python whose SQLite has it"
        ) from error


def _connect() -> sqlite3.Connection:
    import sqlite3  # 6 ms that few programs need

    return sqlite3.connect(":memory:", check_same_thread=False)  # several event loops may share a toolset


_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_SPACES = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+)")


def _words(text: str) -> Iterator[str]:
    """The words of a text: those of `sendMail` and `send_mail` too. `e-mail` is `e`, `mail` and `email`; of writing without
    spaces, each two characters that follow each other are one."""
    for found in _WORD.findall(_CAMEL.sub(" ", text)):
        parts = found.lower().split("-")
        for part in [*parts, "".join(parts)] if len(parts) > 1 else parts:
            for at, piece in enumerate(_NO_SPACES.split(part)):
                if at % 2 and len(piece) > 1:
                    yield from (piece[begin : begin + 2] for begin in range(len(piece) - 1))
                elif piece:
                    yield piece


_STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be because been before being but by can cannot could did do does doing don done for
    from get give go going had has have having he her here him his how i if in into is it its just know let like ll make may me
    might more most must my need no not now of on one or our out over please re s shall she should so some something such t tell
    than thanks that the their them then there these they thing things this those to too up us use ve very want was way we were
    what when where whether which who whom whose why will with would yes you your
    """.split()  # noqa: SIM905 - one word a line would be longer than the module
)
"""Words that say nothing of what is asked for, in the language of most descriptions."""
