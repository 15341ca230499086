"""Spans through OpenTelemetry. Imported only where somebody listens: see `agentsdk.tracing.find`.

A span's context is passed on by hand. Nothing is attached to a task but by `Span.activate`, and no token is ever kept, so a
span may begin and end in different tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from contextlib import AbstractContextManager
from time import time_ns
from typing import cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.util.types import AttributeValue

from agentsdk.ports.tracer import Span, SpanAttributes, SpanKind, Tracer
from agentsdk.tracing import names
from agentsdk.tracing.content import instructions_json, messages_json, progress_json, result_text, tools_json
from agentsdk.tracing.outbox import Outbox

# How long a run, or a block of `trace`, waits for the exporters of its spans, so that what it did can be read when it returns.
_SETTLE_SECONDS = 0.25


class OpenTelemetryTracer(Tracer):
    """Records spans with `tracer_provider`, by default the process's own.

    Messages, arguments and results are recorded only with `capture_content`; the spans of n turns then hold O(n²) text.
    Whatever goes wrong in a provider, processor or exporter is logged once and leaves the run alone.
    """

    def __init__(self, tracer_provider: trace.TracerProvider | None = None, *, capture_content: bool = False) -> None:
        self._tracer = (tracer_provider or trace.get_tracer_provider()).get_tracer("agentsdk")
        self._outbox = Outbox()
        self._settles = True
        self.capture_content = capture_content

    def start(self, kind: SpanKind, name: str, parent: Span | None = None, attributes: SpanAttributes | None = None) -> Span:
        """Begin a span under `parent`; without one, under whatever is current in the calling task."""
        operation = names.OPERATIONS.get(kind)
        begun: dict[str, AttributeValue] = {} if operation is None else {names.OPERATION: operation}
        if kind == "workflow":
            begun[names.WORKFLOW] = name
        elif kind == "tool":
            begun[names.TOOL_TYPE] = "function"
        outer = parent.context if isinstance(parent, OpenTelemetrySpan) else None
        if parent is None:
            self._outbox.begin()
        try:
            if outer is None:
                outer = otel_context.get_current()
            begun.update(_encoded(attributes or {}))
            span = self._tracer.start_span(
                f"{operation or kind} {name}",
                outer,
                trace.SpanKind.CLIENT if kind == "chat" else trace.SpanKind.INTERNAL,
                begun,
            )
            if attributes and self.capture_content and span.is_recording():
                span.set_attributes(_content(attributes))
        except Exception:
            self._outbox.warn(f"a {kind} span could not begin")
            span = trace.INVALID_SPAN
        return OpenTelemetrySpan(self, span, outer, outermost=parent is None)

    def finish(self, span: trace.Span, outermost: bool) -> None:
        """End `span` with the time of now; its exporters run elsewhere. Waits for them only where there is no event loop."""
        ended = time_ns()
        self._outbox.put(lambda: span.end(end_time=ended))
        if outermost:
            self._outbox.finish()
            if self._settles and not _in_event_loop():
                self._settle(self._outbox.drain(_SETTLE_SECONDS))

    def forget(self) -> None:
        """An outermost span was dropped without an end."""
        self._outbox.finish()

    async def settle(self) -> None:
        """Wait, for 0.25 s at most, until the exporters have what has ended; not at all while they are behind from before."""
        if not self._settles:
            return
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def reached() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(_set, done)

        self._outbox.call_when_done(reached)
        await asyncio.wait({done}, timeout=_SETTLE_SECONDS)
        self._settle(done.done())
        if done.done():
            self._outbox.retire()

    def warn(self, message: str) -> None:
        """Log trouble, once."""
        self._outbox.warn(message)

    def _settle(self, in_time: bool) -> None:
        if not in_time:
            self._settles = False
            self._outbox.put(self._settled)

    def _settled(self) -> None:
        self._settles = True


class OpenTelemetrySpan(Span):
    """One span and the context that its children begin in."""

    __slots__ = ("_context", "_outer", "_outermost", "_span", "_tracer")

    def __init__(self, tracer: OpenTelemetryTracer, span: trace.Span, outer: Context | None, *, outermost: bool) -> None:
        self._tracer = tracer
        self._span = span
        self._outer = outer
        self._context: Context | None = None
        self._outermost = outermost

    @property
    def context(self) -> Context | None:
        """The context of what happens inside this span."""
        if self._context is None and self._span is not trace.INVALID_SPAN:
            self._context = trace.set_span_in_context(self._span, self._outer)
        return self._context or self._outer

    def set(self, attributes: SpanAttributes) -> None:
        """Add attributes."""
        try:
            if self._span.is_recording():
                self._span.set_attributes(_encoded(attributes))
                if self._tracer.capture_content:
                    self._span.set_attributes(_content(attributes))
        except Exception:
            self._tracer.warn("a span's attributes could not be recorded")

    def progress(self, data: object) -> None:
        """A tool has sent `data`: an event of the span, the data itself only with `capture_content`."""
        try:
            if self._span.is_recording():
                attributes = {names.PROGRESS_DATA: progress_json(data)} if self._tracer.capture_content else None
                self._span.add_event(names.PROGRESS, attributes)
        except Exception:
            self._tracer.warn("a tool's progress could not be recorded")

    def end(self, error: BaseException | None = None) -> None:
        """The work is over, or failed with `error`: its type is recorded, its message only with `capture_content`."""
        try:
            if error is not None:
                self._span.set_attribute(names.ERROR_TYPE, type(error).__name__)
                self._span.set_status(trace.StatusCode.ERROR, str(error) if self._tracer.capture_content else None)
        except Exception:
            self._tracer.warn("a span's error could not be recorded")
        outermost, self._outermost = self._outermost, False
        self._tracer.finish(self._span, outermost)

    def __del__(self) -> None:
        if self._outermost:
            self._tracer.forget()

    def activate(self) -> AbstractContextManager[None]:
        """The current span of this task while the block runs."""
        return _current(self.context)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _set(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


@contextlib.contextmanager
def _current(context: Context | None) -> Generator[None, None, None]:
    if context is None:
        yield
        return
    before = otel_context.get_current()
    otel_context.attach(context)
    try:
        yield
    finally:
        # Set back rather than detached: a token is of use only in the very task that took it.
        if otel_context.get_current() is context:
            otel_context.attach(before)


def _encoded(attributes: SpanAttributes) -> dict[str, AttributeValue]:
    """The attributes under their recorded names, without content."""
    recorded: dict[str, AttributeValue] = {}
    for key, value in attributes.items():
        if key in names.PLAIN:
            if value != "":
                recorded[names.PLAIN[key]] = cast(AttributeValue, value)
        elif key == "finish":
            recorded[names.FINISH_REASONS] = (str(value),)
        elif key == "settings":
            recorded.update(_fields(value, names.SETTINGS))
        elif key == "usage":
            recorded.update({name: count for name, count in _fields(value, names.USAGE).items() if count})
        elif key == "metadata":
            recorded.update({f"{names.METADATA}.{name}": text for name, text in cast("dict[str, str]", value).items()})
    return recorded


def _fields(value: object, named: dict[str, str]) -> dict[str, AttributeValue]:
    values = {name: getattr(value, field) for field, name in named.items()}
    return {name: value for name, value in values.items() if value is not None}


def _content(attributes: SpanAttributes) -> dict[str, AttributeValue]:
    """The content of messages, under its recorded names."""
    content: dict[str, AttributeValue] = {}
    if instructions := attributes.get("instructions"):
        content[names.INSTRUCTIONS] = instructions_json(instructions)
    if "input" in attributes:
        content[names.INPUT] = messages_json(attributes["input"])
    if "output" in attributes:
        content[names.OUTPUT] = messages_json(attributes["output"], attributes.get("finish", ""))
    if tools := attributes.get("tools"):
        content[names.TOOLS] = tools_json(tools)
    if "arguments" in attributes:
        content[names.ARGUMENTS] = attributes["arguments"]
    if "result" in attributes:
        content[names.RESULT] = result_text(attributes["result"])
    return content
