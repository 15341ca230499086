"""Pairing: every history that reaches a model has one result per call, after the call, and no result without its call.

Histories come from callers, sessions and filters, and many servers count their call ids anew in every reply. So an id is read
together with its place: the calls of one id that stand in one round, with nothing but calls and results between them, share
the results that follow; the same id after that is another call, and gets an id of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item, output_of


def paired(items: Sequence[Item]) -> tuple[Item, ...]:
    """`items` made valid, and nothing of them lost that could be kept.

    A call id that was used before is replaced by one that is unique, in the call and in its result; the same call twice in one
    round, with one result, is one call. A result without a call before it, and a second result, are dropped. A call without a
    result gets `UNKNOWN_OUTCOME`, behind the calls and results that directly follow it, where a provider expects it.
    """
    return _paired(items, len(items))[0]


def joined(history: Sequence[Item], items: Sequence[Item]) -> tuple[tuple[Item, ...], int]:
    """`history` and what follows it, made valid as one; and how many of the result are the history's.

    `items` that begin with the whole history and go on from there, as a caller's own copy of a conversation does, are not
    added to it a second time.
    """
    if history and len(items) > len(history):
        for known in (tuple(history), paired(history)):
            if tuple(items[: len(known)]) == known:
                items = items[len(known) :]
                break
    return _paired((*history, *items), len(history))


class _Round:
    """The calls of one id that stand in one round, by position, and the results that follow them."""

    __slots__ = ("calls", "group", "results")

    def __init__(self, group: int) -> None:
        self.group = group
        self.calls: list[int] = []
        self.results: list[int] = []


def _paired(items: Sequence[Item], boundary: int) -> tuple[tuple[Item, ...], int]:
    """The valid form, and how much of it stands for the first `boundary` items."""
    ids = _ids(items)
    result: list[Item] = []
    missing: list[FunctionCall] = []
    special: dict[str, FunctionCall] = {}  # calls whose results say more than a call id
    before = 0
    answered = {ids[position] for position, item in enumerate(items) if position in ids and type(item) is FunctionCallOutput}
    for position, item in enumerate(items):
        kind = type(item)
        if missing and (position == boundary or (kind is not FunctionCall and kind is not FunctionCallOutput)):
            result.extend(output_of(call, UNKNOWN_OUTCOME, True) for call in missing)
            missing = []
        if position == boundary:
            before = len(result)
        if isinstance(item, FunctionCall | FunctionCallOutput):
            call_id = ids.get(position)
            if call_id is None:
                continue
            if call_id != item.call_id:
                item = structs.replace(item, call_id=call_id)
            if isinstance(item, FunctionCallOutput):
                if special or _is_special(item):
                    item = _as_result_of(special.get(call_id), item)
            else:
                if _is_special(item):
                    special[call_id] = item
                if call_id not in answered:
                    missing.append(item)
        result.append(item)
    result.extend(output_of(call, UNKNOWN_OUTCOME, True) for call in missing)
    return tuple(result), len(result) if boundary == len(items) else before


def _is_special(item: FunctionCall | FunctionCallOutput) -> bool:
    return item.kind != "function" or bool(item.namespace) or item.caller is not None


def _as_result_of(call: FunctionCall | None, item: FunctionCallOutput) -> FunctionCallOutput:
    """The result as that of a special call, or of a plain function's: whoever gave it may have left that out."""
    if call is None:
        return FunctionCallOutput(item.call_id, item.output, item.is_error, untrusted=item.untrusted)
    return output_of(call, item.output, item.is_error, item.untrusted)


def _ids(items: Sequence[Item]) -> dict[int, str]:
    """The id of each call and result that stays, by its position. Each depends on what comes before it alone."""
    rounds: list[_Round] = []
    latest: dict[str, _Round] = {}
    group = 0
    for position, item in enumerate(items):
        if type(item) is FunctionCall:
            current = latest.get(item.call_id)
            if current is None or current.results or current.group != group:
                latest[item.call_id] = current = _Round(group)
                rounds.append(current)
            current.calls.append(position)
        elif type(item) is FunctionCallOutput:
            if item.call_id in latest:
                latest[item.call_id].results.append(position)
        else:
            group += 1
    ids: dict[int, str] = {}
    unique = _UniqueIds()
    for current in rounds:
        calls = current.calls if len(current.calls) <= len(current.results) else _different(items, current.calls)
        for number, position in enumerate(calls):
            call = items[position]
            assert isinstance(call, FunctionCall)
            ids[position] = call_id = unique.take(call.call_id)
            if number < len(current.results):
                ids[current.results[number]] = call_id
    return ids


def _different(items: Sequence[Item], calls: Sequence[int]) -> list[int]:
    """The calls of one round, the same call counted once."""
    seen: set[tuple[str, str, str, str]] = set()
    kept: list[int] = []
    for position in calls:
        call = items[position]
        assert isinstance(call, FunctionCall)
        if (said := (call.kind, call.namespace, call.name, call.arguments)) not in seen:
            seen.add(said)
            kept.append(position)
    return kept


class _UniqueIds:
    """Gives each id out once, and a numbered one after that. In all linear: no number is tried twice for an id."""

    __slots__ = ("_latest", "_used")

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._latest: dict[str, int] = {}

    def take(self, call_id: str) -> str:
        unique = call_id
        while unique in self._used:
            self._latest[call_id] = number = self._latest.get(call_id, 1) + 1
            unique = f"{call_id}-{number}"
        self._used.add(unique)
        return unique
