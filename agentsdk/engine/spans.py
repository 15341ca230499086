"""Spans of a run: of the run, of each agent's part of it, of each turn, model call and tool call.

A run that nobody traces pays one question for each: whether there is a tracer. Attributes are put together behind that only.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from agentsdk.core.summary import status_of
from agentsdk.engine.job import Job
from agentsdk.engine.run import Run
from agentsdk.engine.timed_model import TimedModel
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.ports.session import Session
from agentsdk.ports.tracer import CallOutcome, ProgressSpan, Span, SpanAttributes, Tracer
from agentsdk.types.errors import ModelError
from agentsdk.types.events import ToolFinished
from agentsdk.types.items import FunctionCall
from agentsdk.types.response import ModelResponse
from agentsdk.types.summary import RunStatus

Ask = Callable[[Run, Model, ModelRequest], Awaitable[ModelResponse]]
Call = Callable[[Run, Job], Awaitable[ToolFinished | None]]

_NO_SPAN: AbstractContextManager[object] = nullcontext()


def run_span(run: Run, session: Session | None) -> AbstractContextManager[object]:
    """A block in the span of a whole run."""
    tracer, config = run.deps.tracer, run.deps.config
    if tracer is None:
        return _NO_SPAN
    attributes: SpanAttributes = {"agent": run.agent.name}
    if session is not None:
        attributes["conversation_id"] = session.session_id
    if config.workflow_name:
        attributes["metadata"] = {"workflow_name": config.workflow_name}
    run.span = tracer.start("run", run.agent.name, None, attributes)
    return _RunBlock(run, run.span)


def turn_spans(run: Run) -> AbstractContextManager[object]:
    """A block in the span of a turn, to be entered anew for each."""
    return _NO_SPAN if run.deps.tracer is None else _TurnSpans(run, run.deps.tracer)


def in_chat_span(ask: Ask) -> Ask:
    """Has requests to a model made in a span of their own."""

    async def traced(run: Run, model: Model, request: ModelRequest, tracer: Tracer) -> ModelResponse:
        attributes: SpanAttributes = {
            "model": model.name,
            "agent": run.agent.name,
            "settings": request.settings,
            "stream": request.stream,
            "instructions": request.instructions,
            "input": request.all_items,
            "tools": request.tools,
        }
        if provider := getattr(model, "provider", ""):
            attributes["provider"] = provider
        span = tracer.start("chat", model.name, run.span, attributes)
        timed = TimedModel(model)
        with _Block(span):
            try:
                response = await ask(run, timed, request)
            except ModelError as error:
                if error.usage is not None:
                    span.set({"usage": error.usage})
                raise
            finally:
                if timed.first is not None:
                    span.set({"time_to_first_chunk": timed.first})
            span.set(
                {
                    "response_id": response.response_id,
                    "response_model": response.model,
                    "finish": response.finish,
                    "usage": response.usage,
                    "output": response.output,
                }
            )
            return response

    @functools.wraps(ask)
    def asked(run: Run, model: Model, request: ModelRequest) -> Awaitable[ModelResponse]:
        tracer = run.deps.tracer
        return ask(run, model, request) if tracer is None else traced(run, model, request, tracer)

    return asked


def in_side_span(ask: Ask) -> Ask:
    """The same for requests beside a turn's own, of which less is told."""

    @functools.wraps(ask)
    async def asked(run: Run, model: Model, request: ModelRequest) -> ModelResponse:
        tracer = run.deps.tracer
        if tracer is None:
            return await ask(run, model, request)
        attributes: SpanAttributes = {"model": model.name, "agent": run.agent.name, "input": request.items}
        span = tracer.start("chat", model.name, run.span, attributes)
        with _Block(span):
            response = await ask(run, model, request)
            span.set({"usage": response.usage, "output": response.output})
            return response

    return asked


def in_tool_span(call: Call) -> Call:
    """Has calls of tools made in a span of their own, the current one meanwhile: what a body begins hangs under it."""

    async def traced(run: Run, job: Job, tracer: Tracer) -> ToolFinished | None:
        attributes: SpanAttributes = {
            "tool": job.tool.name,
            "call_id": job.call.call_id,
            "arguments": job.call.arguments,
            "agent": run.agent.name,
        }
        job.span = span = tracer.start("tool", job.tool.name, run.span, attributes)
        if isinstance(span, ProgressSpan):
            job.context.show_progress_in(span)
        with _Block(span), span.activate():
            try:
                result = await call(run, job)
            except BaseException as error:
                if not job.is_waiting:  # else it is made again where the run goes on
                    span.set({"outcome": job.failure if isinstance(error, Exception) else "cancelled"})
                raise
            if result is not None:
                span.set({"result": result.output, "outcome": job.failure if result.is_error else "finished"})
            return result

    @functools.wraps(call)
    def called(run: Run, job: Job) -> Awaitable[ToolFinished | None]:
        tracer = run.deps.tracer
        return call(run, job) if tracer is None else traced(run, job, tracer)

    return called


def show_unrun(run: Run, call: FunctionCall, tool: str, outcome: CallOutcome) -> None:
    """A call that came to something without being run has a span too, which is over at once."""
    tracer = run.deps.tracer
    if tracer is not None:
        attributes: SpanAttributes = {
            "tool": tool,
            "call_id": call.call_id,
            "arguments": call.arguments,
            "agent": run.agent.name,
            "outcome": outcome,
        }
        tracer.start("tool", tool, run.span, attributes).end()


def status_of_left(run: Run, error: BaseException | None) -> RunStatus:
    """What can be done with a run as it is left, with `error` on its way."""
    if isinstance(error, Exception):
        return "failed"
    if error is not None and (run.recorder is None or not run.state.log):
        return "cancelled"
    return status_of(run.state)


class _Block(AbstractContextManager[None]):
    """Ends a span with the block."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._span.end(error)


class _RunBlock(_Block):
    """Ends the span of a run, which says how the run was left."""

    def __init__(self, run: Run, span: Span) -> None:
        super().__init__(span)
        self._run = run

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._span.set({"status": status_of_left(self._run, error)})
        self._span.end(error)


class _TurnSpans(AbstractContextManager[None]):
    """A span for each turn, in one for each stretch of an agent's turns: that ends with the turn that does not run again."""

    def __init__(self, run: Run, tracer: Tracer) -> None:
        self._run = run
        self._tracer = tracer
        self._outer = run.span
        self._agent: Span | None = None
        self._entered = run.agent

    def __enter__(self) -> None:
        run = self._run
        name = run.agent.name
        if self._agent is None:
            self._entered = run.agent
            place = "/".join((run.root_id, *run.path))
            self._agent = self._tracer.start("agent", name, self._outer, {"agent": name, "run_id": place})
        number = run.state.turns + (run.state.turn is None)
        run.span = self._tracer.start("turn", str(number), self._agent, {"turn": number, "agent": name})

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        run, state = self._run, self._run.state
        turn, run.span = run.span, self._outer
        runs_again = error is None and state.turn is None and state.ended is None and run.agent is self._entered
        if turn is not None:
            if runs_again:
                turn.set({"next_step": "run_again"})
            elif error is None:
                ended, is_open = state.ended is not None, state.turn is not None
                turn.set({"next_step": "final_output" if ended else "interruption" if is_open else "handoff"})
            turn.end(error)
        if self._agent is not None and (not runs_again or run.stop_requested):
            self._agent.end(error)
            self._agent = None
