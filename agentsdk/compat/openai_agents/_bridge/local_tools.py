"""Shells, editors, computers and custom tools of the program: how their calls are run."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents._bridge.openai_types import built
from agentsdk.compat.openai_agents._bridge.scope import RunScope, call_of
from agentsdk.compat.openai_agents.computer import AsyncComputer, Computer
from agentsdk.compat.openai_agents.editor import ApplyPatchOperation, ApplyPatchResult
from agentsdk.compat.openai_agents.exceptions import UserError
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.define.context import ToolContext as OwnToolContext

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent

Invoke = Callable[[RunScope, "Agent[Any]", OwnToolContext[Any], Mapping[str, Any]], Awaitable[Any]]
"""Runs a call: given the run, the agent, the call and its arguments."""


def _list(fields: Mapping[str, Any], name: str) -> list[Any]:
    found: list[Any] | None = fields.get(name)
    return found or []


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def invoke_shell(tool: theirs.ShellTool | theirs.LocalShellTool) -> Invoke:
    """Run the commands of a call."""

    async def invoke(scope: RunScope, agent: Agent[Any], ctx: OwnToolContext[Any], given: Mapping[str, Any]) -> Any:
        if isinstance(tool, theirs.LocalShellTool):
            call = {"type": "local_shell_call", "call_id": ctx.tool_call_id, "id": ctx.tool_call_id, "status": "completed"}
            call["action"] = {"type": "exec", "command": given.get("commands") or [], "env": {}}  # type: ignore[assignment]
            raw = built("response_output_item.LocalShellCall", call)
            return str(await _awaited(tool.executor(theirs.LocalShellCommandRequest(scope.wrapper, raw))))
        action = theirs.ShellActionRequest(
            list(given.get("commands") or []), given.get("timeout_ms"), given.get("max_output_length")
        )
        data = theirs.ShellCallData(ctx.tool_call_id, action, raw=call_of(scope.originals, ctx))
        assert tool.executor is not None
        result: Any = await _awaited(tool.executor(theirs.ShellCommandRequest(scope.wrapper, data)))
        return _shell_text(result) if isinstance(result, theirs.ShellResult) else str(result)

    return invoke


def _shell_text(result: theirs.ShellResult) -> str:
    """What the commands printed, as the API takes it."""
    output: list[dict[str, Any]] = []
    for one in result.output:
        outcome: dict[str, Any] = {"type": one.outcome.type}
        if one.outcome.type == "exit":
            outcome["exit_code"] = one.outcome.exit_code or 0
        output.append({"stdout": one.stdout, "stderr": one.stderr, "outcome": outcome})
    return json.dumps({"output": output, "max_output_length": result.max_output_length})


def operation_of(given: Mapping[str, Any], wrapper: RunContextWrapper[Any]) -> ApplyPatchOperation:
    """The change that a call asks for."""
    kind = given.get("type")
    if kind not in ("create_file", "update_file", "delete_file") or not given.get("path"):
        raise UserError(f"a patch is of type {kind!r}, expected one that creates, updates or deletes a file at a path")
    return ApplyPatchOperation(kind, str(given["path"]), given.get("diff"), wrapper, given.get("move_to"))


def invoke_patch(tool: theirs.ApplyPatchTool) -> Invoke:
    """Have the editor make the change of a call."""

    async def invoke(scope: RunScope, agent: Agent[Any], ctx: OwnToolContext[Any], given: Mapping[str, Any]) -> Any:
        operation = operation_of(given, scope.wrapper)
        try:
            result: Any = await _awaited(getattr(tool.editor, operation.type)(operation))
        except Exception as error:
            return f"The patch failed: {error}"
        if isinstance(result, ApplyPatchResult):
            return result.output or ""
        return "" if result is None else str(result)

    return invoke


def invoke_custom(tool: theirs.CustomTool) -> Invoke:
    """Run a custom tool on the text of a call."""

    async def invoke(scope: RunScope, agent: Agent[Any], ctx: OwnToolContext[Any], given: Mapping[str, Any]) -> Any:
        text = str(given.get("input") or "")
        context = scope.context_of(ctx, agent)
        context.tool_arguments = text
        return await _awaited(tool.on_invoke_tool(context, text))

    return invoke


def invoke_computer(tool: theirs.ComputerTool[Any]) -> Invoke:
    """Do the actions of a call; its result is a screenshot."""

    async def invoke(scope: RunScope, agent: Agent[Any], ctx: OwnToolContext[Any], given: Mapping[str, Any]) -> Any:
        for check in _list(given, "pending_safety_checks"):
            await _acknowledge(tool, scope, agent, ctx, check)
        computer = await theirs.resolve_computer(tool=tool, run_context=scope.wrapper)
        shot = ""
        for action in _list(given, "actions"):
            shot = await _act(computer, action) or ""
        shot = shot or await _do(computer, "screenshot")
        url = shot if str(shot).startswith("data:") else f"data:image/png;base64,{shot}"
        return theirs.ToolOutputImage(image_url=url)

    return invoke


async def _acknowledge(
    tool: theirs.ComputerTool[Any], scope: RunScope, agent: Agent[Any], ctx: OwnToolContext[Any], check: Any
) -> None:
    if tool.on_safety_check is None:
        raise UserError("a computer call has a safety check and the ComputerTool no on_safety_check, expected one; give it")
    call = call_of(scope.originals, ctx)
    data = theirs.ComputerToolSafetyCheckData(scope.wrapper, agent, call, built("PendingSafetyCheck", check))
    if not await _awaited(tool.on_safety_check(data)):
        raise UserError("a safety check of a computer call was not acknowledged")


async def _do(computer: Computer | AsyncComputer, method: str, *args: Any) -> Any:
    function = getattr(computer, method)
    if inspect.iscoroutinefunction(function):
        return await function(*args)
    return await _awaited(await asyncio.to_thread(function, *args))


async def _act(computer: Computer | AsyncComputer, action: dict[str, Any]) -> Any:
    """Do one action; the screenshot, where it takes one."""
    x, y = action.get("x"), action.get("y")
    match action.get("type"):
        case "screenshot":
            return await _do(computer, "screenshot")
        case "click":
            await _do(computer, "click", x, y, action.get("button") or "left")
        case "double_click":
            await _do(computer, "double_click", x, y)
        case "move":
            await _do(computer, "move", x, y)
        case "scroll":
            await _do(computer, "scroll", x, y, action.get("scroll_x") or 0, action.get("scroll_y") or 0)
        case "type":
            await _do(computer, "type", action.get("text") or "")
        case "keypress":
            await _do(computer, "keypress", list(action.get("keys") or []))
        case "wait":
            await _do(computer, "wait")
        case "drag":
            await _do(computer, "drag", [(point["x"], point["y"]) for point in _list(action, "path")])
        case kind:
            raise UserError(f"a computer call has an action of type {kind!r}, which this computer has not")
    return None
