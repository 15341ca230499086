"""Pairing: every history that reaches a model has one result per call, after the call, and no result without its call."""

from __future__ import annotations

from collections.abc import Sequence

from agentsdk.core.state import UNKNOWN_OUTCOME
from agentsdk.types.items import FunctionCall, FunctionCallOutput, Item


def paired(items: Sequence[Item]) -> tuple[Item, ...]:
    """`items` made valid: orphan and repeated results are dropped, and a call without a result gets `UNKNOWN_OUTCOME`.

    A missing result is put behind the calls and results that directly follow its call, where a provider expects it.
    """
    answered = {item.call_id for item in items if type(item) is FunctionCallOutput}
    result: list[Item] = []
    open_calls: set[str] = set()
    missing: list[str] = []
    seen: set[str] = set()
    for item in items:
        kind = type(item)
        if missing and kind is not FunctionCall and kind is not FunctionCallOutput:
            result.extend(FunctionCallOutput(call_id, UNKNOWN_OUTCOME, True) for call_id in missing)
            missing = []
        if isinstance(item, FunctionCall):
            if item.call_id in seen:
                continue
            seen.add(item.call_id)
            if item.call_id in answered:
                open_calls.add(item.call_id)
            else:
                missing.append(item.call_id)
        elif isinstance(item, FunctionCallOutput):
            if item.call_id not in open_calls:
                continue
            open_calls.discard(item.call_id)
        result.append(item)
    result.extend(FunctionCallOutput(call_id, UNKNOWN_OUTCOME, True) for call_id in missing)
    # A result that stood only before its call was dropped above, which leaves that call open.
    if open_calls:
        return paired([item for item in result if not (type(item) is FunctionCallOutput and item.call_id in open_calls)])
    return tuple(result)
