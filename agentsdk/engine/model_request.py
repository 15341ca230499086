"""One request to a model: its deltas are shown as they come, its reply is checked, and what came to nothing is recorded."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

from agentsdk.core.process import cleaned
from agentsdk.define.stream_events import RawResponsesStreamEvent
from agentsdk.engine.limits.reservation import charge
from agentsdk.engine.measures import measure_attempts, measured_chat
from agentsdk.engine.run import Run
from agentsdk.engine.spans import in_chat_span
from agentsdk.engine.watchers import watched
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import AgentsException, IncompleteResponseError, ModelBehaviorError, ModelError
from agentsdk.types.events import AttemptSpent
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import SpentAttempt, Usage


@measured_chat
@in_chat_span
async def ask_model(run: Run, model: Model, request: ModelRequest) -> ModelResponse:
    """One reply of the model; its deltas go to the reader, if there is one. Raises `ModelError`s, whose cost is unrecorded, and
    what `run.on_reply` raises."""
    completed: ResponseCompleted | None = None
    channel, is_watched = run.channel, bool(watched) and run.watchers is not None
    events: AsyncGenerator[ModelStreamEvent, None] | None = None
    try:
        events = model.stream(request)
        if channel is None and not is_watched:
            async for event in events:
                if type(event) is ResponseCompleted:
                    completed = event
        else:
            path = run.path
            async for event in events:
                if type(event) is ResponseCompleted:
                    completed = event
                shown = RawResponsesStreamEvent(event, path)
                if is_watched:
                    run.show_watchers(shown)
                if channel is not None:
                    channel.put_nowait(shown)
                    if channel.is_full:
                        await channel.wait_for_room()
    except BaseException as error:
        await _close(events)
        if isinstance(error, AgentsException) or not isinstance(error, Exception):
            raise
        raise ModelError(
            f"model {model.name!r} raised {type(error).__name__}, expected a ModelError; see the chained exception"
        ) from error
    if completed is None:
        raise IncompleteResponseError(
            f"model {model.name!r} ended its stream without ResponseCompleted, expected it last; the reply counts as cut"
        )
    if completed.attempts:
        await record_spent(run, model, completed.attempts, is_tried_again=True)
    reply = _checked(model, completed.response)
    if run.on_reply is not None:
        run.on_reply(run, request, reply)
    return reply


async def _close(events: object) -> None:
    """Left before its end, a stream still holds its connection."""
    close: object = getattr(events, "aclose", None)
    if inspect.iscoroutinefunction(close) or inspect.isasyncgen(events):
        await cast("AsyncGenerator[object, None]", events).aclose()


def _checked(model: Model, reply: object) -> ModelResponse:
    """The reply without lone surrogates. Raises `ModelError` for what is none, `ModelBehaviorError` for one that holds what a
    run could not keep."""
    if not isinstance(reply, ModelResponse):
        raise ModelError(f"model {model.name!r} gave a {type(reply).__name__!r} in ResponseCompleted, expected a ModelResponse")
    try:
        return checked_reply(reply)
    except Exception as error:
        raise ModelBehaviorError(
            f"model {model.name!r} gave a reply whose parts are not what their types say ({type(error).__name__}), expected a "
            "ModelResponse of items, texts and a Usage; fix the model"
        ) from error


def checked_reply(reply: ModelResponse) -> ModelResponse:
    """The reply without lone surrogates. Raises whatever Python or msgspec raise at one that no run could keep."""
    given: Any = reply  # its fields are what its maker says
    if not (isinstance(given.usage, Usage) and isinstance(given.finish, str) and isinstance(given.model, str)):
        raise TypeError("usage, finish or model")
    return cleaned(reply)


async def record_spent(run: Run, model: Model, attempts: Sequence[SpentAttempt], *, is_tried_again: bool) -> None:
    """Record what requests cost that came to nothing, and count it. An error leaves after the last, unless `is_tried_again`."""
    last = len(attempts) if is_tried_again else len(attempts) - 1
    named = [SpentAttempt(attempt.usage, attempt.model or model.name) for attempt in attempts]
    await run.record(
        *[
            AttemptSpent(attempt.usage, "", "discarded" if position < last else "reply", attempt.model)
            for position, attempt in enumerate(named)
        ]
    )
    measure_attempts(run, model, named)
    if run.has_budget:
        await charge(run, named)
