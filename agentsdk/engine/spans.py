"""Spans of a run: of the run, of each agent's part of it, of each turn, model call and tool call.

Each is a block. Where nobody traces, the block is one shared object that does nothing, so that no caller asks whether anybody
listens, and no attributes are put together.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from agentsdk.engine.job import Job
from agentsdk.engine.run import Run
from agentsdk.ports.model import Model, ModelRequest
from agentsdk.ports.session import Session
from agentsdk.ports.tracer import Span, SpanAttributes, SpanKind, Tracer
from agentsdk.types.deltas import ModelStreamEvent, ResponseCompleted
from agentsdk.types.errors import ModelError
from agentsdk.types.events import ToolFinished
from agentsdk.types.response import ModelResponse


class NoSpan:
    """The block of what nobody traces, and the interface of those that somebody does."""

    span: Span | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        pass

    def timed(self, model: Model) -> Model:
        """The model that is to be asked."""
        return model

    def replied(self, response: ModelResponse) -> None:
        """The model's reply is here."""

    def finished(self, result: ToolFinished | None) -> None:
        """The tool's result is here; None while its nested run waits for a person."""


NO_SPAN = NoSpan()


def run_span(run: Run, session: Session | None) -> NoSpan:
    """The span of a whole run."""
    tracer, config = run.deps.tracer, run.deps.config
    if tracer is None:
        return NO_SPAN
    attributes: SpanAttributes = {"agent": run.agent.name}
    if session is not None:
        attributes["conversation_id"] = session.session_id
    if config.workflow_name:
        attributes["metadata"] = {"workflow_name": config.workflow_name}
    run.span = tracer.start("run", run.agent.name, None, attributes)
    return _SpanBlock(run.span)


def turn_spans(run: Run) -> NoSpan:
    """The spans of a run's turns: to be entered anew for each."""
    return NO_SPAN if run.deps.tracer is None else _TurnSpans(run, run.deps.tracer)


def chat_span(run: Run, model: Model, request: ModelRequest) -> NoSpan:
    """The span of a request to the model."""
    if run.deps.tracer is None:
        return NO_SPAN
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
    return _ChatSpan(run.deps.tracer.start("chat", model.name, run.span, attributes), streams=request.stream)


def summary_span(run: Run, model: Model, request: ModelRequest) -> NoSpan:
    """The span of a request for a summary."""
    if run.deps.tracer is None:
        return NO_SPAN
    attributes: SpanAttributes = {"model": model.name, "agent": run.agent.name, "input": request.items}
    return _SummarySpan(run.deps.tracer.start("chat", model.name, run.span, attributes))


def tool_span(run: Run, job: Job) -> NoSpan:
    """The span of a tool call, current while its body runs."""
    if run.deps.tracer is None:
        return NO_SPAN
    call = job.call
    attributes: SpanAttributes = {
        "tool": job.tool.name,
        "call_id": call.call_id,
        "arguments": call.arguments,
        "agent": run.agent.name,
    }
    return _ToolSpan(run.deps.tracer.start("tool", job.tool.name, run.span, attributes))


class _SpanBlock(NoSpan):
    def __init__(self, span: Span) -> None:
        self.span = span
        self._span = span

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._span.end(error)


class _TurnSpans(NoSpan):
    """A span for each turn, in one for each stretch of an agent's turns: that ends with the turn that does not run again."""

    def __init__(self, run: Run, tracer: Tracer) -> None:
        self._run = run
        self._tracer = tracer
        self._outer = run.span
        self._agent: Span | None = None
        self._entered = run.agent

    def __enter__(self) -> Self:
        run = self._run
        name = run.agent.name
        if self._agent is None:
            self._entered = run.agent
            place = "/".join((run.root_id, *run.path))
            self._agent = self._start("agent", name, self._outer, {"agent": name, "run_id": place})
        number = run.state.turns + (run.state.turn is None)
        run.span = self._start("turn", str(number), self._agent, {"turn": number, "agent": name})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        run, state = self._run, self._run.state
        turn, run.span = run.span, self._outer
        if turn is not None:
            turn.end(error)
        runs_again = error is None and state.turn is None and state.ended is None and run.agent is self._entered
        if self._agent is not None and (not runs_again or run.stop_requested):
            self._agent.end(error)
            self._agent = None

    def _start(self, kind: SpanKind, name: str, parent: Span | None, attributes: SpanAttributes) -> Span:
        return self._tracer.start(kind, name, parent, attributes)


class _ChatSpan(_SpanBlock):
    def __init__(self, span: Span, *, streams: bool) -> None:
        super().__init__(span)
        self._streams = streams
        self._timed: _TimedModel | None = None

    def timed(self, model: Model) -> Model:
        self._timed = _TimedModel(model, self._streams)
        return self._timed

    def replied(self, response: ModelResponse) -> None:
        self._span.set(
            {
                "response_id": response.response_id,
                "response_model": response.model,
                "finish": response.finish,
                "usage": response.usage,
                "output": response.output,
            }
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, ModelError) and (spent := error.usage) is not None:
            self._span.set({"usage": spent})
        if self._timed is not None and self._timed.first is not None:
            self._span.set({"time_to_first_chunk": self._timed.first})
        self._span.end(error)


class _SummarySpan(_SpanBlock):
    def replied(self, response: ModelResponse) -> None:
        self._span.set({"usage": response.usage, "output": response.output})


class _ToolSpan(_SpanBlock):
    def __enter__(self) -> Self:
        self._active = self._span.activate()
        self._active.__enter__()
        return self

    def finished(self, result: ToolFinished | None) -> None:
        if result is not None:
            self._span.set({"result": result.output})

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self._active.__exit__(kind, error, traceback)
        finally:
            self._span.end(error)


class _TimedModel:
    """A model that notes how long its reply takes to begin: `first` is the seconds from the request to the first delta."""

    def __init__(self, model: Model, streams: bool) -> None:
        self.name = model.name
        self.first: float | None = None
        self._model = model
        self._streams = streams

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStreamEvent, None]:
        """The model's own stream."""
        began = time.perf_counter()
        async with contextlib.aclosing(self._model.stream(request)) as events:
            async for event in events:
                if self.first is None and self._streams and type(event) is not ResponseCompleted:
                    self.first = time.perf_counter() - began
                yield event
