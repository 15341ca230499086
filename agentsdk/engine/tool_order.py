"""The order of a reply's calls as their tools declare it: worked out once, and recorded for whoever goes on with the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentsdk.core.arguments import parse_arguments
from agentsdk.core.call_order import OrderedCall, call_order, held_calls
from agentsdk.core.process import ProcessedResponse
from agentsdk.core.state import OpenTurn
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.job import Job
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.prepare import Prepared
from agentsdk.engine.run import Run
from agentsdk.types.errors import UserError
from agentsdk.types.items import FunctionCall


async def ordered_jobs(
    run: Run, prepared: Prepared, processed: ProcessedResponse, jobs: Sequence[Job], unjudged: Sequence[Job]
) -> list[Job]:
    """Of the calls that may run those that can: at once, or behind others of them. The rest waits for what a person decides.

    Raises `CallbackError`, `UserError`.
    """
    turn = open_turn(run)
    if turn.order is None:
        calls = [
            await _ordered_call(turn.as_run(call), prepared.declared.tools[spec.name])
            for call, spec in processed.functions
            if call.call_id not in turn.results
        ]
        order = call_order(calls)
        if not order.waits:
            return list(jobs)
        await run.record(order)
        turn = open_turn(run)
    running = {job.call.call_id for job in (*jobs, *unjudged)}
    held = held_calls(turn, running)
    return [job for job in jobs if job.call.call_id not in held]


def places_behind(turn: OpenTurn, jobs: Sequence[Job]) -> tuple[dict[int, list[int]], list[str]]:
    """Which of these calls wait for which others, by their places. Calls that wait for all calls of a tool wait for a group, so
    that many may wait for many: the groups, named by their tools, have the places behind those of the calls."""
    order = turn.order
    if order is None:
        return {}, []
    places = {job.call.call_id: place for place, job in enumerate(jobs)}
    of_tool: dict[str, list[int]] = {}
    for place, job in enumerate(jobs):
        of_tool.setdefault(job.call.name, []).append(place)
    groups: dict[str, int] = {}
    behind: dict[int, list[int]] = {}
    for wait in order.waits:
        if wait.call_id not in places:
            continue
        waits = [places[call_id] for call_id in wait.calls if call_id in places]
        waits += [groups.setdefault(name, len(jobs) + len(groups)) for name in wait.tools if name in of_tool]
        if waits:
            behind[places[wait.call_id]] = waits
    behind.update({place: of_tool[name] for name, place in groups.items()})
    return behind, list(groups)


async def _ordered_call(call: FunctionCall, tool: FunctionTool[Any]) -> OrderedCall:
    resource = tool.resource
    if callable(resource):
        what = f"resource of tool {tool.name!r}"
        named = cast(object, await call_user(what, resource, parse_arguments(call.arguments)))
        if named is not None and not isinstance(named, str):
            raise UserError(f"{what} returned {type(named).__name__!r}, expected the name of a resource, or None; return one")
        resource = named
    return OrderedCall(call.call_id, tool.name, tool.sequential, tuple(tool.after), resource)
