"""`Workflow`: a program whose steps are recorded. It is run, stored, resumed and worked on as an agent is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

from agentsdk.core.run_state import RunState
from agentsdk.define.agent import Agent, RunHooks
from agentsdk.define.parameters import local_names
from agentsdk.define.run_config import RunConfig
from agentsdk.engine import hooks
from agentsdk.engine.run import Run, input_of
from agentsdk.engine.signals import take_signals
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.runner import Runner
from agentsdk.types.errors import (
    AgentsException,
    CallbackError,
    StateMismatchError,
    StepFailedError,
    UserError,
    WorkflowFailedError,
)
from agentsdk.types.events import RunEnded
from agentsdk.types.items import Item, Message
from agentsdk.workflow.agent_step import AgentCall
from agentsdk.workflow.codec import Signature
from agentsdk.workflow.program import RunningProgram
from agentsdk.workflow.scope import current_scope

I = TypeVar("I")  # noqa: E741 - what a workflow is given
R = TypeVar("R")


class Workflow(Agent[Any, R], Generic[I, R]):
    """What `@workflow` makes of an async function of one argument.

    Wherever an agent can be given, a workflow can: `Runner.resume(refund, run_id, ...)`, `Worker(store, agents=[refund])`,
    `refund.as_tool()`. The methods here are those calls, with its argument typed. Called in another workflow it is a step of
    that; called anywhere else it is the plain function.
    """

    def __init__(
        self,
        function: Callable[[I], Coroutine[Any, Any, R]],
        name: str | None = None,
        scope: Mapping[str, object] | None = None,
    ) -> None:
        from agentsdk.workflow.step import name_of

        own_name = name_of(function, "workflow")
        self.function = function
        self.__doc__ = function.__doc__
        self._scope: Mapping[str, object] = {} if scope is None else scope
        self._signature: Signature | None = None
        super().__init__(own_name if name is None else name)

    def __call__(self, input: I) -> Coroutine[None, None, R]:
        """In a workflow, a step of that: a run nested in its run. Elsewhere what the function does."""
        scope = current_scope()
        if scope is None:
            return self.function(input)
        program, read = scope.program, self.signature.result.read
        call = AgentCall(scope.key(self.name), program.run, self, self.written(input), None, read)
        return program.perform(call)

    @property
    def signature(self) -> Signature:
        """Its parameter and its result. Raises `UserError` for a wrong declaration."""
        if self._signature is None:
            signature = Signature(self.function, f"workflow {self.name!r}", self._scope)
            if len(signature.parameters) != 1:
                raise UserError(
                    f"workflow {self.name!r} takes {len(signature.parameters)} arguments, expected one; put them into a "
                    "dataclass, or a pydantic model"
                )
            self._signature = signature
        return self._signature

    def written(self, input: I) -> str:
        """Its argument as the text that a run of it begins with. Raises `UserError` for one of another type."""
        return next(iter(self.signature.parameters.values())).write(input)

    @property
    def driver(self) -> Callable[[Any], Coroutine[Any, Any, None]]:
        """What runs the program."""
        return partial(_drive, self)

    if not TYPE_CHECKING:  # to a type checker it would say that a workflow takes any attribute

        def __setattr__(self, field: str, value: object) -> None:
            if field in Agent.__dataclass_fields__ and "_declared" in self.__dict__:
                raise UserError(
                    f"workflow {self.name!r} was given {field}=..., which is for agents that a model drives, expected none of "
                    "these; give it to the agents that the program asks"
                )
            super().__setattr__(field, value)

    def clone(self, **changes: Any) -> Self:
        """Itself: there is nothing to change. Raises `UserError` for changes."""
        if changes:
            raise UserError(f"workflow {self.name!r} has no fields {sorted(changes)} to change; write another workflow")
        return self

    async def run(
        self, input: I, *, run_config: RunConfig | None = None, context: Any = None, hooks: RunHooks[Any] | None = None
    ) -> RunResult[R]:
        """`Runner.run`: run it until it ends or waits. Raises `WorkflowFailedError` where a step failed for good."""
        return await Runner.run(self, self.written(input), run_config=run_config, context=context, hooks=hooks)

    def run_streamed(
        self, input: I, *, run_config: RunConfig | None = None, context: Any = None, hooks: RunHooks[Any] | None = None
    ) -> RunResultStreaming[R]:
        """`Runner.run_streamed`."""
        return Runner.run_streamed(self, self.written(input), run_config=run_config, context=context, hooks=hooks)

    async def resume(self, run_id: str, *, run_config: RunConfig, context: Any = None) -> RunResult[R]:
        """`Runner.resume`: go on with a stored run of it. Raises `WorkflowChangedError` where it has changed since."""
        return await Runner.resume(self, run_id, run_config=run_config, context=context)

    async def drive(self, run_id: str, input: I, *, run_config: RunConfig, context: Any = None) -> RunResult[R]:
        """`Runner.drive`: begin the run, go on with it, or give what it has come to: whichever is due."""
        return await Runner.drive(self, run_id, self.written(input), run_config=run_config, context=context)

    @staticmethod
    def draw(state: RunState) -> str:
        """What has happened in a run, as a Mermaid chart (`gantt`): its steps over time, with failures, retries and undoing."""
        from agentsdk.workflow.draw import drawn

        return drawn(state.value)

    async def submit(self, input: I, *, run_config: RunConfig, run_id: str | None = None, at: float | None = None) -> str:
        """`Runner.submit`: put a run of it into the store, for a `Worker` to take; its id."""
        return await Runner.submit(self, self.written(input), run_config=run_config, run_id=run_id, at=at)


@overload
def workflow(function: Callable[[I], Coroutine[Any, Any, R]], /) -> Workflow[I, R]: ...
@overload
def workflow(*, name: str) -> Callable[[Callable[[I], Coroutine[Any, Any, R]]], Workflow[I, R]]: ...
def workflow(
    function: Callable[[I], Coroutine[Any, Any, R]] | None = None, /, *, name: str | None = None
) -> Workflow[I, R] | Callable[[Callable[[I], Coroutine[Any, Any, R]]], Workflow[I, R]]:
    """Make an async function of one argument a workflow: `@workflow`, or `@workflow(name="refund")`.

    It may call steps and `flow`, and whatever else gives the same each time: it is run again from its start whenever a process
    goes on with it, and what is recorded is not done again. Stored runs know it by its name, by default the function's.

    Raises `UserError` for what cannot be a workflow.
    """
    if function is not None:
        return Workflow(function, name, local_names(function, 2))

    def make(function: Callable[[I], Coroutine[Any, Any, R]]) -> Workflow[I, R]:
        return Workflow(function, name, local_names(function, 2))

    return make


async def _drive(workflow: Workflow[Any, Any], run: Run) -> None:
    """Run the program of `run` to its end, or until it waits."""
    signature = workflow.signature
    ended = run.state.ended
    if ended is not None:
        run.final_output = _read(workflow, ended.output)
        return
    given = _given(workflow, input_of(run.state))
    program = RunningProgram(run)
    task = await program.play(lambda: workflow.function(given))
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
    await run.record(RunEnded(output, True, at=run.deps.now(), elapsed=run.stop_clock()))
    await hooks.agent_ended(run, run.final_output)


async def _undo(workflow: Workflow[Any, Any], program: RunningProgram, failed: StepFailedError) -> None:
    """Undo what finished steps did, the last first. Raises `WorkflowFailedError`, unless that waits."""
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

    if program.undoable:
        task = await program.play(undo, "undo/")
        if task is None:
            await program.rest()
            return
        task.result()
    program.require_complete()
    done = f"undone: {', '.join(map(repr, undone)) or 'nothing'}"
    if not_undone:
        done += f"; not undone: {', '.join(map(repr, not_undone))}"
    raise WorkflowFailedError(
        f"workflow {workflow.name!r} failed at step {failed.step!r} ({failed.error_type}), expected its program to catch that, "
        f"or the step to succeed; {done}; fork the run before that step to try again",
        step=failed.step,
        undone=tuple(undone),
        not_undone=tuple(not_undone),
    ) from failed


def _failed_step(error: BaseException) -> StepFailedError | None:
    """The failed step that an error which left the program is of, or the first of a group; None where any is something else."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        failed = [_failed_step(one) for one in group.exceptions]
        return None if None in failed else failed[0]
    return error if isinstance(error, StepFailedError) else None


def _broken(workflow: Workflow[Any, Any], error: BaseException) -> BaseException:
    if isinstance(error, AgentsException):
        return error
    return CallbackError(
        f"workflow {workflow.name!r} raised {type(error).__name__}, expected it to return, or a step to fail; mend it and "
        "resume error.state: what is recorded is not done again"
    )


def _given(workflow: Workflow[Any, Any], items: tuple[Item, ...]) -> object:
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


def _read(workflow: Workflow[Any, Any], output: str) -> object:
    try:
        return workflow.signature.result.read(output)
    except ValueError as error:
        raise StateMismatchError(
            f"the recorded output of workflow {workflow.name!r} does not fit what it returns now, expected the type that it "
            "was recorded as; give it that type again"
        ) from error
