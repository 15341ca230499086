"""Attempts at a call: one that failed with what may pass is made again, after a wait, where that cannot repeat an effect.

Each failed attempt is an event, so that a process which goes on with the run waits no longer than is left, and tries no more
often. A tool whose calls go on failing has its circuit opened: further calls are refused for a while.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agentsdk.define.agent import AgentTool
from agentsdk.define.tool import FunctionTool
from agentsdk.engine.job import Job, context_of
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import Run
from agentsdk.ports.clock import sleep
from agentsdk.types.errors import ToolCircuitOpenError, TransientToolError
from agentsdk.types.events import ToolAttemptFailed
from agentsdk.types.settings import ToolRetrySettings, backoff
from agentsdk.types.text import clean_text

_LEAST = 0.001
"""Seconds that an attempt has at the least."""


def attempt_timeout(run: Run, job: Job) -> float | None:
    """Seconds that the next attempt at a call has; None for as long as it takes."""
    tool = job.tool
    timeout = tool.timeout
    if timeout is None:
        timeout = run.agent.tool_timeout
        if timeout is None:
            timeout = run.deps.config.tool_timeout
    deadline = retry_settings(run, tool).deadline
    if deadline is None:
        return timeout
    left = max(job.began + deadline - run.deps.now(), _LEAST)
    return left if timeout is None else min(timeout, left)


def retry_settings(run: Run, tool: FunctionTool[Any]) -> ToolRetrySettings:
    """How the calls of a tool are tried again."""
    return tool.retry or run.agent.tool_retry or run.deps.config.tool_retry


def circuit_error(run: Run, tool: FunctionTool[Any]) -> ToolCircuitOpenError | None:
    """Why a call is not made now; None where its tool's circuit is not open."""
    failures, settings = run.state.failures.get(tool.name), retry_settings(run, tool)
    most = settings.circuit_failures
    if failures is None or most is None or failures.count < most or isinstance(tool, AgentTool):
        return None
    if run.deps.now() >= failures.at + settings.circuit_reset:
        return None
    return ToolCircuitOpenError(  # whose words do not depend on the moment: a run that is entered again comes to the same
        f"tool {tool.name!r} was not called: its last {failures.count} calls failed, after which it is not tried again for "
        f"{settings.circuit_reset:g} seconds; go on without it"
    )


async def go_on_with_attempts(run: Run, job: Job) -> None:
    """Take a call up where another process left it, after failed attempts or in the middle of its first."""
    failed = open_turn(run).attempts.get(job.call.call_id, ())
    if failed:
        await _begin_again(run, job, failed[-1].next_at)
    else:
        job.context.attempt = 2


async def attempted(run: Run, job: Job) -> tuple[object, Exception | None]:
    """What the body returns, at this attempt or at one after it; or what it raised at the last."""
    job.failed = False
    while True:
        try:
            return await job.tool.invoke_bound(job.context, job.bound, attempt_timeout(run, job)), None
        except Exception as error:
            failure = error
        if not await _tries_again(run, job, failure):
            return None, failure


async def _tries_again(run: Run, job: Job, error: Exception) -> bool:
    """Whether a call whose body raised `error` is to be made again: then it has been waited for, and all is as at its start."""
    tool = job.tool
    if not isinstance(error, (TransientToolError, *tool.transient)):
        return False
    now = run.deps.now()
    seconds = _delay(run, job, error, now)
    if seconds is None:
        job.failed = True
        return False
    job.is_waiting = True
    name, next_at = clean_text(type(error).__name__), now + seconds
    await run.record(ToolAttemptFailed(job.call.call_id, name, job.started_at or 0.0, now, next_at))
    await _begin_again(run, job, next_at)
    return True


def _delay(run: Run, job: Job, error: Exception, now: float) -> float | None:
    """Seconds to wait before the next attempt; None where there is to be none."""
    tool, settings = job.tool, retry_settings(run, job.tool)
    earlier = len(open_turn(run).attempts.get(job.call.call_id, ()))
    failures, most = run.state.failures.get(tool.name), settings.circuit_failures
    is_open = failures is not None and most is not None and failures.count >= most
    if tool.effect == "once" or earlier >= settings.max_retries or is_open:
        return None
    import random  # few tools ever fail

    asked = error.retry_after if isinstance(error, TransientToolError) else None
    if asked is not None and asked > settings.max_retry_after:
        return None
    seconds = backoff(settings, earlier, random.random()) if asked is None else asked
    if settings.deadline is not None and now + seconds >= job.began + settings.deadline:
        return None
    return seconds


async def _begin_again(run: Run, job: Job, at: float) -> None:
    """Wait, and give the call the arguments of its first attempt: what its body has changed in them is gone."""
    job.context.close()
    job.is_waiting = True
    seconds, clock = at - run.deps.now(), run.deps.config.clock
    if seconds > 0:
        await (asyncio.sleep(seconds) if clock is None else sleep(clock, seconds))
    recorder = run.root.recorder
    if recorder is not None:
        await recorder.hold()
    job.is_waiting = False
    answer = job.context.answer
    job.context = context_of(run, job.call, job.context.idempotency_key)
    job.context.answer = answer
    job.context.attempt = 1 + len(open_turn(run).attempts.get(job.call.call_id, ()))
    job.bound = job.tool.bind(job.arguments)
    job.started_at = run.deps.now()
