"""Tools: those of the program as tools of agentsdk."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from agentsdk.compat.openai_agents import tool as theirs
from agentsdk.compat.openai_agents._answers import is_yes
from agentsdk.compat.openai_agents._bridge.approval import approval_of
from agentsdk.compat.openai_agents._bridge.hosted import hosted_tool
from agentsdk.compat.openai_agents._bridge.local_tools import invoke_computer, invoke_custom, invoke_patch, invoke_shell
from agentsdk.compat.openai_agents._bridge.outputs import own_parts, parts_of
from agentsdk.compat.openai_agents._bridge.scope import RunScope, scope_of
from agentsdk.compat.openai_agents.agent import Agent
from agentsdk.compat.openai_agents.exceptions import AgentsException, ToolTimeoutError, UserError
from agentsdk.compat.openai_agents.run_config import ToolErrorFormatterArgs
from agentsdk.compat.openai_agents.tool_guardrails import (
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolInputGuardrailResult,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    ToolOutputGuardrailResult,
)
from agentsdk.define.context import RunContextWrapper as OwnContext
from agentsdk.define.context import ToolContext as OwnToolContext
from agentsdk.define.guardrail_output import ToolGuardrailFunctionOutput as OwnVerdict
from agentsdk.define.tool import FunctionTool as OwnTool
from agentsdk.define.tool import tool_of
from agentsdk.define.tool_body import BoundArguments, ToolBody
from agentsdk.define.tool_guardrail import ToolInputGuardrail as OwnInputGuardrail
from agentsdk.define.tool_guardrail import ToolInputGuardrailData as OwnInputData
from agentsdk.define.tool_guardrail import ToolOutputGuardrail as OwnOutputGuardrail
from agentsdk.define.tool_guardrail import ToolOutputGuardrailData as OwnOutputData
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException as OwnError
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.hosted_tool import HostedTool

Invoke = Callable[[RunScope, Agent[Any], OwnToolContext[Any], Mapping[str, object]], Awaitable[Any]]


class Body(ToolBody[RunScope]):
    """What a tool of the program runs: it is given the arguments as the model wrote them, and checks them itself."""

    __slots__ = ("_description", "_invoke", "_schema", "agent", "tool")

    def __init__(self, tool: Any, agent: Agent[Any], description: str, schema: JsonObject, invoke: Invoke) -> None:
        super().__init__(cast("Callable[..., object]", invoke))
        self.tool = tool
        self.agent = agent
        self._description = description
        self._schema = schema
        self._invoke = invoke

    @property
    def description(self) -> str:
        return self._description

    @property
    def params_json_schema(self) -> JsonObject:
        return self._schema

    @property
    def code(self) -> str:
        return str(getattr(self.tool, "name", ""))

    def bind(self, given: JsonObject | None, arguments: Mapping[str, object]) -> BoundArguments:
        return (), arguments

    def start(self, name: str, ctx: OwnToolContext[RunScope], bound: BoundArguments) -> Awaitable[object]:
        return self._run(ctx, bound[1])

    async def _run(self, ctx: OwnToolContext[RunScope], arguments: Mapping[str, object]) -> object:
        scope = scope_of(ctx)
        output = await self._invoke(scope, self.agent, ctx, arguments)
        scope.outputs[ctx.tool_call_id] = output
        parts = parts_of(output)
        return str(output) if parts is None else own_parts(parts)


class Unparsed(dict[str, Any]):
    """Arguments that are no JSON object, in place of which nothing is here: what the tool makes of their text is its own."""


class FunctionBody(Body):
    """A function tool's: it is called also with arguments that are no JSON object, as its `failure_error_function` is told."""

    __slots__ = ()

    def parse(self, text: str) -> JsonObject:
        try:
            return super().parse(text)
        except InvalidArgumentsError:
            return Unparsed()


def own_tool(tool: theirs.Tool, agent: Agent[Any]) -> OwnTool[Any] | HostedTool | None:
    """A tool of the program for the run beneath; None for one of the provider's that agentsdk has no declaration of. Raises
    `UserError` for what is no tool."""
    match tool:
        case theirs.FunctionTool():
            return _function_tool(tool, agent)
        case theirs.ShellTool() if tool.executor is not None:
            return _kind(
                "shell",
                tool,
                agent,
                invoke_shell(tool),
                approval_of(tool, agent, _approval(tool.needs_approval, _action)),
                settings={},
            )
        case theirs.LocalShellTool():
            return _kind("shell", tool, agent, invoke_shell(tool), {}, settings={})
        case theirs.ApplyPatchTool():
            approval = approval_of(tool, agent, _approval(tool.needs_approval, _operation))
            return _kind("apply_patch", tool, agent, invoke_patch(tool), approval, settings={})
        case theirs.ComputerTool():
            return _kind("computer", tool, agent, invoke_computer(tool), {}, settings=_screen(tool))
        case theirs.CustomTool():
            form: Any = tool.format
            approval = approval_of(tool, agent, _approval(tool.needs_approval, _input))
            settings: JsonObject = {"grammar": form} if isinstance(form, dict) else {}
            made = tool_of(
                tool.name,
                Body(tool, agent, tool.description, _TEXT, invoke_custom(tool)),
                False,
                {"kind": "custom", "kind_settings": settings, **approval, **_ERRORS},
            )
            return made
        case theirs.ShellTool() | theirs.ProgrammaticToolCallingTool():
            return None
        case _:
            return hosted_tool(tool)


_TEXT: JsonObject = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_ANY: JsonObject = {"type": "object", "properties": {}}
_ERRORS: dict[str, object] = {"failure_error_function": None}


def _kind(
    kind: str, tool: Any, agent: Agent[Any], invoke: Invoke, approval: Mapping[str, object], settings: JsonObject
) -> OwnTool[Any]:
    options = {"kind": kind, "kind_settings": settings, **approval, **_ERRORS}
    return tool_of(kind, Body(tool, agent, f"The {kind} tool.", _ANY, invoke), False, options)


def _screen(tool: theirs.ComputerTool[Any]) -> JsonObject:
    computer: Any = tool.computer
    size = getattr(computer, "dimensions", None)
    width, height = cast("tuple[int, int]", size) if isinstance(size, tuple) else (1024, 768)
    return {"width": width, "height": height}


def _function_tool(tool: theirs.FunctionTool, agent: Agent[Any]) -> OwnTool[Any]:
    options: dict[str, object] = {**_ERRORS}
    if tool.is_enabled is not True:
        options["is_enabled"] = _rule(tool.is_enabled, agent)
    if tool.needs_approval is not False:
        options["needs_approval"] = _approval(tool.needs_approval)
    if tool.tool_input_guardrails:
        options["tool_input_guardrails"] = [_input_guardrail(one, agent) for one in tool.tool_input_guardrails]
    if tool.tool_output_guardrails:
        options["tool_output_guardrails"] = [_output_guardrail(one, agent) for one in tool.tool_output_guardrails]
    if tool.defer_loading:
        options["defer_loading"] = True
    body = FunctionBody(tool, agent, tool.description, tool.params_json_schema, _invoke_function(tool))
    return tool_of(tool.name, body, tool.strict_json_schema, options)


def _invoke_function(tool: theirs.FunctionTool) -> Invoke:
    async def invoke(scope: RunScope, agent: Agent[Any], ctx: OwnToolContext[Any], arguments: Mapping[str, object]) -> Any:
        context = scope.context_of(ctx, agent)
        if ctx.answer is not None:
            scope.tool_contexts.pop(ctx.tool_call_id, None)
            context = scope.context_of(ctx, agent)
            context.nested_answer = ctx.answer
        try:
            parsed = tool.__dict__.get("invoke_parsed")
            if parsed is not None and parsed[0] is tool.on_invoke_tool and type(arguments) is not Unparsed:
                called = parsed[1](context, arguments)
            else:
                called = tool.on_invoke_tool(context, context.tool_arguments)
            output = await (called if tool.timeout_seconds is None else _timed(tool, context, called))
        except OwnError:
            raise
        except AgentsException:
            raise
        except Exception as error:
            raise UserError(f"Error running tool {tool.name}: {error}") from error
        if tool.custom_data_extractor is not None:
            await _extract(scope, tool, context, output)
        return output

    return invoke


async def _timed(tool: theirs.FunctionTool, context: Any, called: Awaitable[Any]) -> Any:
    assert tool.timeout_seconds is not None
    try:
        return await asyncio.wait_for(called, tool.timeout_seconds)
    except TimeoutError:
        error = ToolTimeoutError(tool.name, tool.timeout_seconds)
    if tool.timeout_behavior == "raise_exception":
        raise error
    describe = tool.timeout_error_function
    if describe is None:
        return f"Tool {tool.name!r} timed out after {tool.timeout_seconds:g} seconds."
    text = describe(context, error)
    return await text if inspect.isawaitable(text) else text


async def _extract(scope: RunScope, tool: theirs.FunctionTool, context: Any, output: Any) -> None:
    """What the tool's `custom_data_extractor` takes of the result."""
    assert tool.custom_data_extractor is not None
    raw = {"call_id": context.tool_call_id, "output": str(output), "type": "function_call_output"}
    given = tool.custom_data_extractor(theirs.FunctionToolCustomDataContext(context, tool, output, raw))
    data = await given if inspect.isawaitable(given) else given
    if data:
        scope.custom_data[context.tool_call_id] = dict(data)


def _rule(rule: Any, agent: Agent[Any]) -> Any:
    if isinstance(rule, bool):
        return rule

    async def enabled(ctx: OwnContext[Any], own_agent: Any) -> bool:
        return await is_yes(rule(scope_of(ctx).wrapper, agent))

    return enabled


def _approval(rule: Any, told: Callable[[Any, dict[str, Any]], Any] = lambda _, arguments: arguments) -> Any:
    """Whether a call waits for a person: the rule is asked with what `told` makes of the run's context and the arguments. Of
    arguments that it cannot be told a person decides."""
    if isinstance(rule, bool):
        return rule

    async def asks(ctx: OwnContext[Any], arguments: dict[str, Any], call_id: str) -> bool:
        if type(arguments) is Unparsed:
            return True
        wrapper = scope_of(ctx).wrapper
        return await is_yes(rule(wrapper, told(wrapper, arguments), call_id))

    return asks


def _action(_: Any, arguments: dict[str, Any]) -> theirs.ShellActionRequest:
    commands, milliseconds = list(arguments.get("commands") or []), arguments.get("timeout_ms")
    return theirs.ShellActionRequest(commands, milliseconds, arguments.get("max_output_length"))


def _operation(wrapper: Any, arguments: dict[str, Any]) -> Any:
    from agentsdk.compat.openai_agents._bridge.local_tools import operation_of

    return operation_of(arguments, wrapper)


def _input(_: Any, arguments: dict[str, Any]) -> str:
    return str(arguments.get("input") or "")


def _verdict(output: ToolGuardrailFunctionOutput) -> OwnVerdict:
    behavior = output.behavior
    match behavior["type"]:
        case "reject_content":
            return OwnVerdict.reject_content(cast(Any, behavior)["message"])
        case "raise_exception":
            return OwnVerdict.raise_exception()
        case _:
            return OwnVerdict.allow()


def _input_guardrail(guardrail: ToolInputGuardrail[Any], agent: Agent[Any]) -> OwnInputGuardrail[Any]:
    async def ask(data: OwnInputData[Any]) -> OwnVerdict:
        scope = scope_of(data.context)
        output = await guardrail.run(ToolInputGuardrailData(scope.context_of(data.context, agent), agent))
        scope.tool_input_results.append(ToolInputGuardrailResult(guardrail, output))
        if output.behavior["type"] == "raise_exception":
            scope.tripped = (guardrail, output)
        elif output.behavior["type"] == "reject_content":
            scope.outputs[data.context.tool_call_id] = cast(Any, output.behavior)["message"]
        return _verdict(output)

    return OwnInputGuardrail(ask, guardrail.get_name())


def _output_guardrail(guardrail: ToolOutputGuardrail[Any], agent: Agent[Any]) -> OwnOutputGuardrail[Any]:
    async def ask(data: OwnOutputData[Any]) -> OwnVerdict:
        scope = scope_of(data.context)
        call_id = data.context.tool_call_id
        given = scope.outputs.get(call_id, data.output)
        output = await guardrail.run(ToolOutputGuardrailData(scope.context_of(data.context, agent), agent, given))
        scope.tool_output_results.append(ToolOutputGuardrailResult(guardrail, output))
        if output.behavior["type"] == "raise_exception":
            scope.tripped = (guardrail, output)
        elif output.behavior["type"] == "reject_content":
            scope.outputs[call_id] = cast(Any, output.behavior)["message"]
        return _verdict(output)

    return OwnOutputGuardrail(ask, guardrail.get_name())


def rejection_text(scope: RunScope, tool_name: str, call_id: str) -> str | Awaitable[Any]:
    """What the run's `tool_error_formatter` has the model told of a rejected call; `""` where it says nothing. What an async
    one gives is awaited when the run goes on."""
    formatter = scope.config.tool_error_formatter
    if formatter is None:
        return ""
    default = "The call was not approved."
    given = formatter(ToolErrorFormatterArgs("approval_rejected", "function", tool_name, call_id, default, scope.wrapper))
    return given if isinstance(given, str) or inspect.isawaitable(given) else ""
