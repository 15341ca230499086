"""Budgets: what a run may still spend, reserved before it is spent, so that concurrent runs cannot overshoot together.

```
budget.ask(...) -> Grant      the request may be sent, with that output cap; settle or release it afterwards
                 | Wait       it would fit, were it not for what others have reserved: ask again once one of them settles
                 | Reached    it would not fit even alone
```
Budgets nest: what a run asks of its own must be granted by those around it too, all or nothing. Nothing here waits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Literal, cast

from msgspec import Struct, structs

from agentsdk.core.limits.run_limits import Reached, RunLimits
from agentsdk.types.errors import LimitKind, Number, UserError

LEAST_REPLY_TOKENS = 128
"""The least output worth asking for: room for a call or a short answer. An agent's own `max_tokens` may be less."""

RequestPrice = Callable[[int, int], Decimal]
"""The most that a request of that many input and output tokens costs, in US dollars."""

_Spending = Literal["turns", "requests", "input_tokens", "output_tokens", "tokens", "cost"]
_SPENDING: Sequence[_Spending] = ("turns", "requests", "input_tokens", "output_tokens", "tokens", "cost")
_COUNTED = ("turns", "requests")
_BY_OUTPUT = ("output_tokens", "tokens", "cost")
_BY_TOKENS = ("input_tokens", *_BY_OUTPUT)


class Amount(Struct, frozen=True, gc=False):
    """What is spent or reserved. `cost` is in US dollars; `calls` are the tool calls by the tool's name."""

    turns: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    calls: Mapping[str, int] = {}

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def tool_calls(self) -> int:
        """The tool calls in all."""
        return sum(self.calls.values())

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.turns + other.turns,
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            _added(self.calls, other.calls, 1) if other.calls else self.calls,
        )

    def __sub__(self, other: Amount) -> Amount:
        return Amount(
            self.turns - other.turns,
            self.requests - other.requests,
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cost - other.cost,
            _added(self.calls, other.calls, -1) if other.calls else self.calls,
        )


def _added(calls: Mapping[str, int], others: Mapping[str, int], sign: int) -> Mapping[str, int]:
    counts = {name: calls.get(name, 0) + sign * others.get(name, 0) for name in {**calls, **others}}
    return {name: count for name, count in counts.items() if count}


NOTHING = Amount()


class Grant(Struct):
    """A reservation of `reserved`, until it is settled or released. `output_cap` is to be sent along; None is no cap."""

    reserved: Amount
    output_cap: int | None = None
    is_open: bool = True


class Wait(Struct, frozen=True):
    """The request would fit, were it not for what others have reserved."""


WAIT = Wait()


class Near(Struct, frozen=True):
    """A limit of which `RunLimits.warn_at` is used. `tool` names the one of `calls_per_tool`."""

    kind: LimitKind
    used: Number
    limit: Number
    tool: str = ""


class Budget:
    """What is spent of some limits, and what is reserved. `within` is the budget around it: a parent run's, or a scope's.

    `last_on_top`: the turn and the request of a last answer are not kept back, but may pass these limits.
    """

    __slots__ = (
        "_caps",
        "_kept",
        "_last_caps",
        "_last_on_top",
        "_limits_calls",
        "_outer",
        "_spending",
        "_unwarned",
        "counts_cost",
        "limits",
        "reserved",
        "spent",
    )

    def __init__(
        self, limits: RunLimits, spent: Amount = NOTHING, within: Budget | None = None, *, last_on_top: bool = False
    ) -> None:
        self.limits = limits
        self.spent = spent
        self.reserved = NOTHING
        self._outer: tuple[Budget, ...] = () if within is None else within._chain
        self._spending: list[tuple[_Spending, int | Decimal]] = [
            (kind, limit) for kind in _SPENDING if (limit := cast("int | Decimal | None", getattr(limits, kind))) is not None
        ]
        capping = [budget.limits for budget in self._chain if any(kind in _BY_OUTPUT for kind, _ in budget._spending)]
        self._caps = [limits.output_tokens_per_request for limits in capping]
        self._last_caps = [limits.reserved_output_tokens for limits in capping]
        self.counts_cost = any(limits.cost is not None for limits in capping)
        """Whether it matters what a request costs."""
        self._limits_calls = any(b.limits.tool_calls is not None or b.limits.calls_per_tool for b in self._chain)
        self._kept = NOTHING
        self._last_on_top = last_on_top
        share = Decimal(str(limits.warn_at))
        per_tool = [("calls_per_tool", limit, name) for name, limit in limits.calls_per_tool.items()]
        calls = [] if limits.tool_calls is None else [("tool_calls", limits.tool_calls, "")]
        self._unwarned = [
            (Near(cast(LimitKind, kind), 0, limit, tool), limit * share)
            for kind, limit, tool in [*((kind, limit, "") for kind, limit in self._spending), *calls, *per_tool]
        ]
        self.near()  # of what was spent before, the warning was given before

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how many tokens a request has."""
        return any(kind in _BY_TOKENS for budget in self._chain for kind, _ in budget._spending)

    @property
    def _chain(self) -> tuple[Budget, ...]:
        return (self, *self._outer)

    def has_limit(self, kind: LimitKind, limit: Number) -> bool:
        """Whether a limit on spending of that kind and height stands here, or around it."""
        if kind == "calls_per_tool":
            return any(limit in budget.limits.calls_per_tool.values() for budget in self._chain)
        return kind in (*_SPENDING, "tool_calls") and any(getattr(budget.limits, kind) == limit for budget in self._chain)

    def ask(
        self, input_tokens: int, max_tokens: int | None, price: RequestPrice | None = None, *, is_last: bool = False
    ) -> Grant | Wait | Reached:
        """A reservation for one request of `input_tokens` whose reply becomes a turn.

        Where tokens or cost are limited the reply is capped: at `max_tokens`, or else `output_tokens_per_request`
        (`reserved_output_tokens` when it `is_last`), and at what is left beside the reservations of others. With less than
        `LEAST_REPLY_TOKENS` nothing is granted. Only the last request may spend what `keep_back` kept. Raises `UserError` where
        cost is limited and there is no `price`.
        """
        chain = self._chain
        caps = self._last_caps if is_last else self._caps
        if self.counts_cost and price is None:
            raise UserError(
                "a limit on cost stands, expected a price for the model; give it with prices=... (the extra 'prices' knows "
                "those of public models), or lift the limit"
            )

        def need(output_tokens: int) -> Amount:
            cost = price(input_tokens, output_tokens) if self.counts_cost and price is not None else _FREE
            return Amount(1, 1, input_tokens, output_tokens, cost)

        def is_too_much(output_tokens: int) -> bool:
            amount = need(output_tokens)
            return any(budget._blocked(amount, is_last) is not None for budget in chain)

        wanted = 0 if not caps else min(caps) if max_tokens is None else max_tokens
        least = min(LEAST_REPLY_TOKENS, wanted)
        amount = need(least)
        blocked = [answer for budget in chain if (answer := budget._blocked(amount, is_last)) is not None]
        if blocked:
            return next((answer for answer in blocked if isinstance(answer, Reached)), WAIT)
        if not caps:
            return self._granted(Grant(amount))
        cap = wanted
        if is_too_much(wanted):
            cap = least - 1 + bisect_left(range(least, wanted), True, key=is_too_much)
        return self._granted(Grant(need(cap), cap))

    def call_tools(self, names: Sequence[str]) -> Grant | Reached:
        """A reservation for a turn's calls, all of them or none: their results are one answer to the model.

        Calls are neither reserved nor counted where no limit on them stands.
        """
        if not self._limits_calls:
            return Grant(NOTHING, is_open=False)
        calls: dict[str, int] = {}
        for name in names:
            calls[name] = calls.get(name, 0) + 1
        for budget in self._chain:
            limits = budget.limits
            if limits.tool_calls is not None:
                used = budget.spent.tool_calls + budget.reserved.tool_calls
                if used + len(names) > limits.tool_calls:
                    return Reached("tool_calls", used, limits.tool_calls, limits, len(names))
            for name in limits.calls_per_tool.keys() & calls.keys():
                used = budget.spent.calls.get(name, 0) + budget.reserved.calls.get(name, 0)
                if used + calls[name] > limits.calls_per_tool[name]:
                    return Reached("calls_per_tool", used, limits.calls_per_tool[name], limits, calls[name], name)
        return self._granted(Grant(Amount(calls=calls)))

    def settle(self, grant: Grant, used: Amount) -> None:
        """What was reserved is free again, and `used` is spent: `grant.reserved` itself where the provider left its usage out.

        A grant counts once: settled again, nothing happens.
        """
        if grant.is_open:
            grant.is_open = False
            for budget in self._chain:
                budget.reserved -= grant.reserved
                budget.spent += used

    def release(self, grant: Grant) -> None:
        """What was reserved is free again, unless the grant is settled."""
        self.settle(grant, NOTHING)

    def keep_back(self, input_tokens: int, price: RequestPrice | None = None) -> None:
        """Keep room for one last request of that much input and `reserved_output_tokens` out of every later grant."""
        output_tokens = self.limits.reserved_output_tokens
        cost = _FREE if price is None else price(input_tokens, output_tokens)
        count = 0 if self._last_on_top else 1
        self._kept = Amount(count, count, input_tokens, output_tokens, cost)

    def near(self) -> list[Near]:
        """The limits of which `warn_at` is used by now: each is given once."""
        passed = [(entry, self._used_of(entry[0])) for entry in self._unwarned if self._used_of(entry[0]) >= entry[1]]
        for entry, _ in passed:
            self._unwarned.remove(entry)
        return [structs.replace(near, used=used) for (near, _), used in passed]

    def _used_of(self, near: Near) -> int | Decimal:
        return self.spent.calls.get(near.tool, 0) if near.tool else cast("int | Decimal", getattr(self.spent, near.kind))

    def _blocked(self, need: Amount, is_last: bool) -> Reached | Wait | None:
        """What stands in the way here, if anything does. What can never fit comes before what must wait."""
        waits: Wait | None = None
        kept = NOTHING if is_last else self._kept
        for kind, limit in self._spending:
            if is_last and self._last_on_top and kind in _COUNTED:
                continue
            used: int | Decimal = getattr(self.spent, kind)
            asked: int | Decimal = getattr(need, kind) + getattr(kept, kind)
            if used + asked > limit:
                return Reached(kind, used, limit, self.limits, asked)
            if used + asked + getattr(self.reserved, kind) > limit:
                waits = WAIT
        return waits

    def _granted(self, grant: Grant) -> Grant:
        for budget in self._chain:
            budget.reserved += grant.reserved
        return grant


_FREE = Decimal(0)
