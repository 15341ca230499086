"""Streaming: recorded events become stream events in the channel of a reader, those of nested runs too."""

from __future__ import annotations

from collections.abc import Iterator

from agentsdk.core.state import State
from agentsdk.define.stream_events import RawResponsesStreamEvent, StreamEvent
from agentsdk.engine.channel import Channel
from agentsdk.engine.items import ItemWalk
from agentsdk.engine.run import Run, StreamChannel
from agentsdk.types.deltas import ModelStreamEvent
from agentsdk.types.events import RunEvent


def stream_to(run: Run, channel: Channel[StreamEvent]) -> None:
    """Let the reader of `channel` see what happens in the run from now on."""
    channel.open()
    run.channel = channel
    run.shown = dict(_lengths(run.state, ()))
    walk = _walk(run)
    for event in run.state.log:
        walk.feed(event)

    def publish(event: RunEvent) -> None:
        for shown in walk.feed(event):
            channel.put_nowait(shown)

    run.publish = publish


def stream_nested_to(run: Run, channel: StreamChannel) -> None:
    """Let the reader of the outermost run see a nested one too: what a person has answered meanwhile, then what happens.

    Where only an `on_stream` reads, it is told what happens from now on.
    """
    shown = run.root.shown
    run.channel = channel
    walk, path, log = _walk(run), run.path, run.state.log
    known = len(log) if shown is None else shown.setdefault(path, 0)
    for event in log[:known]:
        walk.feed(event)

    def publish(event: RunEvent) -> None:
        if shown is not None:
            shown[path] += 1
        for one in walk.feed(event):
            channel.put_nowait(one)

    for event in log.since(known):
        publish(event)
    run.publish = publish


async def show_delta(run: Run, delta: ModelStreamEvent) -> None:
    """Show a delta that has not come from the run's model, as those that do are shown."""
    shown, channel = RawResponsesStreamEvent(delta, run.path), run.channel
    run.show_watchers(shown)
    if channel is not None:
        channel.put_nowait(shown)
        if channel.is_full:
            await channel.wait_for_room()


def _walk(run: Run) -> ItemWalk:
    return ItemWalk(run.agents, run.agents[run.state.first_agent] if run.state.log else run.agent, run.path)


def _lengths(state: State, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """The nested runs of the open turn, at any depth, each with the length of its log."""
    if state.turn is not None:
        for call_id, child in state.turn.children.items():
            yield (*path, call_id), len(child.log)
            yield from _lengths(child, (*path, call_id))
