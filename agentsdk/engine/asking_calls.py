"""Calls whose body has asked for an answer: they wait as external calls do, and the body runs again with what has come.

That it runs again is recorded first, as a second intent, which takes the answer: a call with an effect that is cut then is in
doubt, as any other.
"""

from __future__ import annotations

import msgspec

from agentsdk.define.answer_needed import AnswerNeededError, GivenAnswer
from agentsdk.engine.decisions import misfit_of_schema
from agentsdk.engine.job import Job
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import Run
from agentsdk.types.events import AnswerAwaited, AnswerRefused
from agentsdk.types.text import storable_text


async def asks(run: Run, job: Job, asked: AnswerNeededError) -> None:
    """Record that the call waits for an answer."""
    schema = "" if asked.schema is None else msgspec.json.encode(asked.schema).decode()
    question, state = storable_text(asked.question), storable_text(asked.kept)
    await run.record(AnswerAwaited(job.call.call_id, run.deps.now(), schema=schema, question=question, state=state))


async def answer_to(run: Run, job: Job) -> GivenAnswer | None:
    """The answer that the call's body has asked for; None while there is none that fits."""
    outside, call_id = open_turn(run).outside, job.call.call_id
    awaited, given = outside.awaited[call_id], outside.answers.get(call_id)
    if given is None:
        return None
    if why := misfit_of_schema(awaited.schema, given.answer):
        await run.record(AnswerRefused(call_id, why))
        return None
    return GivenAnswer(msgspec.json.decode(given.answer), awaited.state)
