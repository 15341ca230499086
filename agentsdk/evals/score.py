"""`Score`: what a scorer says of a run; `Scorer`: a function that says it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from msgspec import Struct

from agentsdk.evals.case import CaseInput, CaseOutput, CaseRun
from agentsdk.types.declared import FLAG, Expected, Fields, any_text, is_real, number, optional, shown
from agentsdk.types.errors import UserError

_VALUE = number("a finite number")
_COST = optional(Expected("a Decimal of US dollars, 0 or more", lambda value: isinstance(value, Decimal) and value >= 0))


class Score(Struct, frozen=True):
    """What a scorer says of a run: a `value` (from 0 to 1, or seconds, say), and whether the run has `passed` by it.

    `passed` is None where it is only measured. `reason` says why, for who reads the report. `cost`: what it took to find out,
    in US dollars. Raises `UserError` for fields of wrong types, and for a value that is no finite number.
    """

    value: float
    passed: bool | None = None
    reason: str = ""
    cost: Decimal | None = None

    def __post_init__(self) -> None:
        _FIELDS.check(self)


_FIELDS = Fields("Score", value=_VALUE, passed=optional(FLAG), reason=any_text("a str; say why"), cost=_COST)

Said = bool | float | Score
"""What a scorer returns: whether the run has passed, a measured value, or both."""

Scorer = Callable[[CaseRun[CaseInput, CaseOutput]], Said | Awaitable[Said]]
"""Scores one run of a case. Sync or async; named in the report as the function."""


def scorers_by_name(given: Sequence[Scorer[Any, Any]] | Mapping[str, Scorer[Any, Any]]) -> dict[str, Scorer[Any, Any]]:
    """The scorers by their names. Raises `UserError` for none, for what is none, and for two of one name."""
    pairs: list[tuple[object, object]]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        pairs = [(getattr(one, "__name__", type(one).__name__), one) for one in given]
    else:
        raise UserError(f"evaluate was given scorers of type {type(given).__name__!r}, expected a list or a dict of functions")
    named: dict[str, Scorer[Any, Any]] = {}
    for name, scorer in pairs:
        if not callable(scorer) or not isinstance(name, str):
            raise UserError(
                f"evaluate was given the scorer {shown(scorer)}, expected a function of a CaseRun; pass equals(), say"
            )
        if name in named:
            raise UserError(f"two scorers are named {name!r}, expected names of their own; pass a dict: {{'name': scorer}}")
        named[name] = cast("Scorer[Any, Any]", scorer)
    if not named:
        raise UserError("evaluate was given no scorers, expected one at least; pass equals(), say")
    return named


async def score_of(scorer: Scorer[Any, Any], run: CaseRun[Any, Any]) -> Score:
    """What a scorer says of a run. Raises what it raises, and `UserError` for what is no score."""
    said: object = scorer(run)
    if inspect.isawaitable(said):
        said = await cast("Awaitable[object]", said)
    if isinstance(said, Score):
        return said
    if isinstance(said, bool):
        return Score(float(said), said)
    if is_real(said):
        return Score(float(cast(float, said)))
    raise UserError(f"the scorer returned {shown(said)}, expected True, False, a finite number or a Score; return one")
