"""Summaries of stored runs, known without reading their logs: `RunSummary`, and `RunQuery` to find runs by it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from agentsdk.types.declared import (
    Expected,
    Fields,
    any_text,
    mapping_of,
    number,
    one_of,
    optional,
    sequence_of,
    shown,
    whole,
)
from agentsdk.types.errors import UserError

RunStatus = Literal["running", "waiting", "ready", "finished", "failed", "cancelled"]
"""What can be done with a run. docs/durability.md draws how one follows another.

`running`: in work, or left by a process that died (its `held_until` has passed then). `waiting`: for a person, an answer, a
limit that somebody raises, or a time; or it is paused. `ready`: it could go on now, but nobody works on it: submitted, decided,
signalled, or handed back by a process that was stopped. `finished`: with a final output. `failed`: by the error that `reason`
names. `cancelled`: somebody said so. A run that has failed or is cancelled can be gone on with by who asks for it.
"""

Phase = Literal["prepare", "ask", "act", "judge", ""]
"""What a run in work is at: before the model's reply (`ask` while it is tried again), its calls, or what follows them."""

OPEN_STATUSES: tuple[RunStatus, ...] = ("waiting", "failed")
"""The statuses of a run that a signal makes ready."""

MAX_RUN_ID_CHARS = 200


class RunSummary(Struct, frozen=True, kw_only=True):
    """The row a store keeps beside a run's log, replaced with every append.

    `rev` is the number of events in the log. Times are Unix timestamps. `owner` worked on the run last, and alone may append
    until `held_until`. `waiting` counts the calls that wait for a person or an answer: 0 in a run that only waits for a time.
    `agent` is the agent whose turn it is, `first_agent` the one that the run began with and is resumed with; `""` in a run
    whose last append was by a version that did not say so. `reason` is what stopped the run, the name of an error's class or
    `CancelledError`, or else the kind of the limit that it stopped at or that its final output was given at; `error` is that
    error's message, shortened. `forked_from` is the run this one was forked from. `paid` is `cost` as text, which stays exact
    in every store; `""` where that is not known.

    `due_at`: when a worker may take the run, 0 where none may; the time at which its lease passes, its time comes, or the wait
    for an answer is over. Of those that are due, the highest `priority` is taken first. `metadata` is what `RunConfig.metadata`
    gave. `elapsed` counts the seconds in which it was in work, `ended_at` is 0 where it goes on.

    `signals` counts what was ever posted to the run's mailbox; only the store counts it. `taken` is how many of these the log
    has recorded.
    """

    run_id: str
    rev: int
    status: RunStatus
    agent: str
    started_at: float
    updated_at: float
    turns: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    waiting: int = 0
    reason: str = ""
    forked_from: str = ""
    owner: str = ""
    held_until: float = 0.0
    first_agent: str = ""
    paid: str = ""
    phase: Phase = ""
    error: str = ""
    due_at: float = 0.0
    priority: int = 0
    elapsed: float = 0.0
    ended_at: float = 0.0
    taken: int = 0
    signals: int = 0
    metadata: dict[str, str] = {}

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> Decimal | None:
        """What the run has cost in US dollars, nested runs included; None where that is not known, as in `RunResult.cost`."""
        return Decimal(self.paid) if self.paid else None

    @property
    def is_over(self) -> bool:
        """Whether it takes no signal any more."""
        return self.status in ("finished", "cancelled")

    @property
    def cursor(self) -> str:
        """The run's place in a listing, as text: `RunQuery(after=cursor)` lists what comes after it."""
        return f"{self.started_at!r} {self.run_id}"

    def beside(self, signals: int) -> RunSummary:
        """The summary as it stands once `signals` have been posted: with one that nobody has taken, the run is ready."""
        if signals > self.taken and self.status in OPEN_STATUSES:
            return replace(self, signals=signals, status="ready", due_at=self.updated_at)
        return self if signals == self.signals else replace(self, signals=signals)

    def refuses(self, owner: str, now: float) -> bool:
        """Whether another one than `owner` holds the run at `now`."""
        return owner != self.owner and self.held_until > now


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs `RunStore.list` gives: those that fit every field given, the latest started first.

    `abandoned_at`: runs in work that nobody holds any more at that time; resume them. `metadata`: every pair must be the
    run's too. `after` is the last summary of the page before, or its `cursor`. Raises `UserError` for a `limit` below 1, for a
    field of another type and a text that is no cursor.
    """

    status: RunStatus | None = None
    agent: str | None = None
    started_after: float | None = None
    started_before: float | None = None
    min_tokens: int | None = None
    abandoned_at: float | None = None
    metadata: Mapping[str, str] = {}
    limit: int = 100
    after: RunSummary | str | None = None

    def __post_init__(self) -> None:
        _QUERY.check(self)

    @property
    def before(self) -> tuple[float, str] | None:
        """`started_at` and `run_id` of the last one on the page before."""
        if isinstance(self.after, RunSummary):
            return self.after.started_at, self.after.run_id
        return None if self.after is None else _place(self.after)

    def fits(self, summary: RunSummary) -> bool:
        """Whether a run belongs to the answer, its page aside."""
        before = self.before
        return (
            (self.status is None or summary.status == self.status)
            and (self.agent is None or summary.agent == self.agent)
            and (self.started_after is None or summary.started_at >= self.started_after)
            and (self.started_before is None or summary.started_at < self.started_before)
            and (self.min_tokens is None or summary.tokens >= self.min_tokens)
            and (self.abandoned_at is None or (summary.status == "running" and summary.held_until <= self.abandoned_at))
            and all(summary.metadata.get(name) == value for name, value in self.metadata.items())
            and (before is None or (summary.started_at, summary.run_id) < before)
        )


class DueRuns(Struct, frozen=True, kw_only=True):
    """Which runs `RunStore.due` gives: those due at `at` (a Unix timestamp in seconds), the highest priority first, then the
    one that has been due longest, then by run id.

    `agents`: only those that began with one of these; None for all. Raises `UserError` for a field of another type.
    """

    at: float
    agents: Sequence[str] | None = None
    limit: int = 100

    def __post_init__(self) -> None:
        _DUE.check(self)

    def fits(self, summary: RunSummary) -> bool:
        """Whether a run is due."""
        return 0 < summary.due_at <= self.at and (self.agents is None or summary.first_agent in self.agents)

    @staticmethod
    def order(summary: RunSummary) -> tuple[int, float, str]:
        """What due runs are sorted by."""
        return -summary.priority, summary.due_at, summary.run_id


def _place(cursor: str) -> tuple[float, str]:
    """What a cursor says. Raises `ValueError` for a text that is none."""
    started_at, _, run_id = cursor.partition(" ")
    return float(started_at), check_run_id(run_id)


def _is_after(value: object) -> bool:
    if not isinstance(value, str):
        return isinstance(value, RunSummary)
    try:
        return math.isfinite(_place(value)[0])
    except (ValueError, UserError):
        return False


_LIMIT = whole("at least 1; ask for a page of 100", 1)
_TIME = optional(number("a finite Unix timestamp in seconds; write moment.timestamp()"))
_QUERY = Fields(
    "RunQuery",
    status=optional(one_of(f"one of {get_args(RunStatus)}", get_args(RunStatus))),
    agent=optional(any_text("a str; give the agent's name")),
    started_after=_TIME,
    started_before=_TIME,
    min_tokens=optional(whole("a whole number")),
    abandoned_at=_TIME,
    metadata=mapping_of(any_text(""), "a dict of texts; write {'user': 'ada'}"),
    limit=_LIMIT,
    after=optional(Expected("the last RunSummary of the page before, or its cursor", _is_after)),
)
_DUE = Fields(
    "DueRuns",
    at=number("a finite Unix timestamp in seconds; write moment.timestamp()"),
    agents=optional(sequence_of(any_text("an agent's name"), "a list or tuple of agents' names")),
    limit=_LIMIT,
)


def check_run_id(run_id: str) -> str:
    """`run_id`, if every store can keep it. Any text is safe: it is a value, never part of a path or a statement.

    Raises `UserError` for one that is empty, longer than 200 characters, or holds NUL, a lone surrogate or no text at all.
    """
    given: object = run_id
    if not isinstance(given, str) or not 0 < len(given) <= MAX_RUN_ID_CHARS:
        what = f"{len(given)} characters" if isinstance(given, str) else type(given).__name__
        raise UserError(f"run_id is {what}, expected a text of 1 to {MAX_RUN_ID_CHARS} characters; shorten it")
    if "\0" in given or any("\ud800" <= char <= "\udfff" for char in given):
        raise UserError(f"run_id is {shown(run_id)}, expected text without NUL and lone surrogates; choose another")
    return run_id


ALL_RUNS = RunQuery()
"""What a store lists unless told otherwise: the latest runs, of any kind."""
