"""`Progress`: what happens in a run, told to a client that wants to know: turns, calls, and what tools emit."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from types import TracebackType

from agentsdk.define.run_config import RunConfig
from agentsdk.define.stream_events import RecordedEvent, ToolProgressStreamEvent, WatchEvent
from agentsdk.define.tool_output import to_output
from agentsdk.mcp.serving.caller import Caller
from agentsdk.mcp.serving.offer import Served
from agentsdk.ports.run_store import wait_for_revision
from agentsdk.runner import Runner
from agentsdk.types.events import ModelReplied, ToolFinished
from agentsdk.types.items import FunctionCall

_BEGINS_WITHIN = 600.0
"""Seconds within which a run begins that waits for others to end."""

_LATEST = 5.0
"""Seconds that the answer to a call waits at most for what has yet to be told before it."""

MAX_MESSAGE = 1_000
"""How many characters of a message are sent."""


class Progress:
    """While it is entered, the caller is told of the run's progress, if it wants to be."""

    def __init__(self, config: RunConfig, run_id: str, served: Served, caller: Caller) -> None:
        self._config = config
        self._run_id = run_id
        self._served = served
        self._caller = caller
        self._task: asyncio.Task[None] | None = None
        self._seen = 0
        self._last: int | None = None

    async def __aenter__(self) -> None:
        if self._caller.wants_progress:
            assert self._config.store is not None
            summary = await self._config.store.summary(self._run_id)
            self._seen = 0 if summary is None else summary.rev
            self._task = asyncio.create_task(self._tell(), name=f"mcp progress {self._run_id}")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            if error is None:
                await self._until_told()
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _until_told(self) -> None:
        """Let it tell what has happened by now."""
        assert self._config.store is not None and self._task is not None
        summary = await self._config.store.summary(self._run_id)
        self._last = 0 if summary is None else summary.rev
        if self._seen < self._last:
            await asyncio.wait((self._task,), timeout=_LATEST)

    async def _tell(self) -> None:
        assert self._config.store is not None
        await wait_for_revision(self._config.store, self._run_id, 0, _BEGINS_WITHIN)
        async with aclosing(Runner.watch(self._run_id, run_config=self._config, after=self._seen)) as events:
            async for event in events:
                message = self._message(event)
                if message:
                    await self._caller.tell(message[:MAX_MESSAGE])
                if isinstance(event, RecordedEvent):
                    self._seen = event.revision
                if self._last is not None and self._seen >= self._last:
                    return

    def _message(self, event: WatchEvent) -> str:
        if isinstance(event, ToolProgressStreamEvent):
            data = event.data
            return data if isinstance(data, str) else str(to_output(data))
        if self._served.is_one_call or not isinstance(event, RecordedEvent):
            return ""
        match event.event:
            case ModelReplied(response=response):
                calls = [item.name for item in response.output if isinstance(item, FunctionCall)]
                return f"calls {', '.join(calls)}" if calls else "the model replied"
            case ToolFinished(is_error=is_error):
                return "a call failed" if is_error else "a call ended"
            case _:
                return ""
