"""The order of a reply's calls: which of them begin only after others have ended.

Calls are made concurrently unless their tools say otherwise: a `sequential` one has nothing beside it, calls `after` some tools
wait for all calls of these in the reply, and calls on one `resource` keep the model's order. That order is changed only as far
as `after` asks for it: each call waits for such as stand before it in one list, so no two wait for each other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from agentsdk.core.state import OpenTurn
from agentsdk.types.events import CallsOrdered, CallWaits


class OrderedCall(Struct, frozen=True):
    """A call, and what its tool says of its order."""

    call_id: str
    tool: str
    sequential: bool = False
    after: tuple[str, ...] = ()
    resource: str | None = None


def call_order(calls: Sequence[OrderedCall]) -> CallsOrdered:
    """Which of these calls, given in the model's order, wait for which others. The tools' `after` must have no cycle."""
    waits: list[CallWaits] = []
    present = {call.tool for call in calls}
    alone: str | None = None
    beside: list[str] = []  # those since the last one that was alone
    last_on: dict[str, str] = {}
    for call in _sorted(calls):
        before = dict.fromkeys(beside if call.sequential else ())
        if alone is not None:
            before[alone] = None
        if call.resource is not None:
            if call.resource in last_on:
                before[last_on[call.resource]] = None
            last_on[call.resource] = call.call_id
        tools = tuple(name for name in dict.fromkeys(call.after) if name in present)
        if before or tools:
            waits.append(CallWaits(call.call_id, tuple(before), tools))
        if call.sequential:
            alone, beside = call.call_id, []
        else:
            beside.append(call.call_id)
    return CallsOrdered(tuple(waits))


def held_calls(turn: OpenTurn, running: Collection[str] = ()) -> set[str]:
    """The calls without a result that cannot begin: what they wait for has none either, and is not among those `running`."""
    held: set[str] = set()
    if turn.order is None:
        return held
    names = {call.call_id: call.name for call in turn.calls if call.call_id not in turn.results}
    blocked = names.keys() - running
    tools = {names[call_id] for call_id in blocked}
    for wait in turn.order.waits:  # each behind those that it waits for
        if wait.call_id in names and not (blocked.isdisjoint(wait.calls) and tools.isdisjoint(wait.tools)):
            held.add(wait.call_id)
            blocked.add(wait.call_id)
            tools.add(names[wait.call_id])
    return held


def find_cycle(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Tools that wait for each other, each for the next one, the first again at the end; none where there are no such."""
    done: set[str] = set()
    for start in after:
        path: list[str] = []
        waiting = [(start, False)]
        while waiting:
            name, is_left = waiting.pop()
            if is_left:
                done.add(path.pop())
            elif name in path:
                return [*path[path.index(name) :], name]
            elif name not in done:
                path.append(name)
                waiting.append((name, True))
                waiting += [(before, False) for before in reversed(after.get(name, ()))]
    return []


def _sorted(calls: Sequence[OrderedCall]) -> list[OrderedCall]:
    """The calls in the model's order, but each behind all calls of the tools that its own comes after. O(n log n)."""
    places: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        places.setdefault(call.tool, []).append(place)
    blockers = {call.tool: {name for name in call.after if name in places} for call in calls}
    left = {tool: len(of_tool) for tool, of_tool in places.items()}
    ready = [place for place, call in enumerate(calls) if not blockers[call.tool]]
    heapify(ready)
    ordered: list[OrderedCall] = []
    while ready:
        call = calls[heappop(ready)]
        ordered.append(call)
        left[call.tool] -= 1
        if not left[call.tool]:
            for tool, before in blockers.items():
                if call.tool in before:
                    before.remove(call.tool)
                    if not before:
                        for place in places[tool]:
                            heappush(ready, place)
    return ordered
