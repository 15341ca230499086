"""Budgets: however concurrent runs ask, settle and release, they do not overshoot together, and none waits for ever."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentsdk.core.limits.budget import LEAST_REPLY_TOKENS, NOTHING, WAIT, Amount, Budget, Grant, Near, Wait
from agentsdk.core.limits.run_limits import Reached, RunLimits
from agentsdk.types.errors import UserError

CHILDREN = 16


def price(input_tokens: int, output_tokens: int) -> Decimal:
    return (input_tokens + 4 * output_tokens) * Decimal("0.001")


def granted(answer: Grant | Wait | Reached) -> Grant:
    assert isinstance(answer, Grant), answer
    return answer


def spent(budget: Budget, amount: Amount) -> Budget:
    budget.settle(granted(budget.ask(0, 1, price)), amount)
    return budget


def test_a_request_of_a_run_without_limits_has_no_cap() -> None:
    budget = Budget(RunLimits())
    grant = granted(budget.ask(1_000_000, None))
    assert (grant.output_cap, grant.reserved) == (None, Amount(1, 1, 1_000_000))
    assert granted(budget.ask(7, 50)).output_cap is None, "the agent's own max_tokens is sent as it is"
    assert granted(Budget(RunLimits(input_tokens=10)).ask(10, None)).output_cap is None


@pytest.mark.parametrize(
    ("limits", "max_tokens", "cap"),
    [
        (RunLimits(tokens=100_000), None, 4096),
        (RunLimits(tokens=100_000, output_tokens_per_request=300), None, 300),
        (RunLimits(tokens=100_000), 9000, 9000),
        (RunLimits(tokens=100_000), 5, 5),
        (RunLimits(tokens=1300), None, 300),
        (RunLimits(output_tokens=700), None, 700),
        (RunLimits(output_tokens=700, tokens=1600), None, 600),
        (RunLimits(cost="2"), None, 250),
        (RunLimits(cost="1.9999"), None, 249),
        (RunLimits(cost="2", tokens=1200), 9000, 200),
        (RunLimits(tokens=1000 + LEAST_REPLY_TOKENS), None, LEAST_REPLY_TOKENS),
    ],
)
def test_the_cap_is_what_is_left_and_what_was_asked_for(limits: RunLimits, max_tokens: int | None, cap: int) -> None:
    grant = granted(Budget(limits).ask(1000, max_tokens, price))
    assert grant.output_cap == cap
    cost = Decimal(0) if limits.cost is None else price(1000, cap)
    assert grant.reserved == Amount(1, 1, 1000, cap, cost)


@pytest.mark.parametrize(
    ("limits", "used", "reached"),
    [
        (RunLimits(turns=2), Amount(turns=2), ("turns", 2, 2, 1)),
        (RunLimits(requests=2), Amount(requests=2), ("requests", 2, 2, 1)),
        (RunLimits(input_tokens=1500), Amount(input_tokens=501), ("input_tokens", 501, 1500, 1000)),
        (RunLimits(output_tokens=500), Amount(output_tokens=400), ("output_tokens", 400, 500, LEAST_REPLY_TOKENS)),
        (RunLimits(tokens=2000), Amount(0, 0, 500, 400), ("tokens", 900, 2000, 1000 + LEAST_REPLY_TOKENS)),
        (RunLimits(cost=2), Amount(cost=Decimal("0.6")), ("cost", Decimal("0.6"), 2, price(1000, LEAST_REPLY_TOKENS))),
    ],
)
def test_what_would_not_fit_even_alone_is_reached(limits: RunLimits, used: Amount, reached: tuple[object, ...]) -> None:
    for budget in (Budget(limits, used), spent(Budget(limits), used), Budget(RunLimits(), within=Budget(limits, used))):
        answer = budget.ask(1000, None, price)
        assert isinstance(answer, Reached)
        assert (answer.kind, answer.used, answer.limit, answer.asked) == reached
        assert answer.limits is limits
        assert budget.reserved == NOTHING


def test_what_others_have_reserved_is_waited_for() -> None:
    budget = Budget(RunLimits(tokens=2000))
    first = granted(budget.ask(500, 1000))
    second = granted(budget.ask(100, 1000))
    assert second.output_cap == 400, "what is left beside the first"
    assert budget.ask(100, 1000) is WAIT
    budget.settle(first, Amount(1, 1, 500, 20))
    assert granted(budget.ask(100, 1000)).output_cap == 880
    budget.release(second)
    assert budget.spent == Amount(1, 1, 500, 20)


def test_a_turn_others_may_take_is_waited_for() -> None:
    budget = Budget(RunLimits(turns=1))
    grant = granted(budget.ask(10, None))
    assert budget.ask(10, None) is WAIT
    budget.release(grant)
    budget.settle(granted(budget.ask(10, None)), Amount(turns=1))
    assert isinstance(budget.ask(10, None), Reached)


def test_a_grant_counts_once() -> None:
    budget = Budget(RunLimits(tokens=2000))
    grant = granted(budget.ask(500, None))
    budget.settle(grant, Amount(1, 1, 500, 20))
    budget.settle(grant, Amount(1, 1, 500, 20))
    budget.release(grant)
    assert (budget.spent, budget.reserved) == (Amount(1, 1, 500, 20), NOTHING)


def test_a_request_is_granted_by_every_budget_around_it_or_by_none() -> None:
    scope = Budget(RunLimits(tokens=1000, output_tokens_per_request=700))
    run = Budget(RunLimits(output_tokens=600), within=scope)
    child = Budget(RunLimits(turns=1), within=run)
    grant = granted(child.ask(500, None))
    assert grant.output_cap == 500
    assert scope.reserved == run.reserved == child.reserved == grant.reserved
    assert run.ask(10, None) is WAIT
    assert isinstance(Budget(RunLimits(input_tokens=5), within=run).ask(10, None), Reached), "what never fits is not waited for"
    child.settle(grant, Amount(1, 1, 500, 100))
    assert scope.spent == run.spent == child.spent == Amount(1, 1, 500, 100)
    assert isinstance(child.ask(10, None), Reached)
    assert scope.reserved == run.reserved == child.reserved == NOTHING
    assert granted(run.ask(10, None)).output_cap == 390


def test_a_budget_has_its_limits_and_those_around_it() -> None:
    scope = Budget(RunLimits(cost=Decimal("0.5"), calls_per_tool={"search": 3}))
    run = Budget(RunLimits(turns=2, tool_calls=7), within=scope)
    assert run.has_limit("turns", 2) and run.has_limit("tool_calls", 7)
    assert run.has_limit("cost", Decimal("0.5")) and run.has_limit("calls_per_tool", 3)
    assert not scope.has_limit("turns", 2), "that of a run in it"
    assert not run.has_limit("turns", 3) and not run.has_limit("calls_per_tool", 4)
    assert not run.has_limit("deadline", 2), "a time, which is not spent"


def test_room_is_kept_back_for_one_last_request() -> None:
    budget = Budget(
        RunLimits(turns=3, tokens=3000, reserved_output_tokens=500, output_tokens_per_request=1500), Amount(turns=1)
    )
    budget.keep_back(1000)
    grant = granted(budget.ask(1000, None))
    assert grant.output_cap == 500
    budget.settle(grant, Amount(1, 1, 1000, 500))
    answer = budget.ask(1000, None)
    assert isinstance(answer, Reached)
    assert (answer.kind, answer.asked) == ("turns", 2)
    assert granted(Budget(RunLimits(), within=budget).ask(1000, None, is_last=True)).output_cap == 500


def test_the_count_of_a_last_request_may_come_on_top() -> None:
    limits = RunLimits(turns=3, requests=3, tokens=3000, reserved_output_tokens=500, output_tokens_per_request=1500)
    budget = Budget(limits, Amount(turns=2, requests=2), last_on_top=True)
    budget.keep_back(1000)
    grant = granted(budget.ask(1000, None))
    assert grant.output_cap == 500, "its tokens are kept back all the same"
    budget.settle(grant, Amount(1, 1, 1000, 500))
    answer = budget.ask(0, 0)
    assert isinstance(answer, Reached) and answer.kind == "turns"
    assert granted(budget.ask(1000, None, is_last=True)).output_cap == 500
    around = Budget(RunLimits(requests=1), Amount(requests=1))
    lent = Budget(limits, within=around, last_on_top=True).ask(1000, None, is_last=True)
    assert isinstance(lent, Reached) and lent.kind == "requests", "what is around it lends nothing"


def test_what_is_kept_back_is_priced() -> None:
    budget = Budget(RunLimits(cost=5, reserved_output_tokens=500))
    budget.keep_back(1000, price)
    assert granted(budget.ask(1000, 500, price)).output_cap == 250
    assert granted(Budget(RunLimits(cost=5)).ask(1000, 500, price)).output_cap == 500


def test_a_cost_limit_needs_a_price() -> None:
    with pytest.raises(UserError, match=r"a limit on cost stands, expected a price"):
        Budget(RunLimits(), within=Budget(RunLimits(cost=1))).ask(10, None)


@pytest.mark.parametrize(
    ("limits", "counts"),
    [
        (RunLimits(requests=5, tool_calls=5), False),
        (RunLimits(input_tokens=5), True),
        (RunLimits(output_tokens=5), True),
        (RunLimits(tokens=5), True),
        (RunLimits(cost=5), True),
    ],
)
def test_tokens_are_counted_where_a_limit_needs_them(limits: RunLimits, counts: bool) -> None:
    assert Budget(limits).counts_tokens is counts
    assert Budget(RunLimits(), within=Budget(limits)).counts_tokens is counts


def test_a_price_that_is_no_limit_is_not_asked_for() -> None:
    def forbidden(input_tokens: int, output_tokens: int) -> Decimal:
        raise AssertionError

    granted(Budget(RunLimits(tokens=1000)).ask(10, None, forbidden))


def test_a_turns_calls_are_all_granted_or_none() -> None:
    budget = Budget(RunLimits(tool_calls=4, calls_per_tool={"pay": 2}))
    grant = granted(budget.call_tools(["pay", "read", "pay"]))
    assert grant.reserved == Amount(calls={"pay": 2, "read": 1})
    answer = budget.call_tools(["pay"])
    assert isinstance(answer, Reached), "what is reserved is about to run"
    assert (answer.kind, answer.used, answer.limit, answer.asked, answer.what) == ("calls_per_tool", 2, 2, 1, "pay")
    for settles in (False, True):
        if settles:
            budget.settle(grant, grant.reserved)
        answer = Budget(RunLimits(), within=budget).call_tools(["read", "read"])
        assert isinstance(answer, Reached)
        assert (answer.kind, answer.used, answer.limit, answer.asked, answer.what) == ("tool_calls", 3, 4, 2, "")
    last = granted(budget.call_tools(["read"]))
    budget.release(last)
    assert (budget.spent.calls, budget.reserved) == ({"pay": 2, "read": 1}, NOTHING)


def test_calls_that_are_not_limited_are_not_reckoned() -> None:
    budget = Budget(RunLimits())
    grant = granted(budget.call_tools(["pay"] * 1000))
    budget.settle(grant, Amount(calls={"pay": 1000}))
    assert (budget.spent, budget.reserved) == (NOTHING, NOTHING)


def test_each_limit_is_warned_of_once() -> None:
    limits = RunLimits(turns=10, tokens=1000, cost="0.10", tool_calls=10, calls_per_tool={"pay": 5, "read": 5}, warn_at=0.7)
    budget = Budget(limits)
    assert budget.near() == []
    spent(budget, Amount(7, 9, 400, 299, Decimal("0.07"), {"pay": 4}))
    assert budget.near() == [
        Near("turns", 7, 10),
        Near("cost", Decimal("0.07"), Decimal("0.10")),
        Near("calls_per_tool", 4, 5, "pay"),
    ]
    assert budget.near() == []
    budget.settle(granted(budget.call_tools(["read"] * 3)), Amount(calls={"read": 3}))
    assert budget.near() == [Near("tool_calls", 7, 10)]


def test_what_was_near_before_is_not_warned_of_again() -> None:
    budget = Budget(RunLimits(turns=10, requests=10), Amount(turns=8))
    assert budget.near() == []
    spent(budget, Amount(1, 8))
    assert budget.near() == [Near("requests", 8, 10)]


def test_amounts_are_added_and_taken_away() -> None:
    one, other = Amount(1, 2, 3, 4, Decimal(5), {"pay": 6}), Amount(6, 5, 4, 3, Decimal(2), {"pay": 1, "read": 1})
    assert one + other == Amount(7, 7, 7, 7, Decimal(7), {"pay": 7, "read": 1})
    assert one + other - other == one
    assert one - one == NOTHING
    assert (one.tokens, (one + other).tool_calls) == (7, 8)


class Family(RuleBasedStateMachine):
    """A run whose limits 16 children share, some with limits of their own. `error`: how far off their input counts may be."""

    error = Decimal(0)

    def __init__(self) -> None:
        """An example that is given up in `begin` is taken down as well."""
        super().__init__()
        self.run = Budget(RunLimits())
        self.children: list[Budget] = []
        self.open: dict[int, Grant] = {}

    @initialize(
        tokens=st.integers(1000, 30_000),
        output_tokens=st.none() | st.integers(500, 20_000),
        cost=st.none() | st.integers(2, 60),
        requests=st.none() | st.integers(1, 30),
        tool_calls=st.integers(1, 12),
        own=st.lists(st.none() | st.integers(500, 5000), min_size=CHILDREN, max_size=CHILDREN),
    )
    def begin(
        self,
        tokens: int,
        output_tokens: int | None,
        cost: int | None,
        requests: int | None,
        tool_calls: int,
        own: list[int | None],
    ) -> None:
        self.limits = RunLimits(
            turns=None,
            tokens=tokens,
            output_tokens=output_tokens,
            cost=cost,
            requests=requests,
            tool_calls=tool_calls,
            calls_per_tool={"pay": 3},
            output_tokens_per_request=1000,
        )
        self.run = Budget(self.limits)
        self.children = [Budget(RunLimits(turns=None, tokens=tokens), within=self.run) for tokens in own]
        self.largest = 0

    @rule(child=st.integers(0, CHILDREN - 1), input_tokens=st.integers(0, 3000), max_tokens=st.none() | st.integers(1, 3000))
    def ask(self, child: int, input_tokens: int, max_tokens: int | None) -> None:
        if child in self.open:
            return
        before = self.run.reserved
        answer = self.children[child].ask(input_tokens, max_tokens, price)
        if isinstance(answer, Grant):
            assert answer.output_cap is not None
            assert answer.output_cap >= min(LEAST_REPLY_TOKENS, max_tokens or LEAST_REPLY_TOKENS)
            self.open[child] = answer
        else:
            assert self.run.reserved == before
            assert isinstance(answer, Reached) or self.open, "nobody holds anything, so there is nothing to wait for"

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        child = data.draw(st.sampled_from(sorted(self.open)), "child")
        grant = self.open.pop(child)
        reserved = grant.reserved
        off = int(reserved.tokens * self.error)
        input_tokens = reserved.input_tokens + data.draw(st.integers(0, off), "not counted")
        output_tokens = data.draw(st.integers(0, reserved.output_tokens) | st.just(reserved.output_tokens), "output")
        used = Amount(1, 1, input_tokens, output_tokens, price(input_tokens, output_tokens))
        self.largest = max(self.largest, used.tokens)
        self.children[child].settle(grant, used)

    @precondition(lambda self: bool(self.open))
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        child = data.draw(st.sampled_from(sorted(self.open)), "child")
        self.children[child].release(self.open.pop(child))

    @rule(child=st.integers(0, CHILDREN - 1), names=st.lists(st.sampled_from(["pay", "read"]), max_size=4), runs=st.booleans())
    def call(self, child: int, names: list[str], runs: bool) -> None:
        answer = self.children[child].call_tools(names)
        if isinstance(answer, Grant):
            self.children[child].settle(answer, answer.reserved if runs else NOTHING)

    @invariant()
    def holds(self) -> None:
        limits, used = self.limits, self.run.spent
        over = self.largest if self.error else 0
        assert limits.tokens is not None and used.tokens <= limits.tokens + over
        assert limits.output_tokens is None or used.output_tokens <= limits.output_tokens
        assert limits.cost is None or used.cost <= Decimal(limits.cost) + price(0, over)
        assert limits.requests is None or used.requests <= limits.requests
        assert limits.tool_calls is not None and used.tool_calls <= limits.tool_calls
        assert used.calls.get("pay", 0) <= 3
        assert self.run.reserved == sum((grant.reserved for grant in self.open.values()), NOTHING)
        for number, child in enumerate(self.children):
            assert child.reserved == (self.open[number].reserved if number in self.open else NOTHING)
            assert child.limits.tokens is None or child.spent.tokens <= child.limits.tokens + over

    def teardown(self) -> None:
        for child, grant in self.open.items():
            self.children[child].release(grant)
        assert self.run.reserved == NOTHING
        assert all(child.reserved == NOTHING for child in self.children)


class MiscountingFamily(Family):
    """Input counts that are too low by up to a 16th of what was reserved: together they pass by less than one response."""

    error = Decimal(1) / CHILDREN


Family.TestCase.settings = MiscountingFamily.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None
)
TestFamily = Family.TestCase
TestMiscountingFamily = MiscountingFamily.TestCase
