"""`follow`: what happens in a run, told until it rests or is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agentsdk.define.run_config import RunConfig
from agentsdk.define.stream_events import WatchEvent
from agentsdk.engine.stored import store_of
from agentsdk.ports.run_store import not_found
from agentsdk.runner import Runner
from agentsdk.types.errors import AgentsException
from agentsdk.web.front_ends.narrator import Narrator
from agentsdk.web.front_ends.told import Failed, Told
from agentsdk.web.limits import WebLimits
from agentsdk.web.problems import told_of

logger = logging.getLogger("agentsdk")

_FIRST_LOOK, _LAST_LOOK = 0.005, 1.0
"""Seconds after which the summary of a run is looked at in which something waits: that it rests may be no event more."""


@dataclass(frozen=True)
class Going:
    """A run to follow. `narrator` knows what was told of it already."""

    run_id: str
    narrator: Narrator


async def follow(going: Going, config: RunConfig, limits: WebLimits) -> AsyncGenerator[list[Told], None]:
    """What happens in the run, until it rests or is over; an empty list after `ping_seconds` of silence.

    The last of it is an `Outcome`, whatever goes wrong.
    """
    narrator = going.narrator
    try:
        async for told in _told(going, config, limits):
            yield told
    except AgentsException as error:
        logger.warning("run %r can no longer be followed: %s", going.run_id, error)
        yield list(narrator.close(Failed(type(error).__name__, told_of(error)[1])))


async def _told(going: Going, config: RunConfig, limits: WebLimits) -> AsyncGenerator[list[Told], None]:
    loop, narrator = asyncio.get_running_loop(), going.narrator
    ends, look, said = loop.time() + limits.stream_seconds, _FIRST_LOOK, loop.time()
    watching = Runner.watch(going.run_id, run_config=config, after=len(narrator.state.log))
    coming: asyncio.Future[WatchEvent | None] | None = None
    try:
        while (now := loop.time()) < ends:
            coming = coming or asyncio.ensure_future(anext(watching, None))
            pings = said + limits.ping_seconds
            await asyncio.wait((coming,), timeout=min(ends, pings, now + look if narrator.may_rest else ends) - now)
            if coming.done():
                event, coming, look = coming.result(), None, _FIRST_LOOK
                if event is None:
                    break
                if told := list(narrator.feed(event)):
                    yield told
                    said = loop.time()
            elif narrator.may_rest and await _rests(going, config):
                break
            elif loop.time() >= pings:
                yield []
                said = loop.time()
            else:
                look = min(2 * look, _LAST_LOOK)
        else:
            words = f"the stream ended after {limits.stream_seconds:g} seconds; the run goes on: connect again"
            yield list(narrator.close(Failed("StreamEnded", words)))
            return
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait((coming,))
        await watching.aclose()
    summary = await store_of(config).summary(going.run_id)
    if summary is None:
        raise not_found(going.run_id)
    yield list(narrator.close(narrator.outcome(summary)))


async def _rests(going: Going, config: RunConfig) -> bool:
    """Whether the run waits for more than a time, and all of it is told. One that has yet to take a signal does not wait."""
    summary, state = await store_of(config).summary(going.run_id), going.narrator.state
    if summary is None:
        return True
    waits = summary.waiting > 0 or state.paused is not None or state.limit is not None
    return summary.status == "waiting" and waits and summary.rev <= len(state.log)
