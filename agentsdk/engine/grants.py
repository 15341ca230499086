"""Grants: what a run may call. What none of them covers is not offered, and refused when it is called all the same.

They are asked for each time a turn is entered, also where a run goes on: what counts is who may do what now. So a call that was
offered, or approved, under a grant that is gone by the time it would begin is refused. What is recorded stays: which tools the
turn's model was offered, and each result, a refusal too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentsdk.core.process import ProcessedResponse
from agentsdk.define.agent import AgentTool
from agentsdk.define.declaration import Declaration, hosted_name
from agentsdk.define.grants import Grant, Grants, are_grants, listed
from agentsdk.define.hosted import MCPApprovalTool
from agentsdk.define.read_result import read_result
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import NotOffered, Run
from agentsdk.types.errors import UserError
from agentsdk.types.events import NotGranted, ToolFinished
from agentsdk.types.items import FunctionCall
from agentsdk.types.spec import handler_of

_RULE = "the callable of RunConfig(grants=...)"


async def grants_of(run: Run, given: Grants) -> tuple[Grant, ...]:
    """What the run may call in the turn that it enters. Raises `CallbackError`, `UserError`."""
    if callable(given):
        answer = cast(object, await call_user(_RULE, given, run.turn_context()))
        if not are_grants(answer):
            raise UserError(
                f"{_RULE} returned {type(answer).__name__!r}, expected a Grant or a list of them; return [] for no grant at all"
            )
        given = cast("Grant | Sequence[Grant]", answer)
    return listed(given)


def not_granted(run: Run, grants: tuple[Grant, ...], declared: Declaration) -> tuple[str, ...]:
    """The tools of an agent that no grant covers, by their names; hosted ones as `hosted_name` says. Kept while they stand."""
    known, agent = run.not_offered, run.agent.name
    if known is not None and known.declared is declared and known.grants == grants:
        return known.names
    names = [name for name, tool in declared.tools.items() if not _covers(grants, tool, agent)]
    hosted = [tool for tool in declared.hosted if not any(one.covers(tool.level, (), tool.name, agent) for one in grants)]
    run.not_offered = NotOffered(declared, grants, (*names, *map(hosted_name, hosted)))
    return run.not_offered.names


async def refuse_calls(run: Run, grants: Sequence[Grant], declared: Declaration, processed: ProcessedResponse) -> None:
    """Record the refusal of each call of the reply that no grant covers and that has no result yet."""
    calls = (*[call for call, _ in processed.functions], *processed.unknown, *processed.unhandled)
    refusals = [
        _refusal(run, grants, call, tool) for call in calls if (tool := _refused(run, grants, declared, call)) is not None
    ]
    if refusals:
        await run.record(*refusals)


def is_refused(run: Run, grants: Sequence[Grant], declared: Declaration, call: FunctionCall) -> bool:
    """Whether a call will be refused for want of a grant."""
    return _refused(run, grants, declared, call) is not None


def _refused(run: Run, grants: Sequence[Grant], declared: Declaration, call: FunctionCall) -> FunctionTool[Any] | None:
    """The tool of a call that may not run for want of a grant.

    A call that has begun may not run again. Where that would not happen it is left to who knows what came of it: one with the
    effect `"once"` is in doubt, an external one waits for its answer.
    """
    turn, tool = open_turn(run), handler_of(call, declared.tools)
    if tool is None or call.call_id in turn.results or call.call_id in turn.in_doubt:
        return None
    if call.call_id in turn.intended and (tool.external or (tool.effect == "once" and not isinstance(tool, AgentTool))):
        return None
    return None if _covers(grants, tool, run.agent.name) else tool


def _covers(grants: Sequence[Grant], tool: FunctionTool[Any], agent: str) -> bool:
    """Whether any grant covers the tool. What was cut from a result that the model has may be read by whoever got it."""
    if tool is read_result:
        return True
    name = _granted_name(tool)
    return any(grant.covers(tool.level, tool.tags, name, agent) for grant in grants)


def _granted_name(tool: FunctionTool[Any]) -> str:
    """The name by which a grant knows the tool: of the approvals of an MCP server that is the server's."""
    return tool.server.name if isinstance(tool, MCPApprovalTool) else tool.name


def _refusal(run: Run, grants: Sequence[Grant], call: FunctionCall, tool: FunctionTool[Any]) -> ToolFinished:
    name, level = _granted_name(tool), tool.level
    began = call.call_id in open_turn(run).intended
    what = "The call was begun and cut, and may not go on: its outcome is unknown." if began else "The call was not run."
    text = f"{what} The tool {name!r} needs the permission {level!r}, which is not granted here."
    names = tuple([grant.name for grant in grants if grant.name])
    why = NotGranted(name, level, tuple(tool.tags), run.agent.name, names)
    return ToolFinished(call.call_id, text, True, at=run.deps.stamp(), not_granted=why)
