"""`RunLimits`: what a run may use, and the warnings and errors when that is used up."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, cast, get_args

from msgspec import Struct

from agentsdk.core.state import State
from agentsdk.types.declared import is_real, is_whole, shown
from agentsdk.types.errors import (
    ConsecutiveErrorsExceededError,
    CostLimitExceededError,
    DeadlineExceededError,
    LimitExceededError,
    LimitKind,
    MaxTurnsExceeded,
    NoProgressError,
    Number,
    RepeatedCallsError,
    RequestLimitExceededError,
    TokenLimitExceededError,
    ToolCallLimitExceededError,
    UserError,
)
from agentsdk.types.events import LimitRaised
from agentsdk.types.misnamed import meant_for_limits, says_what_is_meant


@says_what_is_meant(meant_for_limits)
@dataclass(frozen=True, kw_only=True, slots=True)
class RunLimits:
    """What a run may use, nested runs and earlier parts of a resumed run included. None is no limit.

    Spending: `turns` (replies of the model), `requests`, `input_tokens`, `output_tokens`, `tokens` (both together), `cost` (US
    dollars: a `Decimal`, an int, or text as in `"2.50"`), `tool_calls`, and `calls_per_tool` by the tool's name.

    Time, in seconds: `deadline` by the wall clock, `active_time` without waits for rate limits.

    Being stuck, in turns running: `consecutive_errors` in which every call failed, `repeated_rounds` of the same calls with the
    same results (rounds, of 1 to 4 turns each), `no_progress` that brought nothing new.

    `output_tokens_per_request` are reserved for each reply, and sent as its cap, where a limit on tokens or cost stands and the
    agent sets no `max_tokens`. `reserved_output_tokens` are kept back for the last answer of `on_limit`. A warning is given
    once the fraction `warn_at` of a limit is used. Raises `UserError` naming the field that is wrong.
    """

    turns: int | None = 20
    requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    tokens: int | None = None
    cost: Decimal | int | str | None = None
    deadline: float | None = None
    active_time: float | None = None
    tool_calls: int | None = None
    calls_per_tool: Mapping[str, int] = field(default_factory=dict[str, int])
    consecutive_errors: int | None = 3
    repeated_rounds: int | None = 3
    no_progress: int | None = None
    output_tokens_per_request: int = 4096
    reserved_output_tokens: int = 1024
    warn_at: float = 0.8

    def __post_init__(self) -> None:
        for name, least in _COUNTS.items():
            _check_count(name, getattr(self, name), least, required=name in _REQUIRED)
        for name in ("deadline", "active_time"):
            seconds = getattr(self, name)
            if type(seconds) is int and seconds > _AGES:
                object.__setattr__(self, name, seconds := _AGES)  # clocks count in floats, which end somewhere
            if seconds is not None and not (is_real(seconds) and seconds > 0):
                raise _wrong(name, seconds, "finite seconds above 0, or None")
        if not (is_real(self.warn_at) and 0 < self.warn_at <= 1):
            raise _wrong("warn_at", self.warn_at, "a fraction above 0, at most 1")
        object.__setattr__(self, "cost", _dollars(self.cost))
        per_tool: object = self.calls_per_tool
        if not isinstance(per_tool, Mapping):
            raise _wrong("calls_per_tool", per_tool, "a mapping of tool names to counts")
        for name, count in self.calls_per_tool.items():
            if not isinstance(cast(object, name), str):
                raise _wrong("calls_per_tool", per_tool, "a mapping of tool names to counts")
            _check_count(f"calls_per_tool[{name!r}]", count, 1, required=True)
        object.__setattr__(self, "calls_per_tool", dict(self.calls_per_tool))

    def with_value(self, name: str, value: object) -> RunLimits:
        """These limits with another value of one field. Raises `UserError` for one that is wrong."""
        changed: dict[str, Any] = {name: value}
        return dataclasses.replace(self, **changed)

    def raised(self, kind: LimitKind, value: Number | str | Mapping[str, int] | None) -> RunLimits:
        """These limits with a higher one, or None for no limit of this kind. Counts per tool are added to those there are.

        Raises `UserError` for a kind there is not, and for a value that does not raise the limit.
        """
        if not isinstance(cast(object, kind), str) or kind not in get_args(LimitKind):
            raise UserError(f"there is no limit {shown(kind)}, expected one of {get_args(LimitKind)}")
        if kind == "calls_per_tool":
            given: object = value
            per_tool = {} if given is None else {**self.calls_per_tool, **given} if isinstance(given, Mapping) else given
            limits = self.with_value(kind, per_tool)
            lower = any(limits.calls_per_tool.get(name, count) < count for name, count in self.calls_per_tool.items())
        else:
            limits = self.with_value(kind, value)
            before, after = getattr(self, kind), getattr(limits, kind)
            lower = after is not None and (before is None or after <= before)
        if lower:
            raise UserError(
                f"limit {kind!r} was to be raised to {value!r}, expected more than {getattr(self, kind)!r}; "
                "give less to a new run only"
            )
        return limits


_AGES = 10**18
_COUNTS: Mapping[str, int] = {
    **dict.fromkeys(("turns", "requests", "input_tokens", "output_tokens", "tokens", "tool_calls"), 1),
    **dict.fromkeys(("consecutive_errors", "no_progress", "output_tokens_per_request", "reserved_output_tokens"), 1),
    "repeated_rounds": 2,
}
_REQUIRED = ("output_tokens_per_request", "reserved_output_tokens")


def _check_count(field: str, value: object, least: int, *, required: bool) -> None:
    if value is None and not required:
        return
    if not is_whole(value, least):
        raise _wrong(field, value, f"at least {least}" + ("" if required else " or None"))


def _dollars(value: object) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, float):
        raise UserError(
            f"RunLimits(cost={value!r}), expected a Decimal, an int or text, as a float is not exact; write cost={str(value)!r}"
        )
    if isinstance(value, Decimal | int | str) and not isinstance(value, bool):
        try:
            dollars = Decimal(value)
        except InvalidOperation:
            dollars = Decimal("nan")
        if dollars.is_finite() and dollars > 0:
            return dollars
    raise _wrong("cost", value, "US dollars above 0, or None")


def _wrong(field: str, value: object, expected: str) -> UserError:
    return UserError(f"RunLimits({field}={shown(value)}), expected {expected}; give the run room, or leave the limit out")


class Reached(Struct, frozen=True):
    """A limit that forbids what comes next: `used` of `limit` is gone, and `asked` more would be needed.

    `what` names the tool of `calls_per_tool`, or the calls that repeat. `limits` is the object whose limit it is: this run's,
    that of one it is nested in, or of a scope around them.
    """

    kind: LimitKind
    used: Number
    limit: Number
    limits: RunLimits
    asked: Number = 0
    what: str = ""


def limit_error(reached: Reached, agent: str) -> LimitExceededError:
    """What is raised for a limit that the run of `agent` reached."""
    kind, limit = reached.kind, reached.limit
    error, done, expected = _WORDS[kind]
    used = f"run of agent {agent!r} {done.format(used=reached.used, what=reached.what)}"
    more = f" and needs {reached.asked} more" if reached.asked and kind not in ("turns", "requests") else ""
    remedy = f"resume error.state with limits.raised({kind!r}, ...)"
    if kind == "turns":
        remedy = "resume error.state with a higher max_turns, or handle it with error_handlers={'max_turns': ...}"
    elif kind == "repeated_rounds":
        remedy += ", or declare a tool that is there to be called again with polling=True"
    return error(f"{used}{more}, expected {expected.format(limit=limit)}; {remedy}", kind=kind, used=reached.used, limit=limit)


_AT_MOST, _FEWER = "at most {limit}", "fewer than {limit}"
_WORDS: Mapping[LimitKind, tuple[type[LimitExceededError], str, str]] = {
    "turns": (MaxTurnsExceeded, "took {used} turns without a final output", _AT_MOST),
    "requests": (RequestLimitExceededError, "made {used} requests", _AT_MOST),
    "input_tokens": (TokenLimitExceededError, "used {used} input tokens", _AT_MOST),
    "output_tokens": (TokenLimitExceededError, "used {used} output tokens", _AT_MOST),
    "tokens": (TokenLimitExceededError, "used {used} tokens", _AT_MOST),
    "cost": (CostLimitExceededError, "cost {used} US dollars", _AT_MOST),
    "deadline": (DeadlineExceededError, "ran for {used:g} seconds", "at most {limit:g}"),
    "active_time": (DeadlineExceededError, "worked for {used:g} seconds, waits for rate limits aside", "at most {limit:g}"),
    "tool_calls": (ToolCallLimitExceededError, "made {used} tool calls", _AT_MOST),
    "calls_per_tool": (ToolCallLimitExceededError, "called tool {what!r} {used} times", _AT_MOST),
    "consecutive_errors": (ConsecutiveErrorsExceededError, "took {used} turns running in which every call failed", _FEWER),
    "repeated_rounds": (RepeatedCallsError, "called {what} {used} times running with the same results", _FEWER),
    "no_progress": (NoProgressError, "took {used} turns running that brought nothing new", _FEWER),
}


def turns_reached(limits: RunLimits, state: State, reserved: int = 0) -> Reached | None:
    """The turn limit, if it forbids one more reply. `reserved` replies are being asked for already."""
    if limits.turns is not None and state.all_turns + reserved >= limits.turns:
        return Reached("turns", state.all_turns, limits.turns, limits)
    return None


def with_raised(limits: RunLimits, raised: Sequence[LimitRaised]) -> RunLimits:
    """The limits of a run of which a person raised some: where what they allowed is more, it counts."""
    for event in raised:
        allowed = allowed_number(event.limit, event.allowed)
        present = getattr(limits, event.limit)
        if present is not None and (allowed is None or allowed > present):
            limits = limits.with_value(event.limit, allowed)
    return limits


def allowed_number(kind: str, text: str | None) -> Number | None:
    """A limit as the number it is, from its text. Raises `UserError` for a kind that is not one number, or another text."""
    if not isinstance(cast(object, kind), str) or kind not in get_args(LimitKind) or kind == "calls_per_tool":
        raise UserError(
            f"limit {shown(kind)} cannot be raised so, expected a limit that is one number; give the run other limits"
        )
    if text is None:
        return None
    try:
        number: Number = Decimal(text) if kind == "cost" else float(text) if kind in ("deadline", "active_time") else int(text)
    except (ValueError, InvalidOperation):
        raise UserError(f"limit {kind!r} was to be raised to {text!r}, expected a number; give 40, or '2.50'") from None
    checked: Number = getattr(RunLimits().with_value(kind, number), kind)
    return checked


DEFAULT_LIMITS = RunLimits()
"""Those of a run that is given none: the one object, so that they can be told apart at once."""
