"""What a run came to in numbers: turns, calls, tokens, cost."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from msgspec import Struct

from agentsdk.core.state import State
from agentsdk.types.events import AttemptSpent, ModelReplied, ToolsIntended, unnested
from agentsdk.types.usage import Usage

Price = Callable[[Usage, str], Decimal | None]
"""What one reply of the model of that name cost in US dollars; None where that is not known."""


class RunTotals(Struct, frozen=True):
    """What a run and those nested in it took: model replies, tool calls that were begun, usage, and cost in US dollars.

    `cost` is None as soon as one reply of the run has no known price.
    """

    turns: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    cost: Decimal | None = Decimal(0)

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.usage.total_tokens


def total(state: State, price: Price) -> RunTotals:
    """The totals of a run, priced reply by reply: prices may rise with the length of a request."""
    begun: set[tuple[str, ...]] = set()
    cost: Decimal | None = Decimal(0)
    for path, event in map(unnested, state.log):
        if isinstance(event, ToolsIntended):
            begun |= {(*path, call_id) for call_id in event.call_ids}
        elif isinstance(event, ModelReplied | AttemptSpent) and cost is not None:
            # Of an attempt only that for a summary names its model.
            spent = event.response if isinstance(event, ModelReplied) else event
            paid = price(spent.usage, spent.model)
            cost = None if paid is None else cost + paid
    return RunTotals(state.all_turns, len(begun), state.usage, cost)
