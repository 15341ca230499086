"""How a run of a workflow is driven: its program, to its end or until it waits; and undoing, where a step has failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, cast

import msgspec

from agentsdk.core.state import Program
from agentsdk.core.summary import CANCELLED
from agentsdk.engine import hooks
from agentsdk.engine.run import Run, input_of
from agentsdk.engine.signals import take_signals
from agentsdk.types.errors import (
    AgentsException,
    CallbackError,
    RunCancelledError,
    StateMismatchError,
    StepFailedError,
    UserError,
    WorkflowFailedError,
)
from agentsdk.types.events import RunEnded, Stopped
from agentsdk.types.items import Item, Message
from agentsdk.workflow.codec import Signature
from agentsdk.workflow.program import RunningProgram


class Driven(Protocol):
    """The workflow whose run is driven."""

    name: str

    @property
    def function(self) -> Callable[[Any], Coroutine[Any, Any, Any]]:
        """Its program."""
        ...

    @property
    def signature(self) -> Signature:
        """Its parameter and its result."""
        ...


async def drive(workflow: Driven, run: Run) -> None:
    """Run the program of `run` to its end, or until it waits."""
    signature = workflow.signature
    ended = run.state.ended
    if ended is not None:
        run.final_output = _read(workflow, ended.output)
        return
    given = _given(workflow, input_of(run.state))
    program = RunningProgram(run)
    task = await program.play(lambda: workflow.function(given))
    if program.results.is_cut:
        await drive(workflow, run)  # over the record, up to there
        return
    if program.results.cancelled is not None:
        await _undo(workflow, program, None)
        return
    if task is None:
        await program.rest()
        return
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None:
        failed = _failed_step(error)
        if failed is None:
            raise _broken(workflow, error) from error
        await _undo(workflow, program, failed)
        return
    program.require_complete()
    output = signature.result.write(task.result())
    if run.has_signals:
        await take_signals(run, ends=True)
        if run.state.paused is not None:
            return
    run.final_output = _read(workflow, output)
    await run.record(RunEnded(output, True, at=run.deps.stamp(), elapsed=run.stop_clock()))
    await hooks.agent_ended(run, run.final_output)


async def _undo(workflow: Driven, program: RunningProgram, failed: StepFailedError | None) -> None:
    """Undo what finished steps did, the last first. Raises `WorkflowFailedError`, or `RunCancelledError` where none has
    `failed`, unless that waits."""
    undone: list[str] = []
    not_undone: list[str] = []

    async def undo() -> None:
        for call, value in reversed(program.undoable):
            assert call.undo is not None, "only what can be undone is kept"
            try:
                await call.undo(value)
            except StepFailedError:
                not_undone.append(call.key)
            else:
                undone.append(call.key)

    program.results.forget_cancel()
    if program.undoable:
        task = await program.play(undo, "undo/")
        if program.results.is_cut:
            await drive(workflow, program.run)
            return
        if task is None:
            await program.rest()
            return
        task.result()
    program.require_complete()
    done = f"undone: {', '.join(map(repr, undone)) or 'nothing'}"
    if not_undone:
        done += f"; not undone: {', '.join(map(repr, not_undone))}"
    if failed is None:
        await _stop(workflow, program, done)
        return
    raise WorkflowFailedError(
        f"workflow {workflow.name!r} failed at step {failed.step!r} ({failed.error_type}), expected its program to catch that, "
        f"or the step to succeed; {done}; fork the run before that step to try again",
        step=failed.step,
        undone=tuple(undone),
        not_undone=tuple(not_undone),
    ) from failed


async def _stop(workflow: Driven, program: RunningProgram, done: str) -> None:
    """Stop a run that was cancelled and is undone."""
    run, cancelled = program.run, program.results.cancelled
    assert cancelled is not None and run.state.turn is not None, "it is in the record"
    said = msgspec.json.decode(cancelled.arguments, type=_Cancel)
    steps = [step for piece in (run.state.turn.program or Program()).steps for step in piece.values()]
    cut = [step.call_id for step in steps if step.effect != "none" and step is not cancelled]
    if cut:
        done += f"; begun, and without a result: {', '.join(map(repr, cut))}"
    await run.record(Stopped(CANCELLED, said.reason, said.by, run.deps.stamp()))
    why = f": {said.reason}" if said.reason else ""
    raise RunCancelledError(
        f"run {run.root_id!r} of workflow {workflow.name!r} was cancelled by {said.by!r}{why}; {done}; begin a new run, or "
        "fork this one before the cancel",
        by=said.by,
        reason=said.reason,
    )


class _Cancel(msgspec.Struct):
    """What the record says of a cancel."""

    by: str
    reason: str


def _failed_step(error: BaseException) -> StepFailedError | None:
    """The failed step that an error which left the program is of, or the first of a group; None where any is something else."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        failed = [_failed_step(one) for one in group.exceptions]
        return None if None in failed else failed[0]
    return error if isinstance(error, StepFailedError) else None


def _broken(workflow: Driven, error: BaseException) -> BaseException:
    if isinstance(error, AgentsException):
        return error
    return CallbackError(
        f"workflow {workflow.name!r} raised {type(error).__name__}, expected it to return, or a step to fail; mend it and "
        "resume error.state: what is recorded is not done again"
    )


def _given(workflow: Driven, items: tuple[Item, ...]) -> object:
    """The argument that a run began with."""
    message = items[0] if len(items) == 1 else None
    text = message.content if isinstance(message, Message) else None
    try:
        if not isinstance(text, str):
            raise ValueError("not one text")
        return next(iter(workflow.signature.parameters.values())).read(text)
    except ValueError as error:
        raise UserError(
            f"workflow {workflow.name!r} was given an input that does not fit its argument, expected that as JSON text; use "
            "workflow.run(...), or pass workflow.written(...)"
        ) from error


def _read(workflow: Driven, output: str) -> object:
    try:
        return workflow.signature.result.read(output)
    except ValueError as error:
        raise StateMismatchError(
            f"the recorded output of workflow {workflow.name!r} does not fit what it returns now, expected the type that it "
            "was recorded as; give it that type again"
        ) from error
