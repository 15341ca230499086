"""External calls: answered from outside the process. Such a call runs nothing: it waits for its answer, or its deadline."""

from __future__ import annotations

from math import inf

import msgspec

from agentsdk.engine.decisions import misfit_of
from agentsdk.engine.job import Job
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import Run
from agentsdk.types.errors import ToolTimeoutError
from agentsdk.types.events import AnswerAwaited, AnswerRefused


async def has_come(run: Run, job: Job) -> bool:
    """Whether there is something to make of an external call: an answer that fits, or its deadline has passed.

    It begins to wait where it does not yet. An answer that does not fit is refused. Raises `StoreError`.
    """
    turn, call_id = open_turn(run), job.call.call_id
    awaited = turn.outside.awaited.get(call_id)
    if awaited is None:
        await run.record(_awaited(run, job))
        return False
    job.started_at = awaited.at
    if call_id in turn.outside.answers:
        try:
            answer(run, job)
            return True
        except Exception as error:
            await run.record(AnswerRefused(call_id, misfit_of(turn.outside.answers[call_id], error)))
    return _is_late(run, awaited)


def answer(run: Run, job: Job) -> object:
    """What an external call has come to: its answer, or the default one. Raises `ToolTimeoutError` where there is neither."""
    turn, call_id, tool = open_turn(run), job.call.call_id, job.tool
    given, awaited = turn.outside.answers.get(call_id), turn.outside.awaited[call_id]
    if given is not None:
        return tool.answer_type.read(given.answer)
    if awaited.default:
        return msgspec.json.decode(awaited.default)
    assert awaited.deadline is not None, "a call that waits for ever has an answer by now"
    raise ToolTimeoutError(f"tool {tool.name!r} got no answer within {awaited.deadline - awaited.at:g} seconds")


def answered(run: Run, job: Job) -> tuple[object, Exception | None]:
    """The same, as `attempted` gives it."""
    try:
        return answer(run, job), None
    except Exception as error:
        return None, error


def _awaited(run: Run, job: Job) -> AnswerAwaited:
    tool, now = job.tool, run.deps.now()
    schema = tool.answer_type.schema
    question, choices = tool.asks(job.arguments)
    return AnswerAwaited(
        job.call.call_id,
        now,
        None if tool.timeout is None or tool.timeout == inf else now + tool.timeout,
        tool.default_answer_text,
        "" if schema is None else msgspec.json.encode(schema).decode(),
        question,
        choices,
    )


def _is_late(run: Run, awaited: AnswerAwaited) -> bool:
    return awaited.deadline is not None and run.deps.now() >= awaited.deadline
