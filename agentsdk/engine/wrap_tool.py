"""`wrap_tool_call`: a callable of the user around the body of each tool. What it returns is the call's result."""

from __future__ import annotations

from typing import Any, cast

from agentsdk.core.arguments import parse_arguments
from agentsdk.define.context import ToolContext
from agentsdk.define.run_config import WrapToolCall
from agentsdk.define.tool_body import BoundArguments
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.handler import Handler
from agentsdk.engine.job import Job, context_of
from agentsdk.engine.run import Run
from agentsdk.engine.tool_attempts import attempted
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import AgentsException, UserError

NAME = "wrap_tool_call"


async def wrapped_result(wrap: WrapToolCall, run: Run, job: Job) -> tuple[object, Exception | None]:
    """What the wrapper returns for a call; or what the body raised, where the wrapper lets it pass.

    Its handler makes all the attempts that the tool has. Raises `CallbackError` for a wrapper that raises something of its own,
    and `UserError` for one that does with the handler what must not be done.
    """
    wrapped = _WrappedTool(run, job)
    handler, context, grace = Handler(NAME, wrapped.run), wrapped.new_context(), run.deps.config.cancel_grace
    went_on = False
    try:
        try:
            value = await call_user(NAME, wrap, context, parse_arguments(job.call.arguments), handler)
        finally:
            went_on = await handler.close(grace)
            context.close()
    except AgentsException as error:
        raised = wrapped.raised
        if raised is not None and raised in (error, error.__cause__):
            return None, raised
        raise
    if went_on:
        raise UserError(f"{NAME} returned while a call of its handler went on, expected it to await that; await it")
    return value, None


class _WrappedTool:
    """A call's body as its wrapper runs it. `raised` is what the body raised last."""

    def __init__(self, run: Run, job: Job) -> None:
        self.raised: Exception | None = None
        self._run = run
        self._job = job
        self._has_run = False

    async def run(self, given: object) -> object:
        """Run the body on these arguments. Raises `UserError` where they do not fit, or a body of effect `once` has run."""
        job = self._job
        if self._has_run and job.tool.effect == "once":
            raise UserError(
                f"{NAME} would run tool {job.tool.name!r} a second time in one call, and its effect is 'once', expected one "
                "run; call the handler once, or declare the tool effect='idempotent' if another run changes nothing"
            )
        job.bound = self._bound(given)
        job.arguments, job.context = cast(JsonObject, given), self.new_context()
        self._has_run = True
        value, self.raised = await attempted(self._run, job)
        if self.raised is not None:
            raise self.raised
        return value

    def new_context(self) -> ToolContext[Any]:
        """The context of the call: another one for each, as it is closed with what it was given to."""
        job = self._job
        context = context_of(self._run, job.call, job.context.idempotency_key)
        context.attempt, context.answer = job.context.attempt, job.context.answer
        return context

    def _bound(self, given: object) -> BoundArguments:
        tool = self._job.tool
        try:
            return tool.bind(cast(JsonObject, given))
        except Exception as error:
            raise UserError(
                f"{NAME} gave its handler arguments that do not fit tool {tool.name!r} ({type(error).__name__}), expected a "
                "dict of the tool's arguments; see the chained exception"
            ) from error
