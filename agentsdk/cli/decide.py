"""`agentsdk decide`: a word on a call that waits."""

from __future__ import annotations

import asyncio
import json as json_
from typing import Any, cast, get_args

from agentsdk.cli.codes import OK
from agentsdk.cli.given import found, open_existing
from agentsdk.cli.shown import plain, print_json, say
from agentsdk.core.next_step import PendingCall, PendingTimer, pending_calls
from agentsdk.types.errors import UserError
from agentsdk.types.signals import Decision, DecisionAction


def decide_on(
    run_id: str,
    action: str,
    call: str,
    reason: str,
    arguments: str,
    answer: str,
    result: str,
    always: bool,
    by: str,
    store: str,
    json: bool,
) -> int:
    """Post a decision. Raises `UserError` for what fits nothing, `RunConflictError` for a call that does not wait."""
    if action not in get_args(DecisionAction):
        raise UserError(f"the action is {action!r}, expected one of {', '.join(get_args(DecisionAction))}; write one")
    given: dict[str, Any] = {"reason": reason, "result": result, "always": always, "by": by}
    if arguments:
        given["arguments"] = _object(arguments)
    if action == "answer":
        given["answer"] = _value(answer)
    number, item = asyncio.run(_posted(run_id, cast(DecisionAction, action), call, given, store))
    if json:
        print_json({"run_id": run_id, "call_id": item.call_id, "action": action, "signal": number})
    else:
        say(f"{plain(item.tool_name)}: {action}; a worker of the store goes on with it, or: agentsdk resume")
    return OK


async def _posted(run_id: str, action: DecisionAction, call: str, given: dict[str, Any], store: str) -> tuple[int, PendingCall]:
    from agentsdk.define.run_config import RunConfig
    from agentsdk.runner import Runner

    opened = open_existing(store)
    try:
        await found(opened, run_id)
        config = RunConfig(store=opened)
        state = await Runner.load(run_id, run_config=config)
        item = _waiting(run_id, pending_calls(state.value), call)
        return await Runner.decide(run_id, Decision(item.call_id, action, item.path, **given), run_config=config), item
    finally:
        await opened.aclose()


def _waiting(run_id: str, items: tuple[PendingCall, ...], call: str) -> PendingCall:
    calls = [item for item in items if not isinstance(item, PendingTimer) and call in ("", item.call_id)]
    if len(calls) == 1:
        return calls[0]
    known = ", ".join(f"{item.call_id} ({item.tool_name})" for item in items) or "none"
    what = f"no call {call!r} that waits" if call else f"{len(calls)} calls that wait"
    raise UserError(f"run {run_id!r} has {what}, expected one of: {known}; name it by --call")


def _object(text: str) -> dict[str, object]:
    value = _value(text)
    if not isinstance(value, dict):
        raise UserError(f"--arguments is {text[:40]!r}, expected a JSON object; write '{{\"amount\": 5}}'")
    return cast("dict[str, object]", value)


def _value(text: str) -> object:
    try:
        return cast(object, json_.loads(text))
    except ValueError:
        return text
