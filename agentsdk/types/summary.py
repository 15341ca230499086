"""Summaries of stored runs, known without reading their logs: `RunSummary`, and `RunQuery` to find runs by it."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, get_args

from msgspec import Struct

from agentsdk.types.declared import Fields, a, any_text, number, one_of, optional, shown, whole
from agentsdk.types.errors import UserError

RunStatus = Literal["running", "waiting", "finished", "stopped"]
"""`running`: in work, or left by a process that died (its `held_until` has passed then). `waiting`: for a person. `finished`:
with a final output. `stopped`: by an error, a limit or a cancellation, which `reason` names; without a reason it was forked,
decided on, or stopped by `cancel("after_turn")`, and has not been resumed since."""

MAX_RUN_ID_CHARS = 200


class RunSummary(Struct, frozen=True, kw_only=True):
    """The row a store keeps beside a run's log, replaced with every append.

    `rev` is the number of events in the log. Times are Unix timestamps. `owner` worked on the run last, and alone may append
    until `held_until`. `waiting` counts the calls that wait for a person. `agent` is the agent whose turn it is, `first_agent`
    the one that the run began with and is resumed with; `""` in a run whose last append was by a version that did not say so.
    `reason` is what stopped the run, the name of an error's class or `CancelledError`, or else the kind of the limit that it
    stopped at or that its final output was given at. `forked_from` is the run this one was
    forked from. `paid` is `cost` as text, which stays exact in every store; `""` where that is not known.
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

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> Decimal | None:
        """What the run has cost in US dollars, nested runs included; None where that is not known, as in `RunResult.cost`."""
        return Decimal(self.paid) if self.paid else None

    def refuses(self, owner: str, now: float) -> bool:
        """Whether another one than `owner` holds the run at `now`."""
        return owner != self.owner and self.held_until > now


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs `RunStore.list` gives: those that fit every field given, the latest started first.

    `abandoned_at`: runs in work that nobody holds any more at that time; resume them. `after` is the last summary of the page
    before. Raises `UserError` for a `limit` below 1, and for a field of another type.
    """

    status: RunStatus | None = None
    agent: str | None = None
    started_after: float | None = None
    started_before: float | None = None
    min_tokens: int | None = None
    abandoned_at: float | None = None
    limit: int = 100
    after: RunSummary | None = None

    def __post_init__(self) -> None:
        _QUERY.check(self)

    def fits(self, summary: RunSummary) -> bool:
        """Whether a run belongs to the answer, its page aside."""
        after = self.after
        return (
            (self.status is None or summary.status == self.status)
            and (self.agent is None or summary.agent == self.agent)
            and (self.started_after is None or summary.started_at >= self.started_after)
            and (self.started_before is None or summary.started_at < self.started_before)
            and (self.min_tokens is None or summary.tokens >= self.min_tokens)
            and (self.abandoned_at is None or (summary.status == "running" and summary.held_until <= self.abandoned_at))
            and (after is None or (summary.started_at, summary.run_id) < (after.started_at, after.run_id))
        )


_TIME = optional(number("a finite Unix timestamp in seconds"))
_QUERY = Fields(
    "RunQuery",
    status=optional(one_of(f"one of {get_args(RunStatus)}", get_args(RunStatus))),
    agent=optional(any_text("a str; give the agent's name")),
    started_after=_TIME,
    started_before=_TIME,
    min_tokens=optional(whole("a whole number")),
    abandoned_at=_TIME,
    limit=whole("at least 1; ask for a page of 100", 1),
    after=optional(a(RunSummary, "a RunSummary; pass the last one of the page before")),
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
