"""`Runner.watch`: what happens in a stored run, read from its store by anyone; and in the run's own process, its deltas too.

A watcher reads the log, then waits for the next revision, so it needs nothing of the owner, and any number of them disturb
nobody. Deltas are never recorded: the owner offers them to the watchers of its process, and who does not keep up misses some.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from agentsdk.core.codec import decode_events
from agentsdk.define.stream_events import RecordedEvent, WatchEvent
from agentsdk.engine.checked_store import CheckedStore
from agentsdk.engine.watchers import add_watcher, remove_watcher
from agentsdk.ports.run_store import RunStore
from agentsdk.types.events import RunEnded, RunResumed, Stopped, unnested

_WAIT = 30.0
"""Seconds after which a watcher asks its store again, whatever that has told it."""

_LETTING_GO = 0.2
"""The same for a run that has ended or stopped, but is still held: that its owner lets go of it may be no revision more."""


async def watch(store: RunStore, run_id: str, after: int) -> AsyncGenerator[WatchEvent, None]:
    """What `Runner.watch` gives."""
    checked, watcher = CheckedStore(store), add_watcher(store, run_id)
    waiting: asyncio.Future[int] | None = None
    try:
        revision, has_stopped = after, False
        while True:
            events = decode_events(await checked.read(run_id, revision))
            for event in events:
                for delta in watcher.take(revision):
                    yield delta
                revision += 1
                path, inner = unnested(event)
                yield RecordedEvent(revision, inner, path)
                has_stopped = isinstance(event, RunEnded | Stopped) or (has_stopped and not isinstance(event, RunResumed))
            summary = await checked.summary(run_id) if has_stopped or not events else None
            if summary is not None and summary.rev <= revision and summary.status in ("finished", "failed", "cancelled"):
                return
            is_held = summary is not None and summary.status == "running"
            timeout = _LETTING_GO if has_stopped and is_held else _WAIT
            waiting = asyncio.ensure_future(checked.wait(run_id, revision, timeout))
            while not waiting.done():
                # One of a later revision is kept until the log has been read so far: the store will say that it can be.
                for delta in watcher.take(revision):
                    yield delta
                arrived = asyncio.ensure_future(watcher.arrived())
                try:
                    await asyncio.wait((waiting, arrived), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    arrived.cancel()
            waiting.result()
    finally:
        if waiting is not None and not waiting.done():
            waiting.cancel()
            await asyncio.wait((waiting,))
        remove_watcher(store, run_id, watcher)
