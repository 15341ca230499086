"""`UsageTracker`: what a run has spent, and whether it is stuck, counted on from where its log was read last."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import structs

from agentsdk.core.limits.budget import Amount
from agentsdk.core.limits.loops import Repeats, Stalls
from agentsdk.core.limits.run_limits import Reached, RunLimits
from agentsdk.core.limits.totals import Costs, Price
from agentsdk.core.state import judged_result
from agentsdk.types.events import (
    ApprovalDecided,
    AttemptSpent,
    CallRetried,
    CallsInDoubt,
    GuardrailJudged,
    HandedOff,
    InputReplaced,
    ModelReplied,
    Nested,
    RunEnded,
    RunEvent,
    ToolFinished,
    ToolsIntended,
    TurnEnded,
    unnested,
)
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

_Path = tuple[str, ...]
"""The calls that lead to a nested run, outermost first; `()` is the run itself."""

_NO_REPLY = ModelResponse(())


class UsageTracker:
    """What a run has spent, nested runs included, and whether its own turns lead anywhere: a fold of its log.

    `limits` say what need not be looked for. `price` is asked for each reply. A tool call counts once it is about to run, again
    when a person has it run again, and not when its body never began.
    """

    __slots__ = (
        "_costs",
        "_doubted",
        "_repeats",
        "_replies",
        "_response",
        "_results",
        "_spent",
        "_stalls",
        "_unread",
        "failed_turns",
        "limits",
    )

    def __init__(self, limits: RunLimits, price: Price | None = None) -> None:
        self.limits = limits
        self.failed_turns = 0
        """The turns running in which every call failed."""
        self._repeats = None if limits.repeated_rounds is None else Repeats()
        self._stalls = None if limits.no_progress is None else Stalls()
        self._response = _NO_REPLY
        self._results: dict[str, ToolFinished] = {}
        self._costs = None if price is None else Costs(price)
        self._unread: list[RunEvent] = []
        self._spent = Amount()
        self._replies: dict[_Path, ModelResponse] = {}
        self._doubted: set[tuple[_Path, str]] = set()

    def feed(self, events: Sequence[RunEvent]) -> None:
        """Count the log's next events. O(events)."""
        self._unread += events
        for event in events:
            kind = type(event)
            if kind is ToolsIntended:
                pass
            elif type(event) is ToolFinished:
                self._results[event.call_id] = event
            elif type(event) is ModelReplied:
                self._response = event.response
            elif kind in _ENDS:
                self._end_turn()
            elif type(event) is GuardrailJudged:
                if event.kind == "tool_output" and event.call_id in self._results:
                    self._results[event.call_id] = judged_result(self._results[event.call_id], event)
            elif kind is InputReplaced:
                self._results = {}
                self._begin_anew()
            elif kind is ApprovalDecided or (kind is Nested and isinstance(unnested(event)[1], ApprovalDecided)):
                self._begin_anew()

    @property
    def spent(self) -> Amount:
        """What is spent so far. O(events since it was last asked for)."""
        self._sum_up()
        return self._spent if self._costs is None else structs.replace(self._spent, cost=self._costs.paid)

    @property
    def unpriced(self) -> frozenset[str]:
        """The models of replies whose price is not known: their cost is missing."""
        self._sum_up()
        return frozenset(() if self._costs is None else self._costs.unpriced)

    def stuck(self, polling: Collection[str] = ()) -> Reached | None:
        """The limit on being stuck that is reached, if one is. The tools named in `polling` are there to be called again."""
        limits = self.limits
        if limits.consecutive_errors is not None and self.failed_turns >= limits.consecutive_errors:
            return Reached("consecutive_errors", self.failed_turns, limits.consecutive_errors, limits)
        if self._repeats is not None and limits.repeated_rounds is not None:
            loop = self._repeats.found(limits.repeated_rounds)
            if loop is not None and loop.tools.isdisjoint(polling):
                return Reached("repeated_rounds", loop.rounds, limits.repeated_rounds, limits, what=str(loop))
        if self._stalls is not None and limits.no_progress is not None:
            turns = self._stalls.turns
            if turns >= limits.no_progress and self._stalls.tools.isdisjoint(polling):
                return Reached("no_progress", turns, limits.no_progress, limits)
        return None

    def _end_turn(self) -> None:
        results = self._results
        if not results:
            if self._stalls is not None:
                self._stalls.add_text(self._response.text)
            return
        self._results = {}
        for result in results.values():
            if not result.is_error:
                self.failed_turns = 0
                break
        else:
            self.failed_turns += 1
        if self._repeats is not None:
            self._repeats.add(self._response.output, results)
        if self._stalls is not None:
            self._stalls.add(self._response.output, results)

    def _begin_anew(self) -> None:
        """Another input, or a person's decision: what led to it says nothing of what follows."""
        self.failed_turns = 0
        if self._repeats is not None:
            self._repeats.clear()
        if self._stalls is not None:
            self._stalls.clear()

    def _sum_up(self) -> None:
        unread, self._unread = self._unread, []
        for path, event in map(unnested, unread):
            if self._costs is not None and isinstance(event, ModelReplied | AttemptSpent):
                self._costs.add(path, event)
            if isinstance(event, ModelReplied):
                self._replies[path] = event.response
                if not event.snapshot:  # a program's reply took no request
                    self._spend(event.response.usage, turns=1)
            elif isinstance(event, AttemptSpent):
                self._spend(event.usage)
            elif isinstance(event, ToolsIntended):
                for call_id in event.call_ids:
                    self._spent += self._call(path, call_id)
            elif isinstance(event, CallsInDoubt):
                self._doubted.update((path, call_id) for call_id in event.call_ids)
            elif isinstance(event, CallRetried):
                if (path, event.call_id) in self._doubted:
                    self._doubted.remove((path, event.call_id))  # it had begun
                else:
                    self._spent -= self._call(path, event.call_id)

    def _spend(self, usage: Usage, turns: int = 0) -> None:
        self._spent += Amount(turns, usage.sent_requests, usage.input_tokens, usage.output_tokens)

    def _call(self, path: _Path, call_id: str) -> Amount:
        reply = self._replies.get(path, _NO_REPLY)  # a step is no call of a model's
        names = [item.name for item in reply.output if isinstance(item, FunctionCall) and item.call_id == call_id]
        return Amount(calls=dict.fromkeys(names, 1))


_ENDS = (TurnEnded, HandedOff, RunEnded)
