"""Typed as documented: both checkers read these files, nothing runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from agentsdk import (
    Agent,
    AgentsException,
    AgentUpdatedStreamEvent,
    MessageOutputItem,
    ModelResponse,
    RawResponsesStreamEvent,
    RunHooks,
    RunItem,
    RunItemStreamEvent,
    Runner,
    RunResult,
    RunResultStreaming,
    RunState,
    StreamEvent,
    ToolApprovalItem,
    Usage,
)
from agentsdk.errors import ResumableState
from agentsdk.runs import FinalOutput, Handoff, Interruption, NextStep, PendingCall, RunAgain


@dataclass
class User:
    name: str


@dataclass
class Answer:
    text: str


typed = Agent[User, Answer](name="typed", output_type=Answer)
without = Agent[None, Answer](name="without", output_type=Answer)
plain = Agent(name="plain")


async def run() -> None:
    result = await Runner.run(typed, "Hi", context=User("Ada"))
    assert_type(result, RunResult[Answer])
    assert_type(result.final_output, Answer)
    assert_type((await Runner.run(plain, "Hi")).final_output, str)
    assert_type((await Runner.run(plain, [{"role": "user", "content": "Hi"}])).final_output, str)
    assert_type(Runner.run_sync(typed, "Hi", context=User("Ada")), RunResult[Answer])
    assert_type(await Runner.run(without, "Hi", max_turns=3), RunResult[Answer])
    assert_type(await Runner.run(plain, "Hi", context=User("Ada")), RunResult[str])

    # A pause never leaks into the type of the output.
    assert_type(result.interruptions, list[PendingCall])
    _ = assert_type(result.to_state(), RunState)
    assert_type(await Runner.run(typed, result.to_state()), RunResult[Answer])
    _ = assert_type(RunState.from_string(typed, result.to_state().to_string()), RunState)
    for waiting in result.interruptions:
        assert_type(waiting.path, tuple[str, ...])
        if isinstance(waiting, ToolApprovalItem):
            assert_type(waiting.arguments, str)

    assert_type(result.final_output_as(int), int)
    assert_type(result.new_items, list[RunItem])
    assert_type(result.raw_responses, list[ModelResponse])
    assert_type(result.last_agent, Agent[Any, Any])
    assert_type(result.usage, Usage)
    for item in result.new_items:
        if isinstance(item, MessageOutputItem):
            assert_type(item.raw_item.text, str)


async def stream() -> None:
    streamed = Runner.run_streamed(typed, "Hi", context=User("Ada"))
    _ = assert_type(streamed, RunResultStreaming[Answer])
    async for event in streamed:
        if event.type == "context_compacted_stream_event":
            assert_type(event.before, int)
        elif event.type == "limit_near_stream_event":
            assert_type(event.used, str)
            continue
        elif event.type == "output_rejected_stream_event":
            assert_type(event.feedback, str)
            assert_type(event.path, tuple[str, ...])
        elif event.type == "tool_progress_stream_event":
            assert_type(event.tool_name, str)
            assert_type(event.path, tuple[str, ...])
        else:
            assert_type(event, RawResponsesStreamEvent | RunItemStreamEvent | AgentUpdatedStreamEvent)
        assert_type(event.path, tuple[str, ...])
        if event.type == "agent_updated_stream_event":
            assert_type(event.new_agent, Agent[Any, Any])
    async for same in streamed.stream_events():
        assert_type(same, StreamEvent)
    assert_type(streamed.final_output, Answer)
    assert_type(await Runner.run_streamed(typed, "Hi", context=User("Ada")), RunResult[Answer])
    async with Runner.run_streamed(plain, "Hi") as entered:
        _ = assert_type(entered, RunResultStreaming[str])


async def resume(error: AgentsException) -> None:
    assert_type(error.state, ResumableState | Any)
    if error.state is not None:
        assert_type(await Runner.run(typed, error.state), RunResult[Answer])


def every_step(step: NextStep) -> str:
    # Complete: with one step missing, both checkers would say that a path returns nothing.
    match step:
        case FinalOutput():
            return step.output
        case RunAgain():
            return ""
        case Handoff():
            return step.call.name
        case Interruption():
            return step.pending[0].call_id


async def wrong(hooks: RunHooks[int]) -> None:
    # Each of these must be an error: an unused ignore is one for both checkers.
    await Runner.run(typed, "Hi")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    Runner.run_sync(typed, "Hi")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    _ = Runner.run_streamed(typed, "Hi")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    user = User("Ada")
    await Runner.run(typed, "Hi", context=5)  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await Runner.run(typed, "Hi", context=user, hooks=hooks)  # type: ignore[misc]  # pyright: ignore[reportCallIssue, reportArgumentType]
    await Runner.run(typed, 5, context=user)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    answer = (await Runner.run(typed, "Hi", context=user)).final_output
    answer.nothing  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnusedExpression]  # noqa: B018
