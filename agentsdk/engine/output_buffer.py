"""Holding a stream back until output guardrails have judged what it would show: `RunConfig(buffer_output=True)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from agentsdk.define.stream_events import RawResponsesStreamEvent, RunItemStreamEvent, StreamEvent
from agentsdk.engine.run import Run

T = TypeVar("T")

_SAYS = ("message_output_created", "reasoning_item_created", "tool_output")


async def buffer_turn(run: Run, take: Callable[[Run], Awaitable[T]]) -> T:
    """What `take(run)` gives, its stream events released with it, or as soon as `release_output` says that nothing is left
    to judge.

    When it raises, whatever the model or a tool said stays back for good.
    """
    channel = run.channel
    if channel is None or not run.deps.config.buffer_output or not has_output_guardrails(run):
        return await take(run)
    channel.hold()
    try:
        given = await take(run)
    except BaseException:
        channel.release(_is_harmless)
        raise
    channel.release()
    return given


def release_output(run: Run) -> None:
    """Nothing that is held back can be an output that a guardrail would stop."""
    if run.channel is not None:
        run.channel.release()


def has_output_guardrails(run: Run) -> bool:
    """Whether a final output would be judged here."""
    return bool(run.agent.output_guardrails or (run.parent is None and run.deps.config.output_guardrails))


def _is_harmless(event: StreamEvent) -> bool:
    if isinstance(event, RawResponsesStreamEvent):
        return False
    return not (isinstance(event, RunItemStreamEvent) and event.name in _SAYS)
