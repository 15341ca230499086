"""The watchers of runs in this process: to these the owner of a run offers its deltas."""

from __future__ import annotations

import asyncio
from collections import deque

from agentsdk.define.stream_events import RawResponsesStreamEvent, ToolProgressStreamEvent
from agentsdk.ports.run_store import RunStore

BUFFER = 256
"""Deltas that may wait for a watcher; a later one takes the place of the earliest."""

Delta = RawResponsesStreamEvent | ToolProgressStreamEvent


class Watcher:
    """The deltas that wait for one watcher."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._deltas: deque[tuple[int, Delta]] = deque(maxlen=BUFFER)
        self._arrived = asyncio.Event()

    def offer(self, revision: int, delta: Delta) -> None:
        """Give it a delta of the run at `revision` of its store, from any thread; where its loop is closed nobody reads."""
        self._deltas.append((revision, delta))
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            pass

    def take(self, revision: int) -> list[Delta]:
        """What has come, up to the run at `revision`."""
        self._arrived.clear()
        taken: list[Delta] = []
        while self._deltas and self._deltas[0][0] <= revision:
            taken.append(self._deltas.popleft()[1])
        return taken

    async def arrived(self) -> None:
        """Return when there is a delta."""
        await self._arrived.wait()


class Watchers:
    """The watchers of one run in this process."""

    def __init__(self) -> None:
        self.all: list[Watcher] = []

    def put_nowait(self, revision: int, delta: Delta) -> None:
        """Offer a delta of the run at `revision` to each."""
        for watcher in tuple(self.all):
            watcher.offer(revision, delta)


watched: dict[tuple[int, str], Watchers] = {}
"""By the identity of the store object, which its watchers keep alive, and the run's id."""


def add_watcher(store: RunStore, run_id: str) -> Watcher:
    """A watcher of the run, for the running event loop."""
    watcher = Watcher()
    watched.setdefault((id(store), run_id), Watchers()).all.append(watcher)
    return watcher


def remove_watcher(store: RunStore, run_id: str, watcher: Watcher) -> None:
    """It watches no more."""
    watchers = watched[id(store), run_id]
    watchers.all.remove(watcher)
    if not watchers.all:
        del watched[id(store), run_id]
