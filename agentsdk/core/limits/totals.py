"""Usage totals of a run: turns, calls, tokens, cost."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Protocol, cast

from msgspec import Struct

from agentsdk.core.state import State
from agentsdk.types.events import AttemptSpent, ModelReplied, Nested, RunEvent, ToolsIntended, unnested
from agentsdk.types.tape import Tape
from agentsdk.types.usage import Usage


class Price(Protocol):
    """What a request to a model cost in US dollars; None where that is not known."""

    def __call__(self, usage: Usage, model: str, asked: str = "") -> Decimal | None:
        """The cost by the name that the reply gave the model, or else by the one it was asked by."""
        ...


class Costs:
    """What replies cost, and requests that brought none: a fold of a run's log, nested runs included.

    An attempt that names no model is paid for at the price of the reply it led to.
    """

    __slots__ = ("_attempts", "_is_whole", "_price", "paid", "unpriced")

    def __init__(self, price: Price) -> None:
        self.paid = Decimal(0)
        """The cost of what has a known price, in US dollars."""
        self.unpriced: set[str] = set()
        """The models of what has none."""
        self._price = price
        self._is_whole = True
        self._attempts: dict[tuple[str, ...], list[Usage]] = {}

    @property
    def total(self) -> Decimal | None:
        """What all cost, in US dollars; None where the price of a part is not known, or how much it used."""
        return self.paid if self._is_whole and not self._attempts else None

    def feed(self, events: Iterable[RunEvent]) -> None:
        """Add up the log's next events. O(events)."""
        for event in events:
            kind = type(event)
            if kind is Nested:
                path, inner = unnested(event)
                if isinstance(inner, ModelReplied | AttemptSpent):
                    self.add(path, inner)
            elif kind is ModelReplied or kind is AttemptSpent:  # with each append: isinstance would take most of its time
                self.add((), cast("ModelReplied | AttemptSpent", event))

    def add(self, path: tuple[str, ...], event: ModelReplied | AttemptSpent) -> None:
        """Add one event of the run that the calls in `path` lead to."""
        if isinstance(event, ModelReplied):
            response = event.response
            for usage in (*self._attempts.pop(path, ()), response.usage):
                self._pay(usage, response.model, event.asked)
        elif event.model or event.asked:
            self._pay(event.usage, event.model, event.asked)
        elif event.usage.total_tokens or not event.usage.known:
            self._attempts.setdefault(path, []).append(event.usage)

    def _pay(self, usage: Usage, model: str, asked: str) -> None:
        cost = self._price(usage, model, asked)
        if cost is not None:
            self.paid += cost
        elif usage.total_tokens or not usage.known:
            self.unpriced.add(model or asked)
            self._is_whole = False
        self._is_whole = self._is_whole and usage.known


def follow(log: Tape[RunEvent], price: Price) -> Costs:
    """The costs of all of `log`, kept beside it and read on from where they were read last. O(new events)."""
    known = log.derived.get(Costs)
    if not isinstance(known, _Followed) or known.price is not price:
        known = log.derived[Costs] = _Followed(price)
    return known.up_to(log)


def followed(log: Tape[RunEvent]) -> Decimal | None:
    """What `log` has cost, where somebody who knows the prices follows it; else None."""
    known = log.derived.get(Costs)
    return known.up_to(log).total if isinstance(known, _Followed) else None


class _Followed:
    """The costs of a log up to where they were `read`."""

    __slots__ = ("costs", "price", "read")

    def __init__(self, price: Price) -> None:
        self.costs = Costs(price)
        self.price = price
        self.read = 0

    def up_to(self, log: Tape[RunEvent]) -> Costs:
        """The costs of all of `log`: read on, or anew where it is shorter."""
        end = len(log)
        if end < self.read:
            self.costs, self.read = Costs(self.price), 0
        if end > self.read:
            self.costs.feed(log.since(self.read))
            self.read = end
        return self.costs


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
    for path, event in map(unnested, state.log):
        if isinstance(event, ToolsIntended):
            begun |= {(*path, call_id) for call_id in event.call_ids}
    costs = Costs(price)
    costs.feed(state.log)
    return RunTotals(state.all_turns, len(begun), state.usage, costs.total)
