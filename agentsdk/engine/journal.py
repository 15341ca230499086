"""`Journal`: how a run's state changes. `record` is the only way; the events of nested runs go into the one log of the root.

A run that is not stored applies its events at once. A stored one has one writer, its `Recorder`, which makes each append
durable before it is applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from agentsdk.core.run_state import Kept, RunState
from agentsdk.core.state import State, apply
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.inbox import Inbox
from agentsdk.engine.deps import RunDeps
from agentsdk.types.errors import AgentsException
from agentsdk.types.events import InputAdded, Nested, RunEvent

if TYPE_CHECKING:
    from agentsdk.engine.recorder import Recorder


class Journal(Struct, eq=False, kw_only=True):
    """A run's state, always the latest value, and where its events go.

    `parent` and `call_id`: the run that a nested one records through, and the call it is of. `recorder` makes the events of a
    stored run durable, and `kept` is what the process knew of how it is kept when it went on with it: both the root's. `added`
    holds what its state was given as more input, until that has entered. `publish` shows each recorded event to the reader of a
    stream. `pending_turns` are replies reserved of the limit on turns, by this run and those nested in it: at the root, if no
    budget does that. Once `is_over` the run's caller has it back: a tool left behind by a cancellation changes it no more.
    """

    deps: RunDeps
    context: RunContextWrapper[Any]
    state: State
    parent: Self | None = None
    call_id: str = ""
    recorder: Recorder | None = None
    kept: Kept | None = None
    added: Inbox | None = None
    publish: Callable[[RunEvent], None] | None = None
    pending_turns: int = 0
    is_over: bool = False

    async def record(self, *events: RunEvent) -> None:
        """Make `events` the run's next ones, in one append: durable first, then applied, then published."""
        if self.is_over:
            return
        if self.recorder is not None:
            await self.recorder.write(events)
        elif self.parent is None:
            state = self.state
            for event in events:
                state = apply(state, event)
            self.advance(state)
        else:
            try:
                await self.parent.record(*[Nested(self.call_id, event) for event in events])
            finally:  # where the store failed the state has them all the same
                turn = self.parent.state.turn
                assert turn is not None
                self.state = turn.children.get(self.call_id, self.state)
                self.context.usage = self.parent.context.usage
        if self.publish is not None:
            for event in events:
                self.publish(event)

    async def record_beside(self, error: BaseException, *events: RunEvent) -> None:
        """`record` while `error` is on its way: a store that fails too is added to its notes."""
        try:
            await self.record(*events)
        except AgentsException as failure:
            if failure is not error:
                error.add_note(str(failure))

    def advance(self, state: State) -> None:
        """Take the root to its next state. A reply takes its reservation along: who asked goes on later."""
        if self.pending_turns:
            self.pending_turns -= state.all_turns - self.state.all_turns
        self.state = state
        self.context.usage = state.usage

    def snapshot(self, unrecorded: tuple[RunEvent, ...] = ()) -> RunState:
        """The run as it stands, to be saved, decided on and resumed; with decisions that could not be recorded."""
        kept = self.kept if self.recorder is None else self.recorder.kept
        added = () if self.added is None else self.added.due()
        if added:
            unrecorded = (*unrecorded, InputAdded(added))
        key, context = self.deps.config.state_key, self.context.context
        return RunState(self.state, unrecorded, key, context=context, kept=kept, price=self.deps.price)

    @property
    def is_ahead(self) -> bool:
        """Whether the run went on with a state that its store could not be given in full."""
        kept = self.kept
        return kept is not None and (kept.rev < len(self.state.log) or bool(kept.attachments))

    @property
    def recorded(self) -> State:
        """The run's state as the root has it: where a nested run was cancelled while it recorded, a step ahead of `state`."""
        if self.parent is None:
            return self.state
        turn = self.parent.recorded.turn
        return self.state if turn is None else turn.children.get(self.call_id, self.state)

    @property
    def is_left(self) -> bool:
        """Whether it is over, or a run that it is nested in."""
        return self.is_over or (self.parent is not None and self.parent.is_left)

    @property
    def root(self) -> Self:
        """The outermost run."""
        run = self
        while run.parent is not None:
            run = run.parent
        return run

    @property
    def path(self) -> tuple[str, ...]:
        """The calls that lead to the run, outermost first."""
        return () if self.parent is None else (*self.parent.path, self.call_id)

    @property
    def root_id(self) -> str:
        """The id of the outermost run."""
        return self.state.run_id if self.parent is None else self.root.state.run_id

    @property
    def depth(self) -> int:
        """How many runs this one is nested in."""
        return 0 if self.parent is None else self.parent.depth + 1
