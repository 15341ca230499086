"""Business rules of tools: their `check` callables, asked about arguments that fit, before guardrails and persons are.

What they say against a call is its result. That one may run is not recorded: a call that waited for a person is checked again
before it begins, as the world may have changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentsdk.core.arguments import parse_arguments
from agentsdk.define.tool import MAX_ERROR_CHARS
from agentsdk.define.tool_options import NO_CHECKS, ToolCheck
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.concurrency import gather_with_limit
from agentsdk.engine.job import Job
from agentsdk.engine.open_turn import open_turn
from agentsdk.engine.run import Run
from agentsdk.types.errors import CallbackError, InvalidArgumentsError, UserError
from agentsdk.types.events import ToolFinished
from agentsdk.types.text import shortened, storable_text, text_of


async def run_checks(run: Run, jobs: Sequence[Job]) -> list[Job]:
    """The calls that their checks let run. The result of another one says why not. Raises `CallbackError`, `UserError`."""
    intended = open_turn(run).intended
    config = run.deps.config
    checked = [job for job in jobs if job.tool.check is not NO_CHECKS and job.call.call_id not in intended]
    if checked:
        asking = [(job.tool.name, _ask(run, job)) for job in checked]
        await gather_with_limit(asking, limit=config.max_tool_concurrency, grace=run.deps.grace)
    results = open_turn(run).results
    return [job for job in jobs if job.call.call_id not in results]


async def _ask(run: Run, job: Job) -> None:
    given = job.tool.check
    checks: Sequence[ToolCheck[Any]] = [given] if callable(given) else given
    for check in checks:
        refusal = await _refusal(job, check)
        if refusal is not None:
            await run.record(refusal)
            return


async def _refusal(job: Job, check: ToolCheck[Any]) -> ToolFinished | None:
    """What the model is told of a call that this check does not let run."""
    what = f"check of tool {job.tool.name!r}"
    try:
        said = cast(object, await call_user(what, check, job.context, parse_arguments(job.call.arguments)))
    except InvalidArgumentsError as error:
        said = error.reason
    except CallbackError as error:
        if not isinstance(error.__cause__, ValueError):
            raise
        said = text_of(error.__cause__)
    if said is None or isinstance(said, ToolFinished):  # a recorded result stands as it is
        return said
    if not isinstance(said, str):
        raise UserError(f"{what} returned {type(said).__name__!r}, expected a message for the model, or None; return one")
    message = storable_text(said) or "its arguments are not allowed."
    return ToolFinished(job.call.call_id, shortened(f"The call was not run: {message}", MAX_ERROR_CHARS), True)
