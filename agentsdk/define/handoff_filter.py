"""What a handoff's `input_filter` receives and returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from agentsdk.types.items import Item


@dataclass(frozen=True, slots=True)
class HandoffInputData:
    """What a filter may change: the conversation that the next agent will see, in three stretches.

    `input_history` is the run's input, `pre_handoff_items` what followed it before this turn, `new_items` this turn's items,
    the handoff's own call and result among them. The run's log keeps the original whatever a filter returns.
    """

    input_history: tuple[Item, ...]
    pre_handoff_items: tuple[Item, ...]
    new_items: tuple[Item, ...]

    def clone(self, **changes: tuple[Item, ...]) -> HandoffInputData:
        """A copy with some stretches replaced."""
        return replace(self, **changes)


HandoffInputFilter = Callable[[HandoffInputData], "HandoffInputData | Awaitable[HandoffInputData]"]
