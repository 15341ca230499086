"""`on_approval` of shells, editors and custom tools: the program decides on a call itself, and no person is asked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents._bridge.scope import call_of, scope_of
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.items import ToolApprovalItem
from agentsdk.core.arguments import parse_arguments
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.guardrail_output import ToolGuardrailFunctionOutput as OwnVerdict
from agentsdk.define.tool_guardrail import ToolInputGuardrail as OwnInputGuardrail
from agentsdk.define.tool_guardrail import ToolInputGuardrailData as OwnInputData
from agentsdk.engine.tool_calls import REJECTED


def approval_of(
    tool: theirs.ShellTool | theirs.ApplyPatchTool | theirs.CustomTool, agent: Agent[Any], rule: Any
) -> dict[str, object]:
    """The options of a tool of agentsdk whose calls need approval by `rule`, on which the tool's `on_approval` may decide.

    It decides as an input guardrail, which is asked before a person would be: what it rejects is never run.
    """
    decide: Any = tool.on_approval
    if decide is None or rule is False:
        return {"needs_approval": rule}

    async def needed(ctx: OwnContext[Any], arguments: dict[str, Any], call_id: str) -> bool:
        if call_id in scope_of(ctx).approved:
            return False
        return rule if isinstance(rule, bool) else bool(await rule(ctx, arguments, call_id))

    async def judge(data: OwnInputData[Any]) -> OwnVerdict:
        ctx = data.context
        scope, call_id = scope_of(ctx), ctx.tool_call_id
        decided = scope.wrapper.is_tool_approved(tool.name, call_id) is not None
        if decided or not await needed(ctx, parse_arguments(ctx.tool_arguments), call_id):
            return OwnVerdict.allow()
        called = decide(scope.wrapper, ToolApprovalItem(agent, call_of(scope.originals, ctx), tool.name))
        answer: Any = await called if inspect.isawaitable(called) else called
        if not isinstance(answer, Mapping) or "approve" not in answer:
            raise UserError(
                f"on_approval of tool {tool.name!r} returned {answer!r}, expected {{'approve': True}} or {{'approve': False, "
                "'reason': ...}"
            )
        given = cast("Mapping[str, Any]", answer)
        if given["approve"]:
            scope.approved.add(call_id)
            return OwnVerdict.allow()
        return OwnVerdict.reject_content(str(given.get("reason") or REJECTED))

    return {"needs_approval": needed, "tool_input_guardrails": [OwnInputGuardrail(judge, f"on_approval of {tool.name}")]}
