"""Typed as documented: both checkers read these files, nothing runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from agentsdk.core.overflow import Output, Overflow, cap_output
from agentsdk.define.context import RunContextWrapper, ToolContext
from agentsdk.define.function_tool import function_tool, tool
from agentsdk.define.output import AgentOutputSchema
from agentsdk.define.tool import FunctionTool
from agentsdk.define.tool_output import to_output
from agentsdk.types.errors import InvalidArgumentsError
from agentsdk.types.spec import OutputSpec, ToolSpec


@dataclass
class User:
    name: str


@function_tool
def plain(x: int) -> str:
    return str(x)


@tool
async def with_tool_context(ctx: ToolContext[User], x: int, *, y: str = "") -> str:
    assert_type(ctx.context, User)
    return ctx.context.name


@function_tool
def with_wrapper(ctx: RunContextWrapper[User]) -> str:
    return ctx.context.name


@function_tool(timeout=5, effect="idempotent", needs_approval=lambda ctx, arguments, call_id: bool(arguments))
async def with_options(ctx: ToolContext[User], x: int) -> str:
    return ctx.context.name


@function_tool(name_override="other")
def plain_with_options(x: int) -> int:
    return x


assert_type(plain, FunctionTool[Any])
assert_type(with_tool_context, FunctionTool[User])
assert_type(with_wrapper, FunctionTool[User])
assert_type(with_options, FunctionTool[User])
assert_type(plain_with_options, FunctionTool[Any])
assert_type(plain.spec, ToolSpec)
assert_type(with_options.clone(timeout=None), FunctionTool[User])


def called(ctx: RunContextWrapper[User], arguments: dict[str, object], call_id: str) -> bool:
    return ctx.context.name == "" or call_id in arguments


def body(ctx: ToolContext[User], x: int) -> int:
    return x


assert_type(function_tool(body, needs_approval=called), FunctionTool[User])


async def own(ctx: ToolContext[User], arguments: str) -> object:
    return arguments


assert_type(FunctionTool("own", "", {}, own), FunctionTool[User])


async def use(ctx: ToolContext[User]) -> None:
    assert_type(await with_wrapper.invoke(ctx, {}), object)
    assert_type(await with_wrapper.error_text(ctx, InvalidArgumentsError("x")), str)
    assert_type(await with_wrapper.on_invoke_tool(ctx, "{}"), object)


assert_type(to_output(1), Output)
assert_type(cap_output("x"), tuple[Output, Overflow | None])
assert_type(AgentOutputSchema(User).validate("{}"), User)
assert_type(AgentOutputSchema(list[int]).validate_json("[]"), list[int])
assert_type(AgentOutputSchema(User).spec, OutputSpec | None)

# Each of these must be an error: an unused ignore is one for both checkers.
function_tool(5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
function_tool(plain, effect="twice")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
function_tool(plain, timeout="5")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
function_tool(plain, time_out=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
plain.clone(timeout="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
plain.clone(time_out=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
FunctionTool("own", "", {}, own, timeout="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
plain.name.nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnusedExpression]  # noqa: B018
