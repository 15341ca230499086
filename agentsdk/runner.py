"""`Runner`: the entry point. It runs agents, resumes runs, and reads, forks, compares and replays stored ones.

The module is long because each way to run is overloaded for its context. What they do is in `agentsdk.engine`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, Unpack, cast, overload

from msgspec import Struct

from agentsdk.core.run_state import Kept, RunState
from agentsdk.define.agent import MODEL, RUN_HOOKS, Agent, RunHooks
from agentsdk.define.misnamed import meant_for_run
from agentsdk.define.run_config import ERROR_HANDLERS, RunConfig, RunErrorHandlers
from agentsdk.define.stream_events import StreamEvent, WatchEvent
from agentsdk.engine.begin import begin_run, clock_of
from agentsdk.engine.channel import Channel
from agentsdk.engine.guards import guards_of, was_given_context
from agentsdk.engine.lifecycle import execute
from agentsdk.engine.run import Run
from agentsdk.engine.session import load_history, with_callback
from agentsdk.engine.streaming import stream_to
from agentsdk.models.catalog import KnownModels
from agentsdk.models.prices import price_with
from agentsdk.models.provider import find_model
from agentsdk.ports.meter import Meter
from agentsdk.ports.model import Model
from agentsdk.ports.session import SESSION, Session
from agentsdk.ports.tracer import Tracer
from agentsdk.result import RunResult, RunResultStreaming
from agentsdk.tracing.find import find_meter, find_tracer
from agentsdk.tracing.logs import set_up_logging
from agentsdk.types.declared import FLAG, Fields, a, number, optional, whole
from agentsdk.types.errors import ResumableState, UserError
from agentsdk.types.events import RunEvent
from agentsdk.types.generics import TContext, TOutput
from agentsdk.types.items import InputItem, Item
from agentsdk.types.misnamed import unexpected
from agentsdk.types.signature import shows_options
from agentsdk.types.summary import check_run_id

# Few runs are stored, compared or replayed, so what does it is imported where it is used.
if TYPE_CHECKING:
    from agentsdk.core.diff import RunDiff
    from agentsdk.core.state import State
    from agentsdk.core.window.context_window import ContextWindow
    from agentsdk.engine.replay import Replay
    from agentsdk.engine.rerun import Change, ReplayWithChanges
    from agentsdk.types.session import SessionCompaction
    from agentsdk.types.signals import CancelMode, Decision

_DEFAULT = RunConfig()
_ARGUMENTS = Fields(
    "Runner",
    hooks=optional(RUN_HOOKS),
    run_config=optional(a(RunConfig, "a RunConfig; pass RunConfig(...)")),
    session=optional(SESSION),
    error_handlers=optional(ERROR_HANDLERS),
    take_over=FLAG,
    state=a(RunState, "a RunState; pass what Runner.load or result.to_state() gave"),
    agent=a(Agent, "an Agent"),
    change=optional(a(Agent, "an Agent")),
    model=MODEL,
    live_effects=FLAG,
    at=optional(number("a finite Unix timestamp in seconds; write moment.timestamp()")),
    after=whole("a revision, 0 or more", 0),
    priority=optional(whole("a whole number; the highest is taken first")),
)
_CATALOG = KnownModels()

set_up_logging()

RunInput = str | Sequence[InputItem] | ResumableState
"""A run's input: text, items, or the state of a run to go on with."""


class _StoredArguments(TypedDict, Generic[TContext], total=False):
    """What every way to run an agent takes. Each is None where it is not given."""

    max_turns: int | None
    hooks: RunHooks[TContext] | None
    session: Session | None
    error_handlers: RunErrorHandlers | None


class _Arguments(_StoredArguments[TContext], total=False):
    """The same, and what a run of a store cannot do without."""

    run_config: RunConfig | None


class _Options(Struct, frozen=True, kw_only=True):
    """These arguments, checked. Raises `TypeError` for one there is not, as Python does, and `UserError` for a wrong one."""

    max_turns: int | None = None
    hooks: RunHooks[Any] | None = None
    session: Session | None = None
    error_handlers: RunErrorHandlers | None = None
    run_config: RunConfig | None = None

    def __post_init__(self) -> None:
        hooks, session, config, handlers = self.hooks, self.session, self.run_config, self.error_handlers
        if hooks is not None or session is not None or handlers is not None or type(config) is not RunConfig:
            _ARGUMENTS.check_given(hooks=hooks, run_config=config, session=session, error_handlers=handlers)
            if session is not None and config is not None and config.is_hosted:
                raise UserError(
                    "Runner was given a session for a conversation that the provider keeps, expected one of them; leave the "
                    "session out, or the conversation_id or previous_response_id of the RunConfig"
                )


def _options(arguments: Mapping[str, Any], run_config: RunConfig | None = None) -> _Options:
    """The arguments of a call, of which one may stand by itself."""
    try:
        return _Options(**arguments) if run_config is None else _Options(run_config=run_config, **arguments)
    except TypeError:
        known = ("context", *_Options.__struct_fields__)
        wrong = next((name for name in arguments if name not in known), None)
        if wrong is None:
            raise
        raise unexpected("Runner", wrong, known, meant_for_run) from None


class Runner:
    """Runs agents. Every way to run one is the same loop over the same turns.

    To a type checker an `Agent[T]` needs a `context` of that type, unless T is None or the run goes on: that one may have it.
    """

    @overload
    @staticmethod
    async def run(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    async def run(
        starting_agent: Agent[None, TOutput],
        input: RunInput,
        *,
        context: None = None,
        max_turns: int | None = None,
        hooks: RunHooks[None] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    async def run(
        starting_agent: Agent[TContext, TOutput],
        input: ResumableState,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResult[TOutput]: ...
    @staticmethod
    @shows_options(_Arguments)
    async def run(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext | None = None,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResult[TOutput]:
        """Run `starting_agent` on `input` until it has its final output or waits for a person.

        A `RunState`, or the `.state` of an error, goes on where it stood. `context` is for tools, hooks and instructions; no
        model sees it. `max_turns` is short for `run_config.limits.turns`. `hooks` are told what happens. A `session` has the
        conversation so far, and gets what is new. `error_handlers` give an output in place of an error; `run_config` has all
        other settings.

        Raises `AgentsException`s with the state to go on from. Their `state` is None where no run has begun: `UserError` for
        an argument that is wrong, `SessionError` for a session that cannot be read, `RunConflictError` for a run that exists
        already or is held elsewhere.
        """
        options = _options(arguments)
        history = () if options.session is None else await history_of(options.session, input, options.run_config)
        run, begin = _begun(starting_agent, input, history, context, options)
        await execute(run, begin, options.session, options.error_handlers, starting_agent)
        return RunResult(run)

    @staticmethod
    @shows_options(_StoredArguments)
    async def resume(
        starting_agent: Agent[TContext, TOutput],
        run_id: str,
        *,
        run_config: RunConfig,
        context: TContext | None = None,
        take_over: bool = False,
        **arguments: Unpack[_StoredArguments[TContext]],
    ) -> RunResult[TOutput]:
        """Go on with the run `run_id` of `run_config.store`, wherever it stands: paused, stopped, or left by a dead process.

        Of several processes that try at once one wins; the others raise `RunConflictError`, as do those that come while
        it is held.
        `take_over` says that nobody works on it although its lease has not passed. Raises `RunNotFoundError`, and like `run`.
        """
        _options(arguments)
        _ARGUMENTS.check_given(take_over=take_over)
        given = await _stored(run_id, run_config, take_over)
        return await Runner.run(starting_agent, given, context=context, run_config=run_config, **arguments)

    @overload
    @staticmethod
    async def drive(
        agents: Agent[TContext, TOutput],
        run_id: str,
        input: str | Sequence[InputItem] | None = None,
        *,
        run_config: RunConfig,
        begin_with: str | None = None,
        context: TContext | None = None,
        **arguments: Unpack[_StoredArguments[TContext]],
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    async def drive(
        agents: Mapping[str, Agent[TContext, Any]] | Sequence[Agent[TContext, Any]],
        run_id: str,
        input: str | Sequence[InputItem] | None = None,
        *,
        run_config: RunConfig,
        begin_with: str | None = None,
        context: TContext | None = None,
        **arguments: Unpack[_StoredArguments[TContext]],
    ) -> RunResult[Any]: ...
    @staticmethod
    @shows_options(_StoredArguments)
    async def drive(
        agents: Agent[Any, Any] | Mapping[str, Agent[Any, Any]] | Sequence[Agent[Any, Any]],
        run_id: str,
        input: str | Sequence[InputItem] | None = None,
        *,
        run_config: RunConfig,
        begin_with: str | None = None,
        context: Any = None,
        **arguments: Unpack[_StoredArguments[Any]],
    ) -> RunResult[Any]:
        """Begin the run `run_id` of `run_config.store`, go on with it, or give what it has come to: whichever is due.

        It may be called any number of times, from any number of processes: of several that try at once one takes the run. So a
        job that is delivered twice, or again after a crash, needs no other call. `agents` are an agent, or those that runs may
        be of; `begin_with` names the one that a new run begins with, where there are several. A run that waits for a person is
        given as it stands, without a new event; so is a finished one.

        Raises `RunConflictError` while another process holds the run, and where it was begun with another `input`;
        `RunNotFoundError` where it does not exist and no `input` is given; `StateMismatchError` where the agents lack the one
        it began with, or is at; and like `run`.
        """
        from agentsdk.engine.drive import drive
        from agentsdk.engine.stored import store_of

        options = _options(arguments, run_config)
        store_of(run_config)
        config = dataclasses.replace(run_config, run_id=check_run_id(run_id))

        async def run(agent: Agent[Any, Any], given: RunInput) -> RunResult[Any]:
            return await Runner.run(agent, given, context=context, run_config=config, **arguments)

        def show(agent: Agent[Any, Any], state: RunState) -> RunResult[Any]:
            return RunResult(_begun(agent, state, (), context, options)[0])

        return await drive(agents, run_id, input, begin_with, config, run=run, show=show)

    @staticmethod
    async def submit(
        agent: Agent[TContext, Any],
        input: str | Sequence[InputItem],
        *,
        run_config: RunConfig,
        run_id: str | None = None,
        at: float | None = None,
        priority: int | None = None,
        context: TContext | None = None,
        session: Session | None = None,
    ) -> str:
        """Put a run into `run_config.store` without running it: a `Worker` takes it; the run's id.

        It is due now, or at `at` (a Unix timestamp in seconds); of the runs that are due, workers take those of the highest
        `priority` first, then the one that has been due longest. What `session` holds becomes part of the run's input; the
        worker that runs it is given the session again. `context` is kept with the run where `run_config.context_codec` says
        how.

        A second call with the same `run_id` and input changes nothing. Raises `RunConflictError` where the id is another
        run's, and like `run` for what is wrong with the arguments.
        """
        from agentsdk.engine.stored import store_of
        from agentsdk.engine.submit import submit

        _ARGUMENTS.check_given(session=session, at=at, priority=priority)
        store = store_of(run_config)
        config = run_config if run_id is None else dataclasses.replace(run_config, run_id=check_run_id(run_id))
        options = _Options(run_config=config, session=session)
        history = () if session is None else await load_history(session)
        run, begin = _begun(agent, input, history, context, options)
        return await submit(store, run, begin, agent, input, at, priority)

    @staticmethod
    def watch(run_id: str, *, run_config: RunConfig, after: int = 0) -> AsyncGenerator[WatchEvent, None]:
        """What happens in the run `run_id` of `run_config.store`, from revision `after` on, until it is finished, has failed or
        is cancelled: `async for event in Runner.watch(...)`.

        A `RecordedEvent` for each event of its log, and while the run is in work in this process, on this same store object,
        its deltas and its tools' progress, unless `buffer_output` keeps them back. Any number may watch; a reader that stops
        reading holds up nobody, and misses deltas only. Whoever was cut off goes on with `after=event.revision`.

        Raises `UserError` at once for an argument that is wrong; when read, `RunNotFoundError`, and `StoreError` for a store
        that fails: watch again from the last revision.
        """
        from agentsdk.engine.stored import store_of
        from agentsdk.engine.watch import watch

        _ARGUMENTS.check_given(after=after)
        store_of(run_config)
        assert run_config.store is not None
        return watch(run_config.store, check_run_id(run_id), after)

    @overload
    @staticmethod
    def run_sync(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    def run_sync(
        starting_agent: Agent[None, TOutput],
        input: RunInput,
        *,
        context: None = None,
        max_turns: int | None = None,
        hooks: RunHooks[None] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResult[TOutput]: ...
    @overload
    @staticmethod
    def run_sync(
        starting_agent: Agent[TContext, TOutput],
        input: ResumableState,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResult[TOutput]: ...
    @staticmethod
    @shows_options(_Arguments)
    def run_sync(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext | None = None,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResult[TOutput]:
        """`run` for code without an event loop. Raises `UserError` where one is running: await `run` there."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise UserError(
                "Runner.run_sync was called inside a running event loop, expected none; use 'await Runner.run(...)'"
            )

        async def main() -> RunResult[TOutput]:
            from agentsdk.models.shared_client import aclose

            try:
                return await Runner.run(starting_agent, input, context=cast(TContext, context), **arguments)
            finally:
                await aclose()

        return asyncio.run(main())

    @overload
    @staticmethod
    def run_streamed(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResultStreaming[TOutput]: ...
    @overload
    @staticmethod
    def run_streamed(
        starting_agent: Agent[None, TOutput],
        input: RunInput,
        *,
        context: None = None,
        max_turns: int | None = None,
        hooks: RunHooks[None] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResultStreaming[TOutput]: ...
    @overload
    @staticmethod
    def run_streamed(
        starting_agent: Agent[TContext, TOutput],
        input: ResumableState,
        *,
        context: TContext | None = None,
        max_turns: int | None = None,
        hooks: RunHooks[TContext] | None = None,
        session: Session | None = None,
        error_handlers: RunErrorHandlers | None = None,
        run_config: RunConfig | None = None,
    ) -> RunResultStreaming[TOutput]: ...
    @staticmethod
    @shows_options(_Arguments)
    def run_streamed(
        starting_agent: Agent[TContext, TOutput],
        input: RunInput,
        *,
        context: TContext | None = None,
        **arguments: Unpack[_Arguments[TContext]],
    ) -> RunResultStreaming[TOutput]:
        """`run`, read while it goes: `async for event in Runner.run_streamed(...)`. Nothing starts before that.

        Raises `UserError` at once for an argument that is wrong.
        """
        options = _options(arguments)

        async def begin(stream: RunResultStreaming[TOutput], channel: Channel[StreamEvent]) -> None:
            history = () if options.session is None else await history_of(options.session, input, options.run_config)
            run, events = _begun(starting_agent, input, history, context, options)
            stream.attach(run)
            stream_to(run, channel)
            await execute(run, events, options.session, options.error_handlers, starting_agent)

        return RunResultStreaming(begin)

    @staticmethod
    @shows_options(_StoredArguments)
    def resume_streamed(
        starting_agent: Agent[TContext, TOutput],
        run_id: str,
        *,
        run_config: RunConfig,
        context: TContext | None = None,
        take_over: bool = False,
        **arguments: Unpack[_StoredArguments[TContext]],
    ) -> RunResultStreaming[TOutput]:
        """`resume`, read while it goes. What is streamed is what happens from now on.

        Raises `UserError` at once for an argument that is wrong.
        """
        from agentsdk.engine.stored import store_of

        options = _options(arguments, run_config)
        _ARGUMENTS.check_given(take_over=take_over)
        check_run_id(run_id)
        store_of(run_config)

        async def begin(stream: RunResultStreaming[TOutput], channel: Channel[StreamEvent]) -> None:
            given = await _stored(run_id, run_config, take_over)
            run, events = _begun(starting_agent, given, (), context, options)
            stream.attach(run)
            stream_to(run, channel)
            await execute(run, events, options.session, options.error_handlers, starting_agent)

        return RunResultStreaming(begin)

    @staticmethod
    async def load(run_id: str, *, run_config: RunConfig, at: int | None = None) -> RunState:
        """The run `run_id` as it stands in `run_config.store`, or as it was at revision `at`: to look at, and to decide on.

        Raises `RunNotFoundError`, `StateError`s for a damaged or newer log, `UserError` for a revision there is not.
        """
        from agentsdk.engine.stored import load_run, store_of

        return RunState(await load_run(store_of(run_config), run_id, at), state_key=run_config.state_key)

    @overload
    @staticmethod
    async def decide(state: RunState, *, run_config: RunConfig) -> RunState: ...
    @overload
    @staticmethod
    async def decide(state: str, decision: Decision, *, run_config: RunConfig) -> int: ...
    @staticmethod
    async def decide(state: RunState | str, decision: Decision | None = None, *, run_config: RunConfig) -> RunState | int:
        """Put what was decided on `state` into the store, for whoever resumes the run. Any process may: it needs no agent.

        Or, of the run of an id, post one `decision`, which is plain data, like `send`: its number in the mailbox. Also the live
        owner of the run takes it, when all other calls of the turn have ended.

        An answer, or edited arguments, that the tool then turns out not to take are refused, and the call waits on.

        Raises `RunConflictError` if the call does not wait, or no more; of a `state` also if another process holds the run.
        Raises `UserError` for a decision of another kind than the call waits for, and for an answer that does not fit its
        recorded schema.
        """
        from agentsdk.engine import signals
        from agentsdk.engine.stored import save_decisions, store_of

        if isinstance(state, str) and decision is not None:
            return await signals.decide(state, decision, run_config)
        _ARGUMENTS.check_given(state=state)
        given = cast(RunState, state)
        return await save_decisions(store_of(run_config), given, clock_of(run_config)(), price_with(run_config.prices))

    @staticmethod
    async def send(run_id: str, message: str | InputItem, *, priority: int = 0, by: str = "", run_config: RunConfig) -> int:
        """Send the run `run_id` of `run_config.store` a message: a user's text, or a `Message` of any role but the assistant's.

        It enters at the run's next turn, once the input guardrails have let it pass, and the run does not end before; of those
        that wait, the highest `priority` enters first. A run that waits or has failed is ready with it. Any process may send:
        it needs no agent. Gives the message's number in the mailbox; it is taken when `RunSummary.taken` has come to that.

        Raises `RunNotFoundError`, `RunConflictError` for a run that is finished or cancelled, and `UserError` for what is no
        message. After a `StoreUnavailableError` the message may be there.
        """
        from agentsdk.engine import signals

        return await signals.send(run_id, message, priority, by, run_config)

    @staticmethod
    async def signal(run_id: str, name: str, data: object = None, *, by: str = "", run_config: RunConfig) -> int:
        """Give the run `run_id` data, whatever has a JSON form, for `flow.wait_for(name, ...)` in the workflow that it is of.

        It is kept until the workflow waits for that name. Of several of one name each is taken once, in their order. Data of
        another type than is waited for is left out, with a warning, and the workflow waits for the next.

        Gives and raises what `send` does; `UserError` for data without a JSON form.
        """
        from agentsdk.engine import signals

        return await signals.signal(run_id, name, data, by, run_config)

    @staticmethod
    async def pause(run_id: str, *, by: str = "", reason: str = "", run_config: RunConfig) -> int:
        """Have the run go no further than its turn, until `unpause`. Its owner's call returns, with `result.paused`.

        Gives and raises what `send` does.
        """
        from agentsdk.engine import signals

        return await signals.pause(run_id, by, reason, run_config)

    @staticmethod
    async def unpause(run_id: str, *, by: str = "", run_config: RunConfig) -> int:
        """Let a paused run go on: a `Worker` does, or who drives it. Gives and raises what `send` does."""
        from agentsdk.engine import signals

        return await signals.unpause(run_id, by, run_config)

    @staticmethod
    async def cancel(run_id: str, *, mode: CancelMode = "now", by: str = "", reason: str = "", run_config: RunConfig) -> int:
        """Stop the run: at once, as if its process were stopped, or `"after_turn"`. It is cancelled then: only who asks for it,
        with `resume`, goes on with it. Its owner's call raises `RunCancelledError`.

        Gives and raises what `send` does.
        """
        from agentsdk.engine import signals

        return await signals.cancel(run_id, mode, by, reason, run_config)

    @staticmethod
    async def fork(
        run_id: str,
        *,
        at: int | None = None,
        new_run_id: str | None = None,
        keep_approvals: bool = False,
        run_config: RunConfig,
    ) -> str:
        """A new run that goes on from where `run_id` was at revision `at`; its id, for `resume`. The old one stays as it is.

        Calls that run again run under the new run's idempotency keys. A person approved calls of the old run: the new one asks
        again for those that have no result yet, and `always_approve` ends; with `keep_approvals` what was decided counts in
        both, so that one approval can let a call run twice. The metadata of `run_config` is put over that of the old run.
        Raises like `load`, and `RunConflictError` for an id in use.
        """
        from agentsdk.engine.stored import forked, load_run, save_fork, store_of

        store, now = store_of(run_config), clock_of(run_config)()
        origin = await load_run(store, run_id, at)
        fork = forked(origin, _fork_id(new_run_id), now, keep_approvals=keep_approvals, metadata=run_config.metadata)
        await save_fork(store, fork, now, price_with(run_config.prices))
        return fork.run_id

    @staticmethod
    async def diff(run_a: str, run_b: str, *, run_config: RunConfig) -> RunDiff:
        """Where two runs of the store part, a fork and its origin say, and what the second took more than the first.

        The cost is None where a price is not known, from `run_config.prices` or the extra `prices`. Raises like `load`.
        """
        from agentsdk.core.diff import diff
        from agentsdk.engine.stored import load_run, store_of

        store = store_of(run_config)
        return diff(await load_run(store, run_a), await load_run(store, run_b), price_with(run_config.prices))

    @staticmethod
    async def compact_session(
        session: Session,
        window: ContextWindow,
        *,
        model: str | Model | None = None,
        run_config: RunConfig | None = None,
    ) -> SessionCompaction | None:
        """Make a session smaller by the strategies of `window`, once its items take more than the trigger of it.

        What they leave takes the place of what they replace in one step, which loses nothing that a run adds meanwhile; the
        originals stay readable by `get_original_items`. `model` is the one that the conversation is for, and that sums up
        where a strategy names none. Its provider, the token counter, limits, prices and tracer are those of `run_config`. None
        where nothing has changed.

        Raises `SessionError`s, `SessionBusyError` where others change the older items each time, and `UserError` for a session
        that cannot replace its items and for a window without strategies.
        """
        from agentsdk.engine.session_compaction import compact_session, compactable

        _ARGUMENTS.check_given(model=model, run_config=run_config)
        replacing = compactable(session, window)
        config = run_config or _DEFAULT
        if model is not None:
            config = dataclasses.replace(config, model=model)
        if config.model is None and config.token_counter is None and window.size is not None:
            config = dataclasses.replace(config, token_counter=_CATALOG.counter_of(""))
        run, _ = _begun(Agent("Session"), "", (), None, _Options(run_config=config))
        return await compact_session(run, replacing, window)

    @overload
    @staticmethod
    async def replay(agent: Agent[TContext, Any], run_id: str, *, run_config: RunConfig) -> Replay: ...
    @overload
    @staticmethod
    async def replay(
        agent: Agent[TContext, Any],
        run_id: str,
        *,
        change: Agent[TContext, Any],
        model: str | Model | None = None,
        at: int | None = None,
        new_run_id: str | None = None,
        live_effects: bool = False,
        context: TContext | None = None,
        run_config: RunConfig,
    ) -> ReplayWithChanges: ...
    @overload
    @staticmethod
    async def replay(
        agent: Agent[TContext, Any],
        run_id: str,
        *,
        change: None = None,
        model: str | Model,
        at: int | None = None,
        new_run_id: str | None = None,
        live_effects: bool = False,
        context: TContext | None = None,
        run_config: RunConfig,
    ) -> ReplayWithChanges: ...
    @staticmethod
    async def replay(
        agent: Agent[TContext, Any],
        run_id: str,
        *,
        change: Agent[TContext, Any] | None = None,
        model: str | Model | None = None,
        at: int | None = None,
        new_run_id: str | None = None,
        live_effects: bool = False,
        context: TContext | None = None,
        run_config: RunConfig,
    ) -> Replay | ReplayWithChanges:
        """Take the stored run `run_id`, which `agent` began, through its turns again. It stays as it is.

        Without a change nobody is called (no model, tool, hook, guardrail or rule), and the `Replay` says whether every turn
        still comes to the step that is recorded. Of a workflow it says so of the program and its steps; there is no change to
        make: resume a fork with it.

        With `change`, a changed agent, or `model`, another model for all its agents, the run is run again from its input, or
        from revision `at`. Replies and results that the change does not touch are the record's. For the rest the model is asked
        and a tool is run if its effect is `"none"`; the run stops before any other call unless there are `live_effects`, and
        without them `on_handoff` is not called. Agents' hooks are not called; instructions, rules and guardrails are, as they
        may be what has changed. The `ReplayWithChanges` says where the runs part and what that came to. With `new_run_id` the
        new run is a stored fork, to be gone on with; otherwise it lives in memory.

        Raises like `load`, `StateMismatchError` for another agent's run, and `RunConflictError` for an id in use.
        """
        from agentsdk.engine.log_positions import check_agent
        from agentsdk.engine.replay import replay
        from agentsdk.engine.rerun import Change
        from agentsdk.engine.stored import load_run, store_of

        _ARGUMENTS.check_given(agent=agent, change=change, model=model, live_effects=live_effects)
        store = store_of(run_config)
        recorded = await load_run(store, run_id)
        for one in (agent, change or agent):
            check_agent(one, recorded)
        if agent.driver is not None:
            if (change, model, at, new_run_id, live_effects) != (None, None, None, None, False):
                raise UserError(
                    f"workflow {agent.name!r} was to be replayed with changes, expected without: fork it before the step from "
                    "which it is to differ, and resume the fork with the change, RunConfig(model=...) say"
                )
            return cast("Replay", await agent.driver.replay(recorded, run_config))
        if change is None and model is None:
            if at is not None or new_run_id is not None or live_effects:
                raise UserError("a replay was given options but no change, expected change= or model=; give one, or drop them")
            return await replay(recorded, agent, run_config)
        changed = Change(agent, change or agent, model, live_effects)
        return await _replay_with_changes(recorded, changed, 1 if at is None else at, new_run_id, context, run_config)


async def submit_with(
    agent: Agent[Any, Any],
    input: Sequence[InputItem],
    begun_with: tuple[RunEvent, ...],
    *,
    run_config: RunConfig,
    history: tuple[Item, ...],
    context: object,
) -> str:
    """`Runner.submit` for who knows the `history`, and what is recorded with the run's start: the offer of a toolset, say."""
    from agentsdk.engine.stored import store_of
    from agentsdk.engine.submit import submit

    run, begin = _begun(agent, input, history, context, _Options(run_config=run_config))
    return await submit(store_of(run_config), run, (*begin, *begun_with), agent, input, None, None)


def begun_with(
    agent: Agent[Any, Any],
    given: object,
    history: tuple[Item, ...],
    context: object,
    *,
    run_config: RunConfig,
    hooks: RunHooks[Any] | None,
    session: Session | None,
) -> tuple[Run, tuple[RunEvent, ...]]:
    """A run that has not begun yet, and the events it begins with, for who has it driven by `execute`. `history` is what
    `history_of` the session gave. Raises like `run`."""
    options = _Options(hooks=hooks, session=session, run_config=run_config)
    return _begun(agent, given, history, context, options)


async def drive_with_run(
    agents: object,
    run_id: str,
    given: object = None,
    begin_with: str | None = None,
    *,
    run_config: RunConfig,
    context: object,
    on_begin: Callable[[Run], None],
    owner: str = "",
    **arguments: Unpack[_StoredArguments[Any]],
) -> RunResult[Any]:
    """`Runner.drive` for who needs the run in work: `on_begin` is called with it when it begins or goes on.

    A worker has claimed it as `owner`.
    """
    from agentsdk.engine.drive import drive

    options = _options(arguments, run_config)

    async def run(agent: Agent[Any, Any], given: object) -> RunResult[Any]:
        history = () if options.session is None else await history_of(options.session, given, run_config)
        run, begin = _begun(agent, given, history, context, options)
        on_begin(run)
        await execute(run, begin, options.session, options.error_handlers, agent)
        return RunResult(run)

    def show(agent: Agent[Any, Any], state: RunState) -> RunResult[Any]:
        return RunResult(_begun(agent, state, (), context, options)[0])

    return await drive(agents, run_id, given, begin_with, run_config, run=run, show=show, owner=owner)


async def _replay_with_changes(
    recorded: State, change: Change, at: int, new_run_id: str | None, context: object, config: RunConfig
) -> ReplayWithChanges:
    """Run a recorded run again from revision `at`, as a fork: a stored one where it is given an id."""
    from agentsdk.engine.rerun import rerun
    from agentsdk.engine.stored import forked, load_run, save_fork, store_of

    store, now = store_of(config), clock_of(config)()
    origin = await load_run(store, recorded.run_id, at)
    guards = guards_of(change.after, config, True if was_given_context(origin) else None)
    start = forked(origin, _fork_id(new_run_id), now, guards=guards)
    if new_run_id is None:
        config = dataclasses.replace(config, store=None)
    else:
        await save_fork(store, start, now, price_with(config.prices))

    async def play(agent: Agent[Any, Any], state: RunState, config: RunConfig, hooks: RunHooks[Any]) -> tuple[RunState, object]:
        result = await Runner.run(agent, state, context=context, hooks=hooks, run_config=config)
        return result.to_state(), result.final_output if result.is_finished else None

    price = price_with(config.prices)
    return await rerun(recorded, len(origin.log), start, change, config, play=play, find_model=find_model, price=price)


async def history_of(session: Session, given: object, config: RunConfig | None) -> tuple[Item, ...]:
    """What a new run takes from its session; one that goes on has it already."""
    if isinstance(given, RunState):
        return ()
    config = config or _DEFAULT
    history = await load_history(session, config.session_limit)
    callback = config.session_input_callback
    return history if callback is None else await with_callback(callback, history, given)


def _begun(
    agent: Agent[Any, Any], given: object, history: tuple[Item, ...], context: object, options: _Options
) -> tuple[Run, tuple[RunEvent, ...]]:
    config = options.run_config or _DEFAULT
    tracer: Tracer | None = None
    meter: Meter | None = None
    if not config.tracing_disabled:
        tracer = find_tracer() if config.tracer is None else _guarded(config.tracer)
        meter = find_meter() if config.meter is None else config.meter
    return begin_run(agent, given, history, context, options.max_turns, options.hooks, config, _CATALOG, tracer, meter)


def _guarded(tracer: Tracer) -> Tracer:
    from agentsdk.tracing.guarded import GuardedTracer

    return GuardedTracer(tracer)


def _fork_id(given: str | None) -> str:
    return os.urandom(8).hex() if given is None else check_run_id(given)


async def _stored(run_id: str, config: RunConfig, take_over: bool) -> RunState:
    from agentsdk.engine.stored import load_run, release, store_of

    store = store_of(config)
    if take_over:
        await release(store, run_id, clock_of(config)())
    state = await load_run(store, run_id)
    return RunState(state, state_key=config.state_key, kept=Kept(len(state.log)))
