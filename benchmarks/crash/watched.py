"""A store that is watched from outside of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from agentsdk.core.codec import decode_events
from agentsdk.ports.run_store import RunStore
from agentsdk.types.events import ModelReplied, ToolFinished, ToolsIntended, unnested
from agentsdk.types.items import FunctionCall
from agentsdk.types.summary import RunSummary


class Watched:
    """A store that calls `saved` with the revision before and the events of each append, once these are durable."""

    def __init__(self, store: RunStore, saved: Callable[[int, Sequence[bytes]], None]) -> None:
        self._store = store
        self._saved = saved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, run_id: str, expected_rev: int, events: Sequence[bytes], summary: RunSummary) -> int:
        signals = await self._store.append(run_id, expected_rev, events, summary)
        self._saved(expected_rev, events)
        return signals


class SavedCall(NamedTuple):
    """What is saved of a call; `path` are the calls that lead to its run."""

    point: Literal["response saved", "intent saved", "result saved"]
    path: tuple[str, ...]
    call_id: str


def saved_calls(events: Sequence[bytes]) -> Iterator[SavedCall]:
    """What events say of calls: that the model asks for them, that they are about to run, their results."""
    for path, event in map(unnested, decode_events(events)):
        match event:
            case ModelReplied(response):
                for item in response.output:
                    if isinstance(item, FunctionCall):
                        yield SavedCall("response saved", path, item.call_id)
            case ToolsIntended(call_ids):
                for call_id in call_ids:
                    yield SavedCall("intent saved", path, call_id)
            case ToolFinished(call_id):
                yield SavedCall("result saved", path, call_id)
            case _:
                pass
