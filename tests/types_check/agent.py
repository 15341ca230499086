"""Typed as documented: both checkers read these files, nothing runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from agentsdk import (
    Agent,
    AgentHooks,
    AgentOutputSchema,
    MemorySession,
    OutputFunction,
    RunContextWrapper,
    RunHooks,
    Session,
    StopAtTools,
    StreamEvent,
    ToolContext,
    ToolsToFinalOutputResult,
    function_tool,
)
from agentsdk.items import InputItem
from agentsdk.tools import AgentTool, ToolResult


@dataclass
class User:
    name: str


@dataclass
class Answer:
    text: str


@function_tool
def of_user(ctx: ToolContext[User]) -> str:
    return ctx.context.name


@function_tool
def of_anyone(x: int) -> int:
    return x


def instructions(context: RunContextWrapper[User], agent: Agent[User, Any]) -> str:
    return context.context.name + agent.name


async def later(context: RunContextWrapper[User], agent: Agent[User, Any]) -> str:
    return context.context.name


def decide(context: RunContextWrapper[User], results: list[ToolResult]) -> ToolsToFinalOutputResult:
    return ToolsToFinalOutputResult(bool(results), context.context.name)


# Without an output type the output is text; without a context anything goes.
assert_type(Agent(name="plain"), Agent[Any, str])
assert_type(Agent(name="typed", output_type=Answer), Agent[Any, Answer])
assert_type(Agent(name="schema", output_type=AgentOutputSchema(Answer)), Agent[Any, Answer])
assert_type(Agent(name="list", output_type=list[Answer]), Agent[Any, list[Answer]])
assert_type(Agent(name="number", output_type=int), Agent[Any, int])
assert_type(Agent[None, Answer | User](name="union", output_type=AgentOutputSchema(Answer | User)), Agent[None, Answer | User])
assert_type(Agent(name="union", output_type=AgentOutputSchema(Answer | User)), Agent[Any, Any])
assert_type(Agent[None, Answer | User](name="either", output_type=[Answer, User]), Agent[None, Answer | User])
assert_type(AgentOutputSchema(Answer, mode="tool"), AgentOutputSchema[Answer])


async def book(context: RunContextWrapper[User], seat: str) -> Answer:
    return Answer(seat + context.context.name)


def count(text: str) -> int:
    return len(text)


assert_type(OutputFunction(book), OutputFunction[Answer])
assert_type(Agent(name="function", output_type=OutputFunction(book, mode="tool")), Agent[Any, Answer])
assert_type(Agent(name="function", output_type=OutputFunction(count)), Agent[Any, int])
assert_type(AgentOutputSchema[Answer | User]([Answer, User], mode="prompted"), AgentOutputSchema[Answer | User])

# The context is found in the tools, the instructions or the behaviour, or said once.
assert_type(Agent(name="by tool", tools=[of_user]), Agent[User, str])
assert_type(Agent(name="by instructions", instructions=instructions), Agent[User, str])
assert_type(Agent(name="by later", instructions=later), Agent[User, str])
assert_type(Agent(name="by behaviour", tool_use_behavior=decide), Agent[User, str])
said = Agent[User, Answer](
    name="said", tools=[of_user, of_anyone], output_type=Answer, tool_use_behavior=StopAtTools(["of_user"])
)
assert_type(said, Agent[User, Answer])
assert_type(said.clone(name="other"), Agent[User, Answer])


def first(answer: Answer) -> str:
    return answer.text


assert_type(said.as_tool(), AgentTool[User])
assert_type(said.as_tool("ask", "Ask.", first), AgentTool[User])
assert_type(said.as_tool(max_turns=3, timeout=5, needs_approval=True).clone(max_turns=4, timeout=None), AgentTool[User])
Agent[User, str](name="caller", tools=[said.as_tool(), of_anyone], handoffs=[said])


def on_stream(event: StreamEvent) -> None:
    assert_type(event.path, tuple[str, ...])


async def on_stream_async(event: StreamEvent) -> None:
    on_stream(event)


assert_type(said.as_tool(on_stream=on_stream), AgentTool[User])
assert_type(said.as_tool(on_stream=on_stream_async).clone(on_stream=None), AgentTool[User])


def to_text(context: ToolContext[User], answer: Answer) -> str:
    return context.context.name + answer.text


async def to_items(context: ToolContext[User], text: str) -> list[InputItem]:
    return [{"role": "user", "content": context.context.name + text}]


class Titled(TypedDict):
    title: str


async def to_titled(context: ToolContext[User], titled: Titled) -> str:
    return titled["title"]


def their_session(context: ToolContext[User]) -> Session | None:
    return MemorySession(context.context.name) if context.context.name else None


assert_type(said.as_tool(parameters=Answer, defer_loading=True), AgentTool[User])
assert_type(said.as_tool(parameters=Answer, input_builder=to_text), AgentTool[User])
assert_type(said.as_tool(parameters=Titled, input_builder=to_titled), AgentTool[User])
assert_type(said.as_tool(input_builder=to_items), AgentTool[User])
assert_type(said.as_tool(session=their_session, hooks=RunHooks()).clone(session=None, hooks=None), AgentTool[User])
assert_type(said.as_tool(session=MemorySession("s")), AgentTool[User])

# Each of these must be an error: an unused ignore is one for both checkers.
Agent[int, str](name="x", tools=[of_user])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Agent[int, str](name="x", handoffs=[said])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Agent[int, str](name="x", instructions=instructions)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Agent[User, int](name="x", output_type=Answer)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Agent[User, int](name="x", output_type=AgentOutputSchema(Answer))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Agent[User, int](name="x", output_type=[int, Answer])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
Agent[User, str](name="x", output_type=OutputFunction(count))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
OutputFunction(5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
AgentOutputSchema(Answer, mode="tools")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
Agent(name="x", tool_use_behavior="stop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Agent(name="x", tools=[len])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
said.as_tool(on_stream=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
said.as_tool(parameters=User, input_builder=to_text)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
said.as_tool(parameters=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
said.as_tool(hooks=AgentHooks())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
said.as_tool(session=first)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
said.as_tool(timeout="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
said.as_tool(effect="once")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
