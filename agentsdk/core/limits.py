"""Limits of a run, and the pure check of them."""

from __future__ import annotations

from msgspec import Struct

from agentsdk.core.state import State
from agentsdk.types.errors import LimitReached, MaxTurnsExceeded, UserError


class RunLimits(Struct, frozen=True, kw_only=True):
    """What a run may use, nested runs included.

    `turns`: model replies (20 by default, None for no limit). Raises `UserError` when it is below 1.
    """

    turns: int | None = 20

    def __post_init__(self) -> None:
        if self.turns is not None and self.turns < 1:
            raise UserError(f"RunLimits(turns={self.turns!r}), expected at least 1 or None; give the run a turn")


def reached(limits: RunLimits, state: State, reserved: int = 0) -> LimitReached | None:
    """The limit that forbids asking the model once more, or None. `reserved` replies are being asked for already."""
    if limits.turns is not None and state.all_turns + reserved >= limits.turns:
        return MaxTurnsExceeded(
            f"run of agent {state.first_agent!r} took {state.all_turns} turns without a final output, expected at most "
            f"{limits.turns}; resume error.state with a higher max_turns, or handle it with error_handlers={{'max_turns': ...}}"
        )
    return None
