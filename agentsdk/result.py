"""Results of runs: `RunResult`, and `RunResultStreaming` while the run is still going."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast

from agentsdk.core.next_step import PendingCall, interruptions, pending_calls
from agentsdk.core.run_state import RunState
from agentsdk.core.state import State, transcript
from agentsdk.define.agent import Agent
from agentsdk.define.context import RunContextWrapper
from agentsdk.define.declaration import Declaration
from agentsdk.define.guardrail_output import GuardrailResult
from agentsdk.define.run_items import RunItem
from agentsdk.define.stream_events import RunItemStreamEvent, StreamEvent
from agentsdk.engine.channel import STREAM_BUFFER, Channel
from agentsdk.engine.growing_output import GrowingOutput
from agentsdk.engine.guardrails import result as guardrail_result
from agentsdk.engine.items import ItemWalk
from agentsdk.engine.run import Run, input_of, require_asyncio
from agentsdk.models.shield import wait_until_done
from agentsdk.types.base import JsonObject
from agentsdk.types.errors import UserError
from agentsdk.types.events import GuardrailJudged, InputReplaced, LimitReachedEvent, ModelReplied, RunPaused
from agentsdk.types.generics import TOutput
from agentsdk.types.items import Item, item_to_dict
from agentsdk.types.misnamed import says_where_it_is
from agentsdk.types.response import ModelResponse
from agentsdk.types.usage import Usage

if TYPE_CHECKING:
    from agentsdk.core.refused_calls import RefusedCall
    from agentsdk.core.taint import Taint

T = TypeVar("T")


@says_where_it_is(
    {
        "result.final_output": "output data text content response",
        "result.to_input_list()": "messages all_messages new_messages",
    }
)
class _Outcome(Generic[TOutput]):
    """What both results can be asked."""

    __slots__ = ("_run",)
    _run: Run | None

    @property
    def _going(self) -> Run:
        if self._run is None:
            raise UserError(
                "the run has not started, expected it to be entered, iterated or awaited first; use 'async for event in run'"
            )
        return self._run

    @property
    def _state(self) -> State:
        return self._going.state

    @property
    def final_output(self) -> TOutput:
        """The agent's output, of its output type. Raises `UserError` for a run without one: paused, stopped or still going."""
        run = self._going
        if run.state.ended is None:
            waiting = len(self.interruptions)
            why = "it was paused or stopped, or still goes on"
            if waiting:
                why = f"{waiting} call(s) wait for a person"
            elif pending_calls(run.state):
                why = "it waits for a time"
            raise UserError(
                f"the run of agent {run.state.first_agent!r} has no final output: {why}; look at result.interruptions, "
                "decide on result.to_state() and pass that to Runner.run"
            )
        return cast(TOutput, run.final_output)

    def final_output_as(self, kind: type[T], raise_if_incorrect_type: bool = False) -> T:
        """The final output, typed as `kind`. With `raise_if_incorrect_type` raises `UserError` when it is of another class."""
        output: object = self.final_output
        if raise_if_incorrect_type and not isinstance(output, kind):
            raise UserError(
                f"final_output is {type(output).__name__!r}, expected {kind.__name__!r}; check the agent's output_type"
            )
        return cast(T, output)

    @property
    def is_finished(self) -> bool:
        """Whether there is a final output."""
        return self._run is not None and self._run.state.ended is not None

    @property
    def interruptions(self) -> list[PendingCall]:
        """The calls that wait for a person or an answer."""
        return list(interruptions(self._state))

    @property
    def taint(self) -> Taint | None:
        """What the run was tainted by first; None where its model has read nothing untrusted."""
        return self._state.taint

    @property
    def refused_calls(self) -> list[RefusedCall]:
        """The calls that were refused as no grant covered them, nested runs included: who wanted what, and when."""
        from agentsdk.core.refused_calls import refused_calls  # few runs have grants

        return refused_calls(self._state.log)

    @property
    def paused(self) -> RunPaused | None:
        """Who paused the run, when and why; None where nobody has. `Runner.unpause` lets it go on."""
        return self._state.paused

    @property
    def limit_reached(self) -> LimitReachedEvent | None:
        """The limit that the run stopped at, or that its final output was given at: a last answer, or that of an error handler.

        With `on_limit="pause"` a person may raise it: `to_state().raise_limit(...)`.
        """
        return self._state.limit

    @property
    def stop_reason(self) -> str:
        """Why the run went no further: `"finished"`; the kind of the limit that it stopped at, or gave its output at;
        `"waiting"` for a person, an answer or a time; `"paused"`; or `"stopped"` where it was asked to stop after a turn, or
        still goes on."""
        state = self._state
        if state.limit is not None:
            return state.limit.limit
        if state.ended is not None:
            return "finished"
        if pending_calls(state):
            return "waiting"
        return "stopped" if state.paused is None else "paused"

    @property
    def last_agent(self) -> Agent[Any, Any]:
        """The agent whose turn was the last."""
        return self._going.agent

    @property
    def current_agent(self) -> Agent[Any, Any]:
        """The agent whose turn it is."""
        return self._going.agent

    @property
    def input(self) -> list[Item]:
        """The run's input, without what came from a session."""
        return list(input_of(self._state))

    @property
    def new_items(self) -> list[RunItem]:
        """What the run added, each item with its agent."""
        return [event.item for event in self._events() if isinstance(event, RunItemStreamEvent)]

    @property
    def raw_responses(self) -> list[ModelResponse]:
        """The model's replies, one a turn."""
        return [event.response for event in self._state.log if isinstance(event, ModelReplied)]

    @property
    def last_response_id(self) -> str | None:
        """The provider's id of the last reply, for `RunConfig(previous_response_id=...)`; None where there is none."""
        replies = self.raw_responses
        return replies[-1].response_id or None if replies else None

    @property
    def usage(self) -> Usage:
        """What the run has spent, nested runs included."""
        return self._state.usage

    @property
    def cost(self) -> Decimal | None:
        """What the run has cost in US dollars, nested runs included; None where a price, or what was used, is not known.

        Prices are those of `RunConfig.prices`, then those of the extra `prices`, whose lists the first need reads (0.4 s).
        """
        return self._going.cost

    @property
    def duration(self) -> float:
        """Seconds that the run has gone on, over all the processes that did; not those in which it waited for a person.

        A finished run that was loaded has those of before its last process.
        """
        return self._going.duration

    @property
    def turns(self) -> int:
        """Model replies so far."""
        return self._state.turns

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._state.run_id

    @property
    def context_wrapper(self) -> RunContextWrapper[Any]:
        """The run's context, as tools and hooks saw it."""
        return self._going.context

    @property
    def truncated(self) -> bool:
        """Whether the last reply stopped at its length and the bound of continuations was spent."""
        replies = self.raw_responses
        return bool(replies) and replies[-1].finish == "length"

    @property
    def input_guardrail_results(self) -> list[GuardrailResult]:
        """The verdicts of the input guardrails."""
        return self._verdicts("input", "added_input")

    @property
    def output_guardrail_results(self) -> list[GuardrailResult]:
        """The verdicts of the output guardrails."""
        return self._verdicts("output")

    @property
    def full_results(self) -> dict[str, str]:
        """Tool results that were cut for the model, whole, by the id their marker names: kept here, not in the state."""
        return self._going.deps.full_results

    def to_input_list(self) -> list[JsonObject]:
        """The whole conversation as plain dicts, valid as the next run's input at every moment."""
        return [item_to_dict(item) for item in transcript(self._state)]

    def to_state(self) -> RunState:
        """A snapshot of the run: save it, decide on its interruptions, resume it with `Runner.run(agent, state)`."""
        return self._going.snapshot()

    def _verdicts(self, *kinds: str) -> list[GuardrailResult]:
        log = self._state.log
        return [guardrail_result(event) for event in log if isinstance(event, GuardrailJudged) and event.kind in kinds]

    def _events(self) -> list[StreamEvent]:
        run = self._going
        walk = ItemWalk(run.agents, run.agents[run.state.first_agent])
        events: list[StreamEvent] = []
        for event in run.state.log:
            if isinstance(event, InputReplaced):
                events.clear()
            events += walk.feed(event)
        return events


class RunResult(_Outcome[TOutput]):
    """A run that has ended: finished, or paused with `interruptions`."""

    __slots__ = ()

    def __init__(self, run: Run) -> None:
        self._run = run

    def __repr__(self) -> str:
        state = self._state
        waits = bool(pending_calls(state) or state.paused) or (state.limit is not None and state.limit.pauses)
        status = "finished" if state.ended is not None else "paused" if waits else "stopped"
        limit = "" if state.limit is None else f", limit_reached={state.limit.limit!r}"
        return f"RunResult({status}, agent={state.agent!r}, turns={state.turns}{limit})"


class RunResultStreaming(_Outcome[TOutput]):
    """A run that is read while it goes, by one reader at a time; any number of tasks may await it meanwhile.

    Nothing starts until it is entered (`async with`), iterated (`async for`) or awaited (which gives its `RunResult`). Leaving
    the `async for` or the `async with` early stops the run, its tools and its sockets; `async with` and `aclose` wait for that.
    """

    __slots__ = ("_begin", "_cancelled_by", "_channel", "_reader", "_reading", "_stop_after_turn", "_stopping", "_task")

    def __init__(
        self, begin: Callable[[RunResultStreaming[TOutput], Channel[StreamEvent]], Coroutine[object, object, None]]
    ) -> None:
        self._run = None
        self._begin = begin
        self._channel: Channel[StreamEvent] = Channel(STREAM_BUFFER)
        self._task: asyncio.Task[None] | None = None
        self._reader: weakref.ref[_Events] | None = None
        self._reading: asyncio.Task[Any] | None = None
        self._stopping = False
        self._stop_after_turn = False
        self._cancelled_by = ""

    def attach(self, run: Run) -> None:
        """The runner names the run that has started."""
        self._run = run
        run.stop_requested, run.cancelled_by = self._stop_after_turn, self._cancelled_by

    async def __aenter__(self) -> Self:
        _ = self._started()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self.stream_events()

    def __await__(self) -> Generator[Any, None, RunResult[TOutput]]:
        return self._finish().__await__()

    def stream_events(self) -> AsyncIterator[StreamEvent]:
        """The run's events. Raises the run's error after the last of them. Dropping the iterator early stops the run.

        Raises `UserError` where another task reads, or awaits, the run already: what one gets the other would not see.
        """
        return _Events(self)

    def stream_output(self) -> AsyncIterator[object]:
        """The final output as it grows, in place of the events: text, or of an output type the JSON that has come so far.

        Each value replaces the one before it; `final_output` is the checked one. What the model says in turns that end in calls
        shows too. Dropping the iterator early stops the run.
        """
        return GrowingOutput(_Events(self), lambda: Declaration.of(self.current_agent).output)

    def cancel(self, mode: Literal["immediate", "after_turn"] = "immediate") -> None:
        """Stop the run now, or when the turn that is going has ended. The events so far can still be read.

        A stored run is cancelled by that: only who asks for it goes on with it. Leaving the stream only stops it.
        """
        self._cancelled_by = "stream.cancel"
        if self._run is not None:
            self._run.cancelled_by = self._cancelled_by
        if mode == "after_turn":
            self._stop_after_turn = True
            if self._run is not None:
                self._run.stop_requested = True
            return
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        if self._task is not None:
            self._task.cancel()
        else:
            self._channel.close()

    async def aclose(self) -> None:
        """Stop the run if it still goes, and wait until it has."""
        task = self._task
        if task is None:
            return
        if not task.done():
            self._stop()
        await wait_until_done(task)

    @property
    def is_complete(self) -> bool:
        """Whether the run has ended: finished, paused or stopped."""
        return self._task is not None and self._task.done()

    async def next_event(self, reader: _Events | None = None) -> StreamEvent:
        """The next event, for the iterator that reads, if any. Raises `StopAsyncIteration` after the last, `UserError` like
        `stream_events`."""
        if self._is_read_beside(reader):
            raise UserError(
                "this run is read by another task, expected one reader: each event goes to one of them; let the reader pass on "
                "what others need, or await the run there, after its reader has begun"
            )
        task = self._started()
        if reader is not None:
            self._reader, self._reading = weakref.ref(reader), asyncio.current_task()
        try:
            return await self._channel.get()
        except StopAsyncIteration:
            await wait_until_done(task)
            raise
        except asyncio.CancelledError:
            await self.aclose()
            raise

    def _is_read_beside(self, reader: _Events | None) -> bool:
        """Whether another reader than this one, in another task that still goes, has not come to its end."""
        other = None if self._reader is None else self._reader()
        reading = self._reading
        return (
            other is not None
            and other is not reader
            and not other.is_over
            and reading is not asyncio.current_task()
            and reading is not None
            and not reading.done()
        )

    def abandon(self) -> None:
        """Stop the run without waiting, for a reader that was dropped."""
        if self._task is not None and not self._task.done():
            self._stop()

    def _started(self) -> asyncio.Task[None]:
        if self._task is None:
            require_asyncio()
            self._task = asyncio.create_task(self._drive(), name="agentsdk run")
        return self._task

    async def _drive(self) -> None:
        try:
            if self._stopping:
                raise asyncio.CancelledError
            await self._begin(self, self._channel)
        except asyncio.CancelledError as cancelled:
            self._channel.close(None if self._stopping else cancelled)
        except BaseException as error:
            self._channel.close(error)  # the reader raises it
        else:
            self._channel.close()

    async def _finish(self) -> RunResult[TOutput]:
        if self._is_read_beside(None):
            await self._wait_beside()
        else:
            async for _ in _Events(self):
                pass
        return RunResult(self._going)

    async def _wait_beside(self) -> None:
        """Wait for the end of a run whose events another task reads. Raises the run's error."""
        try:
            await asyncio.wait({self._started()})
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if self._channel.error is not None:
            raise self._channel.error


class _Events:
    """Reads a stream; dropped before its end, as `break` does, it stops the run."""

    __slots__ = ("__weakref__", "_stream", "is_over")

    def __init__(self, stream: RunResultStreaming[Any]) -> None:
        self._stream = stream
        self.is_over = True  # until it reads

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        self.is_over = False
        try:
            return await self._stream.next_event(self)
        except BaseException:
            self.is_over = True
            raise

    async def aclose(self) -> None:
        """Stop the run and wait until it has stopped."""
        self.is_over = True
        await self._stream.aclose()

    def __del__(self) -> None:
        if not self.is_over:
            self._stream.abandon()
