"""`Workflow`: a program whose steps are recorded. It is run, stored, resumed and worked on as an agent is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, overload

from agentsdk.core.run_state import RunState
from agentsdk.core.state import State
from agentsdk.define.agent import Agent, RunHooks
from agentsdk.define.parameters import local_names
from agentsdk.define.run_config import RunConfig
from agentsdk.engine.replay import Replay
from agentsdk.engine.run import Run
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.runner import Runner
from agentsdk.types.declared import Fields, a, any_text, one_of, sequence_of
from agentsdk.types.errors import UserError
from agentsdk.types.events import RunStarted
from agentsdk.workflow.agent_step import AgentCall
from agentsdk.workflow.changed import unknown_version
from agentsdk.workflow.codec import Signature
from agentsdk.workflow.drive import drive
from agentsdk.workflow.render import Format, Kind
from agentsdk.workflow.scope import current_scope

I = TypeVar("I")  # noqa: E741 - what a workflow is given
R = TypeVar("R")

OnCancel = Literal["stop", "undo"]
"""What becomes of a run that somebody cancels."""


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
        version: str = "",
        earlier: Sequence[Workflow[Any, Any]] = (),
        on_cancel: OnCancel = "stop",
    ) -> None:
        from agentsdk.workflow.step import name_of

        _FIELDS.check_given("workflow", version=version, earlier=earlier, on_cancel=on_cancel)
        own_name = name_of(function, "workflow")
        self.function = function
        self.version = version
        """What new runs of it are recorded as."""
        self.on_cancel: OnCancel = on_cancel
        self.__doc__ = function.__doc__
        self._scope: Mapping[str, object] = {} if scope is None else scope
        self._signature: Signature | None = None
        super().__init__(own_name if name is None else name)
        self._versions: dict[str, Workflow[Any, Any]] = {version: self}
        for one in earlier:
            if one.name != self.name or not self._versions.keys().isdisjoint(one._versions):
                raise UserError(
                    f"workflow {self.name!r} of version {version!r} was given version {one.version!r} of {one.name!r} as an "
                    "earlier one, expected the same name and another version; write @workflow(name=..., version=...) over each"
                )
            self._versions |= one._versions

    def __call__(self, input: I) -> Coroutine[None, None, R]:
        """In a workflow, a step of that: a run nested in its run. Elsewhere what the function does."""
        scope = current_scope()
        if scope is None:
            return self.function(input)
        program = scope.program
        call = AgentCall(scope.key(self.name), program.run, self, self.written(input), None, self._read)
        return program.perform(call)

    def _read(self, output: str, version: str) -> object:
        """The output of a finished run of a version."""
        return self.of_version(version).signature.result.read(output)

    def of_version(self, version: str) -> Workflow[Any, Any]:
        """Itself, or the earlier one of that version. Raises `WorkflowChangedError` where it knows none."""
        found = self._versions.get(version)
        if found is None:
            raise unknown_version(self.name, version, sorted(self._versions))
        return found

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
    def driver(self) -> ProgramDriver:
        """What runs the program."""
        return ProgramDriver(self)

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

    def draw(self, state: RunState | None = None, *, kind: Kind = "flow", format: Format = "mermaid") -> str:
        """The program as a diagram, from its source; of a run (`state`) with what has happened: what was done, how long it
        took, what failed, waits, was passed by, and was undone.

        `kind="timeline"`: the steps of a run over time, in place of the flow. `format`: text of a Mermaid chart, or an SVG
        picture. Nothing of the program is run. Raises `UserError` for a program without source that is drawn before a run, or
        for the run of another one.
        """
        from agentsdk.workflow.draw import drawn_program, drawn_run

        if state is None:
            return drawn_program(self.name, self.function, kind, format)
        started = state.value.log[0]
        known = self._versions.get(started.version) if isinstance(started, RunStarted) else None
        return drawn_run(self.name, None if known is None else known.function, state.value, kind, format)

    async def submit(self, input: I, *, run_config: RunConfig, run_id: str | None = None, at: float | None = None) -> str:
        """`Runner.submit`: put a run of it into the store, for a `Worker` to take; its id."""
        return await Runner.submit(self, self.written(input), run_config=run_config, run_id=run_id, at=at)


class ProgramDriver:
    """Drives the runs of a workflow."""

    def __init__(self, workflow: Workflow[Any, Any]) -> None:
        self._workflow = workflow

    @property
    def version(self) -> str:
        """The version of the workflow."""
        return self._workflow.version

    @property
    def undoes_cancelled(self) -> bool:
        """Whether a cancelled run is undone."""
        return self._workflow.on_cancel == "undo"

    def at(self, version: str) -> Callable[[Run], Coroutine[Any, Any, None]]:
        """What drives a run of that version."""
        return partial(drive, self._workflow.of_version(version))

    async def replay(self, recorded: State, config: RunConfig) -> Replay:
        """Run the program over the record of a run, and nothing else."""
        from agentsdk.workflow.replay import replay_program

        return await replay_program(self._workflow, recorded, config)


_FIELDS = Fields(
    "workflow",
    version=any_text("a str; name the version"),
    on_cancel=one_of("'stop' or 'undo'", ("stop", "undo")),
    earlier=sequence_of(a(Workflow, "what @workflow made of a function"), "a list of workflows, those of earlier versions"),
)


@overload
def workflow(function: Callable[[I], Coroutine[Any, Any, R]], /) -> Workflow[I, R]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    version: str = "",
    earlier: Sequence[Workflow[Any, Any]] = (),
    on_cancel: OnCancel = "stop",
) -> Callable[[Callable[[I], Coroutine[Any, Any, R]]], Workflow[I, R]]: ...
def workflow(
    function: Callable[[I], Coroutine[Any, Any, R]] | None = None,
    /,
    *,
    name: str | None = None,
    version: str = "",
    earlier: Sequence[Workflow[Any, Any]] = (),
    on_cancel: OnCancel = "stop",
) -> Workflow[I, R] | Callable[[Callable[[I], Coroutine[Any, Any, R]]], Workflow[I, R]]:
    """Make an async function of one argument a workflow: `@workflow`, or `@workflow(name="refund", version="2")`.

    It may call steps and `flow`, and whatever else gives the same each time: it is run again from its start whenever a process
    goes on with it, and what is recorded is not done again. Stored runs know it by its name, by default the function's.

    A run is recorded with the `version`, and goes on under that: `earlier` are the workflows of the same name as they were in
    versions that still have runs. With `on_cancel="undo"` a run that `Runner.cancel` cancels undoes its finished steps before
    it stops.

    Raises `UserError` for what cannot be a workflow.
    """
    if function is not None:
        return Workflow(function, name, local_names(function, 2))

    def make(function: Callable[[I], Coroutine[Any, Any, R]]) -> Workflow[I, R]:
        return Workflow(function, name, local_names(function, 2), version, earlier, on_cancel)

    return make
