"""Results of runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from agentsdk.compat.openai_agents._bridge.scope import NOTHING, RunScope
from agentsdk.compat.openai_agents._bridge.view import View
from agentsdk.compat.openai_agents.exceptions import UserError, agent_line, count_lines
from agentsdk.compat.openai_agents.guardrail import InputGuardrailResult, OutputGuardrailResult
from agentsdk.compat.openai_agents.items import ItemHelpers, ModelResponse, RunItem, ToolApprovalItem
from agentsdk.compat.openai_agents.run_context import RunContextWrapper
from agentsdk.compat.openai_agents.run_state import RunState
from agentsdk.compat.openai_agents.stream_events import AgentUpdatedStreamEvent, RunItemStreamEvent, StreamEvent
from agentsdk.compat.openai_agents.tool_guardrails import ToolInputGuardrailResult, ToolOutputGuardrailResult
from agentsdk.core.state import State
from agentsdk.engine.channel import Channel
from agentsdk.engine.run import Run
from agentsdk.engine.streaming import stream_to

if TYPE_CHECKING:
    from agentsdk.compat.openai_agents.agent import Agent

T = TypeVar("T")
ToInputListMode = Literal["preserve_all", "normalized"]


@dataclass(frozen=True)
class AgentToolInvocation:
    """The call that a nested run is of."""

    tool_name: str
    tool_call_id: str
    tool_arguments: str


class RunResultBase:
    """What both results have."""

    _run: Run | None = None
    _view: View | None = None
    agent_tool_invocation: AgentToolInvocation | None = None

    def __init__(self, scope: RunScope, max_turns: int | None) -> None:
        self._scope = scope
        self.max_turns = max_turns

    @property
    def _state(self) -> State | None:
        run = self._run
        return None if run is None else run.state

    @property
    def _seen(self) -> View | None:
        state = self._state
        if state is None:
            return None
        if self._view is None or self._view.state is not state:
            self._view = View(self._scope, state)
        return self._view

    @property
    def input(self) -> str | list[Any]:
        """The run's input, as it was given."""
        return self._scope.original_input

    @property
    def new_items(self) -> list[RunItem]:
        """What the run added."""
        seen = self._seen
        return [] if seen is None else seen.new_items

    @property
    def raw_responses(self) -> list[ModelResponse]:
        """The model's replies."""
        seen = self._seen
        return [] if seen is None else seen.raw_responses

    @property
    def final_output(self) -> Any:
        """The final output; None while there is none."""
        run = self._run
        if run is None or run.state.ended is None:
            return None
        return run.final_output if self._scope.final_output is NOTHING else self._scope.final_output

    @property
    def interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for a person."""
        seen = self._seen
        return [] if seen is None else seen.interruptions()

    @property
    def input_guardrail_results(self) -> list[InputGuardrailResult]:
        """What the input guardrails said."""
        return self._scope.input_results

    @property
    def output_guardrail_results(self) -> list[OutputGuardrailResult]:
        """What the output guardrails said."""
        return self._scope.output_results

    @property
    def tool_input_guardrail_results(self) -> list[ToolInputGuardrailResult]:
        """What the tools' input guardrails said."""
        return self._scope.tool_input_results

    @property
    def tool_output_guardrail_results(self) -> list[ToolOutputGuardrailResult]:
        """What the tools' output guardrails said."""
        return self._scope.tool_output_results

    @property
    def context_wrapper(self) -> RunContextWrapper[Any]:
        """The run's context."""
        return self._scope.wrapper

    @property
    def last_agent(self) -> Agent[Any]:
        """The agent whose turn was the last."""
        seen = self._seen
        if seen is None:
            return self._scope.translation.given(self._scope.translation.first)
        return seen.last_agent

    @property
    def last_response_id(self) -> str | None:
        """The provider's id of the last reply."""
        replies = self.raw_responses
        return replies[-1].response_id if replies else None

    def final_output_as(self, cls: type[T], raise_if_incorrect_type: bool = False) -> T:
        """The final output, typed. With `raise_if_incorrect_type` raises `TypeError` for one of another class."""
        output = self.final_output
        if raise_if_incorrect_type and not isinstance(output, cls):
            raise TypeError(f"Final output is not of type {cls.__name__}: it is a {type(output).__name__}")
        return cast(T, output)

    def to_input_list(self, *, mode: ToInputListMode = "preserve_all") -> list[Any]:
        """The input and what the run added, as dicts: fit for the input of another run."""
        seen = self._seen
        return [] if seen is None else seen.to_input_list(is_normalized=mode == "normalized")

    def release_agents(self, *, release_new_items: bool = True) -> None:
        """Nothing: agents are not held longer than the result."""

    def to_state(self) -> RunState[Any, Any]:
        """A snapshot: decide on its interruptions, and pass it to `Runner.run`."""
        if self._run is None:
            raise UserError("the run has not begun, expected one that has; read its events first")
        return RunState.of(self._scope, self._run.snapshot(), self.max_turns)

    def _output_lines(self) -> str:
        lines = [f"- Final output ({type(self.final_output).__name__}):", f"    {self.final_output}", *count_lines(self)]
        return "\n".join(lines)


class RunResult(RunResultBase):
    """A run that has ended, or waits for a person. A test may make one of its fields: `RunResult(input=..., new_items=...)`."""

    if not TYPE_CHECKING:

        def __new__(cls, *args, **fields):
            return object.__new__(GivenResult if "input" in fields else cls)

    @classmethod
    def of(cls, scope: RunScope, run: Run, max_turns: int | None) -> RunResult:
        """That of a run."""
        made = object.__new__(cls)
        made._scope = scope
        made._run = run
        made.max_turns = max_turns
        return made

    def __str__(self) -> str:
        return f"RunResult:\n- Last agent: {agent_line(self.last_agent)}\n{self._output_lines()}"


class _Given:
    """The fields that a test has made a result of, in place of the properties that read a run."""

    if not TYPE_CHECKING:
        input = final_output = context_wrapper = agent_tool_invocation = None
        new_items = raw_responses = interruptions = ()
        input_guardrail_results = output_guardrail_results = ()
        tool_input_guardrail_results = tool_output_guardrail_results = ()
        max_turns = 10

        def __init__(self, **fields):
            self.__dict__.update(fields)

        def to_input_list(self, *, mode="preserve_all"):
            return [
                *ItemHelpers.input_to_new_input_list(self.input),
                *[item.to_input_item() for item in self.new_items if item.type != "tool_approval_item"],
            ]


class GivenResult(_Given, RunResult):
    """A result that a test has made of its fields."""

    if not TYPE_CHECKING:

        @property
        def last_agent(self):
            return self.__dict__["_last_agent"]


_UNREAD = 10**9
"""The run waits for no reader."""


class RunResultStreaming(RunResultBase):
    """A run that is read while it goes. It has begun, and goes on whether it is read or not. A test may make one of its fields:
    `RunResultStreaming(input=..., new_items=...)`."""

    if not TYPE_CHECKING:

        def __new__(cls, *args, **fields):
            return object.__new__(GivenStreaming if "input" in fields else cls)

    def __init__(self, scope: RunScope, max_turns: int | None, at_work: Agent[Any] | None = None) -> None:
        super().__init__(scope, max_turns)
        self._at_work = at_work  # where the run goes on: readers are told of its agent first
        self._events: Channel[Any] = Channel(_UNREAD)
        self._error: BaseException | None = None
        self._cancelled: Literal["immediate", "after_turn"] | None = None
        self.is_complete = False
        self.trace: Any = None
        self.run_loop_task: asyncio.Task[Any] | None = None

    def attach(self, task: asyncio.Task[Any]) -> None:
        """The task that the run goes on in."""
        self.run_loop_task = task

    async def drive(self, run: Callable[[Callable[[Run], None]], Awaitable[Run]]) -> None:
        """Have the run beneath go on to its end. Its events are kept until they are read."""
        try:
            await run(self._begun)
        except asyncio.CancelledError:
            if self._cancelled != "immediate":
                raise
        except BaseException as error:
            self._error = error
        finally:
            self.is_complete = True
            self._events.close()

    def _begun(self, run: Run) -> None:
        self._run = run
        self.trace = self._scope.own_trace
        if self._cancelled is not None:
            self._stop(run, self._cancelled)
        stream_to(run, self._events)

    @property
    def current_agent(self) -> Agent[Any]:
        """The agent whose turn it is."""
        return self.last_agent

    @property
    def current_turn(self) -> int:
        """Turns so far, this one included."""
        state = self._state
        if state is None:
            return 0
        return state.turns + (0 if self.is_complete or state.turn is None else 1)

    @property
    def run_loop_exception(self) -> BaseException | None:
        """What the run raised; None while it has not."""
        return self._error

    async def stream_events(self) -> AsyncIterator[StreamEvent]:
        """The run's events. Raises the run's error after the last of them."""
        from agentsdk.compat.openai_agents._bridge.shown import Shown

        show, events = Shown(self._scope).event, self._events
        get_now = events.get_nowait
        if self._at_work is not None:
            began, self._at_work = AgentUpdatedStreamEvent(self._at_work), None
            yield began
        while self._cancelled != "immediate":
            event = get_now()
            if event is None:
                try:
                    event = await events.get()
                except StopAsyncIteration:
                    break
            shown = show(event)
            if shown is not None:
                yield shown
        if self._error is not None:
            raise self._error
        if self._scope.handled is not None:
            yield RunItemStreamEvent("message_output_created", self.new_items[-1])

    def cancel(self, mode: Literal["immediate", "after_turn"] = "immediate") -> None:
        """Stop the run now, or when the turn that is going has ended."""
        self._cancelled = mode
        if self._run is not None:
            self._stop(self._run, mode)
        if mode == "immediate":
            self.is_complete = True
            self._events.close()
            if self.run_loop_task is not None:
                self.run_loop_task.cancel()

    def _stop(self, run: Run, mode: Literal["immediate", "after_turn"]) -> None:
        run.cancelled_by = "stream.cancel"
        run.stop_requested = mode == "after_turn"

    def __str__(self) -> str:
        return (
            f"RunResultStreaming:\n- Current agent: {agent_line(self.current_agent)}\n- Current turn: {self.current_turn}\n"
            f"- Max turns: {self.max_turns}\n- Is complete: {self.is_complete}\n{self._output_lines()}"
        )


class GivenStreaming(_Given, RunResultStreaming):
    """A streamed result that a test has made of its fields. It tells of no events."""

    if not TYPE_CHECKING:
        current_agent = trace = run_loop_task = run_loop_exception = None
        current_turn = 0
        is_complete = False

        @property
        def last_agent(self):
            return self.current_agent

        async def stream_events(self):
            for event in ():
                yield event

        def cancel(self, mode="immediate"):
            self.is_complete = True
